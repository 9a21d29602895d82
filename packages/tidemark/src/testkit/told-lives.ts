/**
 * Holds what replicas tell about the lives of exports to what the stages promise, response by response, as they come: the other half of
 * the log checker, which sees the log and nothing sooner. One for each process; fed with every command it sends and every response it hears.
 *
 * What it knows by itself: who owns the writes of an export, who was permitted to write, how far the shard is, which inputs nobody can read.
 * It cannot see an instant that is wrong and in order.
 */
import type { GlobalId } from '../base/ids.ts';
import { frontierOwner } from '../compute/frontier-owner.ts';
import type { Command, LifeClosedResponse, LifecycleResponse, Response } from '../compute/protocol.ts';
import { type LifecycleStage, STAGE_NAMES, STAGES } from '../introspection/lifecycle.ts';
import type { Frontier } from '../time/timestamp.ts';
import type { HeardFrom } from './test-options.ts';

/** One life of one export on one replica, as it was told. */
export interface ToldLife {
  readonly id: GlobalId;
  readonly replicaId: string;
  readonly workers: number;
  /** Of the replica. */
  readonly incarnation: number;
  readonly asOf: number;
  /** It was an object of the catalog when it was first told of. */
  readonly isKnown: boolean;
  /** Virtual time at which the installation on worker 0 was told of, which opens its episode; null: it was not. */
  openedAtMs: number | null;
  /** By worker; each with the stages in the order in which they were told. */
  readonly stages: readonly Map<LifecycleStage, LifecycleResponse>[];
  /** Workers that closed it. */
  readonly closedOn: Set<number>;
}

export interface ToldLivesOptions {
  /** Of the shard that an object writes; undefined: it has none, or is no more. */
  readonly upper: (id: GlobalId) => Frontier | undefined;
  readonly isKnown: (id: GlobalId) => boolean;
  readonly nowMs: () => number;
  /** Replicas live on without a connection, and repeat over the next one what nobody has heard, too. */
  readonly outlive: boolean;
}

const PREDECESSOR: Readonly<Record<LifecycleStage, LifecycleStage | null>> = {
  installed: null,
  started: 'installed',
  hydrated: 'started',
  write_blocked: 'hydrated',
  write_unblocked: 'write_blocked',
  written: 'hydrated',
};

export class ToldLives {
  readonly #o: ToldLivesOptions;
  readonly #lives = new Map<string, ToldLife>();
  /** Of closed lives of which the worker was not heard: what it says afterwards, by replica, object and worker. */
  readonly unheard = new Map<string, LifeClosedResponse>();
  /** The connection that told a stage last. */
  readonly #toldOn = new Map<string, number>();
  readonly #incarnations = new Map<string, number>();
  readonly #createdReadOnly = new Set<GlobalId>();
  readonly #permitted = new Set<GlobalId>();
  /** Objects over an input that nobody can read: they cannot be computed, from an as-of on. */
  readonly #starved = new Map<GlobalId, number>();
  /** After a reconnect each worker repeats its own: what the others have reached may not be there yet. */
  readonly #early: { readonly what: string; readonly life: ToldLife }[] = [];
  readonly faults: string[] = [];
  readonly stagesSeen = new Set<LifecycleStage>();
  /** Stages that were looked at for objects that could not have got there. */
  starvedChecked = 0;

  constructor(options: ToldLivesOptions) {
    this.#o = options;
  }

  get lives(): readonly ToldLife[] {
    return [...this.#lives.values()];
  }

  isPermitted(id: GlobalId): boolean {
    return this.#permitted.has(id);
  }

  /** Nothing of what the object needs as of `asOf` and later can be read until the returned function is called. */
  starve(id: GlobalId, asOf: number): () => void {
    this.#starved.set(id, asOf);
    return () => void this.#starved.delete(id);
  }

  sent(command: Command): void {
    if (command.kind === 'allowWrites') this.#permitted.add(command.id);
    if (command.kind !== 'createDataflow') return;
    const { mayWrite, sinkExports } = command.dataflow;
    for (const { id } of sinkExports) (mayWrite ? this.#permitted : this.#createdReadOnly).add(id);
  }

  heard(from: HeardFrom, r: Response): void {
    this.#incarnations.set(from.replicaId, from.life);
    if (r.kind === 'lifecycle') this.#stage(from, r);
    else if (r.kind === 'lifeClosed') this.#closed(from, r);
  }

  #closed(from: HeardFrom, r: LifeClosedResponse): void {
    const life = this.#lives.get(key(from, r));
    life?.closedOn.add(r.worker);
    if (life?.stages[r.worker]?.has('installed') !== true) this.unheard.set(`${key(from, r)} ${r.worker}`, r);
  }

  #stage(from: HeardFrom, r: LifecycleResponse): void {
    const k = key(from, r);
    let life = this.#lives.get(k);
    if (life === undefined) {
      const { replicaId, workers, life: incarnation } = from;
      const stages = Array.from({ length: workers }, () => new Map<LifecycleStage, LifecycleResponse>());
      life = {
        id: r.id,
        replicaId,
        incarnation,
        workers,
        asOf: r.asOf,
        stages,
        closedOn: new Set(),
        isKnown: this.#o.isKnown(r.id),
        openedAtMs: null,
      };
      this.#lives.set(k, life);
    }
    const told = (stage: LifecycleStage): string => `${k}: ${stage} of worker ${r.worker}`;
    const what = told(r.stage);
    this.#require(r.asOf === life.asOf, `${what} is as of ${r.asOf}, its life of ${life.asOf}`);
    this.#require(!life.closedOn.has(r.worker), `${what} comes after the life was closed there`);
    const toldOn = this.#toldOn.get(what);
    this.#toldOn.set(what, from.connection);
    const own = life.stages[r.worker]!;
    const predecessor = PREDECESSOR[r.stage];
    this.#require(
      predecessor === null || this.#toldOn.get(told(predecessor)) === from.connection,
      `${what} is told over a connection that has not told ${predecessor}`,
    );
    const before = own.get(r.stage);
    if (before !== undefined) {
      // After a reconnect a replica repeats what lives, and says the same.
      const same = before.occurredAt === r.occurredAt && before.reason === r.reason;
      this.#require(from.connection !== toldOn, `${what} is told twice`);
      return this.#require(same, `${what} is told again and differs`);
    }
    this.#checkOwn(what, life, r);
    own.set(r.stage, r);
    if (r.stage === 'installed' && r.worker === 0) life.openedAtMs = this.#o.nowMs();
    this.stagesSeen.add(r.stage);
    this.#checkWhole(what, life, r);
  }

  /** What one worker says, by itself. */
  #checkOwn(what: string, life: ToldLife, r: LifecycleResponse): void {
    const own = life.stages[r.worker]!;
    const reasons: readonly string[] = STAGES[r.stage].reasons;
    this.#require(
      reasons.length === 0 ? r.reason === null : reasons.includes(String(r.reason)),
      `${what} has reason ${r.reason}`,
    );
    for (const [stage, earlier] of own) {
      this.#require(earlier.occurredAt <= r.occurredAt, `${what} is earlier than ${stage}`);
      this.#require(
        STAGE_NAMES.indexOf(stage) < STAGE_NAMES.indexOf(r.stage),
        `${what} is told after ${stage}`,
      );
    }
    if (!isWrite(r.stage)) return;
    this.#require(frontierOwner(r.id, life.workers) === r.worker, `${what} is not of the owner`);
    this.#require(
      r.stage !== 'written' || !own.has('write_blocked') || own.has('write_unblocked'),
      `${what} is told while it is blocked`,
    );
  }

  /** What it means for the object. */
  #checkWhole(what: string, life: ToldLife, r: LifecycleResponse): void {
    const isComputed = life.stages.every((s) => s.has('hydrated'));
    const starvedFrom = this.#starved.get(r.id);
    if (starvedFrom !== undefined && life.asOf >= starvedFrom) {
      this.starvedChecked++;
      this.#require(!isComputed && !isWrite(r.stage), `${what}: nobody could read its input`);
    }
    if (!isWrite(r.stage)) return;
    if (!isComputed && this.#o.outlive) this.#early.push({ what, life });
    else this.#require(isComputed, `${what} is told before every worker is hydrated`);
    if (r.stage === 'write_blocked')
      return this.#require(this.#createdReadOnly.has(r.id), `${what}: it was created with permission`);
    this.#require(this.#permitted.has(r.id), `${what}: it was never permitted to write`);
    const upper = r.stage === 'written' ? this.#o.upper(r.id) : undefined;
    this.#require(
      upper === undefined || upper > life.asOf,
      `${what} as of ${life.asOf}, the shard is at ${upper}`,
    );
  }

  /** Once nothing is held up: what was blocked and is permitted has been let go. `replicas` are those that there are. */
  checkAtRest(replicas: ReadonlySet<string>): void {
    for (const life of this.#lives.values()) {
      const owner = life.stages[frontierOwner(life.id, life.workers)]!;
      const isOver = life.closedOn.size > 0 || this.#incarnations.get(life.replicaId) !== life.incarnation;
      if (
        isOver ||
        !replicas.has(life.replicaId) ||
        !owner.has('write_blocked') ||
        !this.#permitted.has(life.id)
      )
        continue;
      this.#require(owner.has('write_unblocked'), `${life.replicaId} ${life.id}: it stays blocked`);
    }
    for (const { what, life } of this.#early)
      if (life.closedOn.size === 0 && this.#incarnations.get(life.replicaId) === life.incarnation)
        this.#require(
          life.stages.every((s) => s.has('hydrated')),
          `${what} is told, and not every worker is hydrated`,
        );
  }

  #require(condition: boolean, fault: string): void {
    if (!condition) this.faults.push(fault);
  }
}

const key = (from: HeardFrom, r: { readonly id: GlobalId; readonly life: number }): string =>
  `${from.replicaId} in life ${from.life}, ${r.id} in life ${r.life}`;

const isWrite = (stage: LifecycleStage): boolean => STAGES[stage].grain === 'object';
