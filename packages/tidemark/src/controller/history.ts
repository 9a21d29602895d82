/**
 * The commands that bring a new or reconnected replica to the present: reduced to what still matters. A dataflow's as-of is
 * the join of what its exports were allowed to compact to; what was dropped is gone; permission to write has folded
 * into the dataflow's flag. Replay order: hello, instance, configuration, dataflows, schedules, peeks,
 * compactions, initialization complete: a replica learns its whole work at once and then starts in waves.
 */
import type { GlobalId } from '../base/ids.ts';
import type { Command, DataflowDescription, PeekCommand, SinkExport, Tunables } from '../compute/protocol.ts';
import type { StartReason } from '../introspection/lifecycle.ts';
import { EMPTY, type Frontier } from '../time/timestamp.ts';

interface Export {
  readonly id: GlobalId;
  readonly kind: 'index' | SinkExport['kind'];
}

export const exportsOf = (d: DataflowDescription): Export[] => [
  ...d.indexExports.map(({ id }) => ({ id, kind: 'index' }) as const),
  ...d.sinkExports.map(({ id, kind }) => ({ id, kind })),
];

export const exportIds = (d: DataflowDescription): GlobalId[] => exportsOf(d).map((e) => e.id);

export class CommandHistory {
  #hello: Command | undefined;
  #instance: Command | undefined;
  #tunables: Partial<Tunables> = {};
  readonly #dataflows = new Set<DataflowDescription>();
  readonly #byExport = new Map<GlobalId, DataflowDescription>();
  readonly #compaction = new Map<GlobalId, Frontier>();
  readonly #schedules = new Map<GlobalId, StartReason>();
  readonly #writable = new Set<GlobalId>();
  readonly #peeks = new Map<string, PeekCommand>();
  #initialized = false;

  record(command: Command): void {
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
      case 'peek':
        this.#peeks.set(command.uuid, command);
        break;
      case 'cancelPeek':
        this.peekDone(command.uuid);
        break;
      case 'initializationComplete':
        this.#initialized = true;
        break;
    }
  }

  peekDone(uuid: string): void {
    this.#peeks.delete(uuid);
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
    if (!exportIds(dataflow).some((e) => this.#byExport.has(e))) this.#dataflows.delete(dataflow);
  }

  /** Commands kept about dataflows and peeks, which end; those about logs stay. For what is left behind. */
  get size(): number {
    const compactions = [...this.#compaction.keys()].filter((id) => this.#byExport.has(id)).length;
    return this.#dataflows.size + this.#schedules.size + compactions + this.#peeks.size;
  }

  *replay(): Iterable<Command> {
    if (this.#hello !== undefined) yield this.#hello;
    if (this.#instance !== undefined) yield this.#instance;
    if (Object.keys(this.#tunables).length > 0)
      yield { kind: 'updateConfiguration', tunables: this.#tunables };
    for (const d of this.#dataflows) yield { kind: 'createDataflow', dataflow: this.#reduced(d) };
    for (const [id, waitedOn] of this.#schedules) yield { kind: 'schedule', id, waitedOn };
    yield* this.#peeks.values();
    for (const [id, frontier] of this.#compaction) yield { kind: 'allowCompaction', id, frontier };
    if (this.#initialized) yield { kind: 'initializationComplete' };
  }

  #reduced(d: DataflowDescription): DataflowDescription {
    const live = (e: { readonly id: GlobalId }): boolean => this.#byExport.get(e.id) === d;
    const sinkExports = d.sinkExports.filter(live);
    const ids = exportIds(d).filter((id) => this.#byExport.get(id) === d);
    const asOf = Math.max(d.asOf, Math.min(...ids.map((id) => this.#compaction.get(id) ?? d.asOf)));
    return {
      ...d,
      indexExports: d.indexExports.filter(live),
      sinkExports,
      asOf,
      mayWrite: d.mayWrite || sinkExports.some((s) => this.#writable.has(s.id)),
    };
  }
}
