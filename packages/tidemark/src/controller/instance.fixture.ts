/** For the tests of this folder: descriptions, shards whose frontiers the test sets, and a replica that only writes down. */
import { type CancelTimer, silentLogger, type Timers } from '../base/clock.ts';
import type { ClusterId, GlobalId } from '../base/ids.ts';
import type { Command, DataflowDescription, ReplicaConnection, Response } from '../compute/protocol.ts';
import { identityMfp } from '../expr/scalar.ts';
import type { LifecycleStage } from '../introspection/lifecycle.ts';
import { COPY_CSV } from '../repr/copy-text.ts';
import type { ShardCollections } from '../storage/shard-collections.ts';
import { type Hold, HoldSet } from '../time/hold-set.ts';
import { EMPTY, type Frontier } from '../time/timestamp.ts';
import { exportIds } from './command-history.ts';
import { ComputeInstance } from './instance.ts';
import type { InstanceOptions } from './instance-options.ts';

export const gid = (id: string): GlobalId => id as GlobalId;

/** A read of `i1`, an index without columns. */
export const PEEK = {
  target: { kind: 'index', id: gid('i1'), keyTypes: [] },
  literalKeys: null,
  timestamp: 30,
  mfp: identityMfp(0),
  finishing: { orderBy: [], limit: null, offset: 0, project: [] },
  desc: { columns: [], keys: [] },
} as const;

const DESC = { columns: [], keys: [] };

/** An index, or a view with a shard of its own, over tables (`t…`) and indexes (`i…`). */
export function dataflow(
  id: string,
  imports: readonly string[],
  more: { readonly asOf?: number; readonly view?: boolean; readonly frozenAt?: number } = {},
): DataflowDescription {
  const { asOf = 10, view = false, frozenAt } = more;
  const onId = gid(`on ${id}`);
  return {
    name: id,
    shardImports: imports.filter((i) => i.startsWith('t')).map((i) => ({ id: gid(i), shard: i, desc: DESC })),
    indexImports: imports
      .filter((i) => !i.startsWith('t'))
      .map((i) => ({
        id: gid(i),
        onId: gid(`on ${i}`),
        key: [],
        desc: DESC,
        ...(frozenAt !== undefined && { frozenAt }),
      })),
    objects: [],
    indexExports: view ? [] : [{ id: gid(id), onId, key: [], desc: DESC }],
    sinkExports: view
      ? [{ kind: 'materialized-view', id: gid(id), fromId: onId, outputId: gid(id), desc: DESC, shard: id }]
      : [],
    asOf,
    until: EMPTY,
    mayWrite: true,
  };
}

export class FakeShards implements ShardCollections {
  readonly uppers = new Map<string, Frontier>();
  readonly holds = new Map<string, HoldSet>();
  readonly #listeners = new Set<(id: GlobalId, upper: Frontier) => void>();

  has(id: GlobalId): boolean {
    return this.uppers.has(id);
  }
  shardOf(id: GlobalId): string {
    return id;
  }
  upper(id: GlobalId): Frontier {
    return this.uppers.get(id) ?? 0;
  }
  since(): Frontier {
    return 0;
  }
  hold(id: GlobalId, at: Frontier = 0): Hold {
    let set = this.holds.get(id);
    if (set === undefined) this.holds.set(id, (set = new HoldSet()));
    return set.acquire(at);
  }
  held(id: string): Frontier {
    return this.holds.get(id)?.least ?? EMPTY;
  }
  onUpper(f: (id: GlobalId, upper: Frontier) => void): () => void {
    this.#listeners.add(f);
    return () => this.#listeners.delete(f);
  }
  move(id: string, upper: Frontier): void {
    this.uppers.set(id, upper);
    for (const f of this.#listeners) f(gid(id), upper);
  }
}

export class FakeReplica implements ReplicaConnection {
  readonly workers: number;
  readonly commands: Command[] = [];
  /** Not installed yet. */
  readonly #created = new Set<GlobalId>();
  isClosed = false;
  onResponse: (response: Response) => void = () => undefined;
  onLost: (reason: string) => void = () => undefined;

  constructor(workers = 1) {
    this.workers = workers;
  }
  send(command: Command): void {
    this.commands.push(command);
    if (command.kind === 'createDataflow')
      for (const id of exportIds(command.dataflow)) this.#created.add(id);
  }
  /** A worker says so before it says anything else of what was created. */
  #install(id: GlobalId): void {
    if (this.#created.has(id)) this.stage(id, 'installed');
  }
  async close(): Promise<void> {
    this.isClosed = true;
  }
  /** Every worker reports the frontier, and that it is hydrated once that is past the as-of. */
  report(id: string, write: Frontier, asOf = 10): void {
    this.#install(gid(id));
    this.frontiers(id, write);
    if (write > asOf) this.stage(id, 'hydrated', asOf);
  }
  frontiers(id: string, write: Frontier): void {
    for (let worker = 0; worker < this.workers; worker++)
      this.onResponse({ kind: 'frontiers', worker, id: gid(id), write, input: write, output: write });
  }
  /** Every worker has passed the stage. */
  stage(id: string, stage: LifecycleStage, asOf = 10): void {
    if (stage === 'installed') this.#created.delete(gid(id));
    else this.#install(gid(id));
    for (let worker = 0; worker < this.workers; worker++)
      this.onResponse({
        kind: 'lifecycle',
        worker,
        id: gid(id),
        stage,
        occurredAt: 1,
        reason: null,
        asOf,
        life: 0,
      });
  }
  fail(id: string, message: string): void {
    this.#install(gid(id));
    for (let worker = 0; worker < this.workers; worker++)
      this.onResponse({ kind: 'failed', worker, id: gid(id), code: 'io_error', message });
  }
  /** Commands since the last call, as text. */
  said(): string[] {
    return this.commands.splice(0).map((c) => {
      switch (c.kind) {
        case 'createDataflow':
          return `create ${c.dataflow.name} as of ${c.dataflow.asOf}`;
        case 'allowCompaction':
          return c.frontier === EMPTY ? `drop ${c.id}` : `compact ${c.id} to ${c.frontier}`;
        case 'schedule':
          return `schedule ${c.id}`;
        case 'cancelPeek':
          return `cancel ${c.uuid}`;
        case 'peek':
          return `peek ${c.target.id} at ${c.timestamp}`;
        default:
          return c.kind;
      }
    });
  }
}

/** Dataflow t9: a COPY of what it reads. */
export const copy = (imports: readonly string[]): DataflowDescription => ({
  ...dataflow('t9', imports),
  indexExports: [],
  sinkExports: [
    {
      kind: 'copy-to',
      id: gid('t9'),
      fromId: gid('on t9'),
      desc: PEEK.desc,
      path: '/out.csv',
      format: COPY_CSV,
      finishing: PEEK.finishing,
      columns: [],
    },
  ],
});

/** Timers that the test lets ring, in their order. */
export class FakeTimers implements Timers {
  readonly #pending = new Set<{ readonly delayMs: number; readonly f: () => void }>();

  after(delayMs: number, f: () => void): CancelTimer {
    const timer = { delayMs, f };
    this.#pending.add(timer);
    return () => this.#pending.delete(timer);
  }
  get delays(): readonly number[] {
    return [...this.#pending].map((t) => t.delayMs);
  }
  ring(): void {
    const due = [...this.#pending];
    this.#pending.clear();
    for (const t of due) t.f();
  }
}

/** Its answer to a peek: so many rows without columns. */
export function answer(r: FakeReplica, uuid: string, length = 0): void {
  r.onResponse({
    kind: 'peekResponse',
    worker: 0,
    uuid,
    result: { kind: 'rows', batch: { length, columns: [], times: 0, diffs: 1 }, more: false },
  });
}

export interface Fixture {
  readonly instance: ComputeInstance;
  readonly timers: FakeTimers;
  /** Objects that may hydrate at once. */
  readonly limit: { slots: number };
  readonly shards: FakeShards;
  readonly clock: { ms: number };
  readonly lost: string[];
  readonly failed: string[];
}

export function newInstance(
  logs: readonly string[] = [],
  more: Pick<InstanceOptions, 'failureElsewhere' | 'onFailure'> = {},
): Fixture {
  const shards = new FakeShards();
  const clock = { ms: 100_000 };
  const timers = new FakeTimers();
  const limit = { slots: 1000 };
  const lost: string[] = [];
  const failed: string[] = [];
  let uuids = 0;
  const instance = new ComputeInstance({
    clusterId: 'u1' as ClusterId,
    shards,
    clock: { nowMs: () => clock.ms, monotonicNs: () => clock.ms * 1e6 },
    logger: silentLogger,
    logging: {
      intervalMs: 1000,
      debugging: false,
      indexes: logs.map((id) => ({ log: 'mz_compute_exports_per_worker', id: gid(id) })),
    },
    tunables: { maxResultSize: 1000 },
    generation: 1,
    start: 1,
    uuid: () => `p${++uuids}`,
    timers,
    hydrationConcurrency: () => limit.slots,
    onReplicaLost: (_, reason) => lost.push(reason),
    onFailed: (id) => failed.push(id),
    ...more,
  });
  return { instance, shards, clock, timers, limit, lost, failed };
}
