/**
 * The commands that bring a new or reconnected replica to the present: reduced to what still matters. A dataflow's as-of is
 * the join of what its exports were allowed to compact to; what was dropped is gone; permission to write has folded
 * into the dataflow's flag. Replay order: hello, instance, configuration, dataflows, schedules, compactions,
 * initialization complete: a replica learns its whole work at once and then starts in waves.
 */
import type { GlobalId, ReplicaId } from '../base/ids.ts';
import type { Command, DataflowDescription, SinkExport, Tunables } from '../compute/protocol.ts';
import type { StartReason } from '../introspection/lifecycle.ts';
import type { ReplicaIntrospection } from '../introspection/logging-config.ts';
import { EMPTY, type Frontier } from '../time/timestamp.ts';

type Of<K extends Command['kind']> = Extract<Command, { kind: K }>;

interface Export {
  readonly id: GlobalId;
  readonly kind: 'index' | SinkExport['kind'];
  /** The collection that readers know it by. */
  readonly outputId: GlobalId;
}

export const exportsOf = (d: DataflowDescription): Export[] => [
  ...d.indexExports.map(({ id }) => ({ id, kind: 'index', outputId: id }) as const),
  ...d.sinkExports.map((s) => ({
    id: s.id,
    kind: s.kind,
    outputId: s.kind === 'materialized-view' ? s.outputId : s.id,
  })),
];

export const exportIds = (d: DataflowDescription): GlobalId[] => exportsOf(d).map((e) => e.id);

export class CommandHistory {
  #hello: Of<'hello'> | undefined;
  #instance: Of<'createInstance'> | undefined;
  #tunables: Partial<Tunables> = {};
  readonly #dataflows = new Set<DataflowDescription>();
  readonly #byExport = new Map<GlobalId, DataflowDescription>();
  readonly #compaction = new Map<GlobalId, Frontier>();
  readonly #schedules = new Map<GlobalId, StartReason>();
  readonly #writable = new Set<GlobalId>();
  /** Dataflows that only one replica has. */
  readonly #targets = new Map<DataflowDescription, ReplicaId>();
  #initialized = false;
  /** Each begins with a nonce of its own. */
  #replays = 0;

  /** `replicaId`: of a dataflow that only this replica has. */
  record(command: Command, replicaId?: ReplicaId): void {
    switch (command.kind) {
      case 'hello':
        this.#hello = command;
        break;
      case 'createInstance':
        this.#instance = command;
        break;
      case 'updateConfiguration':
        this.#tunables = { ...this.#tunables, ...command.tunables };
        break;
      case 'createDataflow':
        this.#dataflows.add(command.dataflow);
        if (replicaId !== undefined) this.#targets.set(command.dataflow, replicaId);
        for (const id of exportIds(command.dataflow)) this.#byExport.set(id, command.dataflow);
        break;
      case 'schedule':
        this.#schedules.set(command.id, command.waitedOn);
        break;
      case 'allowWrites':
        this.#writable.add(command.id);
        break;
      case 'allowCompaction':
        this.#compact(command.id, command.frontier);
        break;
      // A read is one replica's, and ends or moves with it.
      case 'peek':
      case 'cancelPeek':
        break;
      case 'ackLives':
        break;
      case 'initializationComplete':
        this.#initialized = true;
        break;
    }
  }

  /** A dataflow that one replica has, and was not told of, is another one's. */
  move(id: GlobalId, replicaId: ReplicaId): void {
    this.#targets.set(this.#byExport.get(id)!, replicaId);
  }

  #compact(id: GlobalId, frontier: Frontier): void {
    if (frontier !== EMPTY) {
      this.#compaction.set(id, frontier);
      return;
    }
    this.#compaction.delete(id);
    this.#schedules.delete(id);
    this.#writable.delete(id);
    const dataflow = this.#byExport.get(id);
    if (dataflow === undefined) return;
    this.#byExport.delete(id);
    if (exportIds(dataflow).some((e) => this.#byExport.has(e))) return;
    this.#dataflows.delete(dataflow);
    this.#targets.delete(dataflow);
    this.#readersDone(id);
  }

  /** Who still imports an index that ends is complete for ever and reads it no more: replicas to come do without. */
  #readersDone(index: GlobalId): void {
    for (const d of this.#dataflows)
      if (d.indexImports.some((i) => i.id === index)) for (const id of exportIds(d)) this.#compact(id, EMPTY);
  }

  /** Commands kept about dataflows, which end; those about logs and what is built over them stay. For what is left behind. */
  get size(): number {
    const ends = (id: GlobalId): boolean => this.#byExport.get(id)?.internal !== true;
    const dataflows = [...this.#dataflows].filter((d) => d.internal !== true).length;
    const schedules = [...this.#schedules.keys()].filter(ends).length;
    const compactions = [...this.#compaction.keys()].filter(
      (id) => this.#byExport.has(id) && ends(id),
    ).length;
    return dataflows + schedules + compactions;
  }

  /** `introspection`: where the replica has its own. */
  *replay(replicaId: ReplicaId, introspection?: ReplicaIntrospection): Iterable<Command> {
    const hello = this.#hello;
    if (hello !== undefined) yield { ...hello, nonce: `${hello.nonce}.${++this.#replays}` };
    const instance = this.#instance;
    if (instance !== undefined) yield { ...instance, logging: { ...instance.logging, ...introspection } };
    if (Object.keys(this.#tunables).length > 0)
      yield { kind: 'updateConfiguration', tunables: this.#tunables };
    const has = (id: GlobalId): boolean => {
      const dataflow = this.#byExport.get(id);
      const target = dataflow === undefined ? undefined : this.#targets.get(dataflow);
      return target === undefined || target === replicaId;
    };
    yield* this.#dataflowsWith(has);
    if (this.#initialized) yield { kind: 'initializationComplete' };
  }

  /** Creates these exports anew, in the order of their creation. */
  restart(ids: ReadonlySet<GlobalId>): Iterable<Command> {
    return this.#dataflowsWith((id) => ids.has(id));
  }

  *#dataflowsWith(has: (id: GlobalId) => boolean): Iterable<Command> {
    for (const d of this.#dataflows)
      if (exportIds(d).some((id) => this.#byExport.get(id) === d && has(id)))
        yield { kind: 'createDataflow', dataflow: this.#reduced(d) };
    for (const [id, waitedOn] of this.#schedules) if (has(id)) yield { kind: 'schedule', id, waitedOn };
    for (const [id, frontier] of this.#compaction)
      if (has(id)) yield { kind: 'allowCompaction', id, frontier };
  }

  #reduced(d: DataflowDescription): DataflowDescription {
    const live = (e: { readonly id: GlobalId }): boolean => this.#byExport.get(e.id) === d;
    const sinkExports = d.sinkExports.filter(live);
    const ids = exportIds(d).filter((id) => this.#byExport.get(id) === d);
    const asOf = Math.max(d.asOf, Math.min(...ids.map((id) => this.#compaction.get(id) ?? d.asOf)));
    return {
      ...d,
      indexExports: d.indexExports.filter(live),
      // What it told before the as-of that it goes on from, nobody wants again.
      sinkExports: sinkExports.map((s) =>
        s.kind === 'subscribe' && asOf > d.asOf ? { ...s, withSnapshot: false } : s,
      ),
      asOf,
      mayWrite: d.mayWrite || sinkExports.some((s) => this.#writable.has(s.id)),
    };
  }
}
