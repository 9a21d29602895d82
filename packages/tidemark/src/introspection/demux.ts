/**
 * From events to rows: a pure function of its state and one event. Check first, emit after: a duplicate or an unknown
 * owner never leaves a wrong multiplicity behind. One handler an event; each can be tested as text.
 */
import { assert } from '../base/assert.ts';
import type { Row } from '../repr/types.ts';
import { BUCKETS, bucketOf, Counters, type TellCount } from './counters.ts';
import { EVENTS, type EventKind, NO_TIME, type SideTable } from './events.ts';
import { type Emit, Ledger } from './ledger.ts';
import {
  type InstallReason,
  Lifecycle,
  STAGE_NAMES,
  STAGES,
  type StartReason,
  type Transition,
} from './lifecycle.ts';

/** A node of a plan, and the operators that do its work: ids [start, end). */
export interface LirRow {
  readonly lirId: number;
  readonly parent: number | null;
  readonly nesting: number;
  readonly operator: string;
  readonly start: number;
  readonly end: number;
}

/** What the plan of one collection became. */
export interface LirMapping {
  readonly globalId: string;
  readonly nodes: readonly LirRow[];
}

interface DataflowState {
  readonly ledger: Ledger;
  /** Goes with the last export, if the dataflow does not end before. */
  readonly plans: Ledger;
}

interface PeekState {
  readonly ledger: Ledger;
  readonly ns: number;
  readonly kind: number;
}

interface ExportState {
  readonly id: string;
  readonly ledger: Ledger;
  readonly lifecycle: Lifecycle;
  readonly asOf: number;
  errors: number;
}

export const PEEK_TYPES = ['index', 'persist'] as const;
export type PeekType = (typeof PEEK_TYPES)[number];

export interface DemuxOptions {
  readonly worker: number;
  /** Microseconds since the epoch at the worker's anchor; read once beside its monotonic clock. */
  readonly anchorMicros: number;
  readonly side: SideTable;
  readonly mappings: SideTable<LirMapping>;
  readonly emit: Emit;
}

export class Demux {
  readonly #worker: bigint;
  readonly #anchorMicros: number;
  readonly #side: SideTable;
  readonly #mappings: SideTable<LirMapping>;
  readonly #emit: Emit;
  readonly #exports = new Map<number, ExportState>();
  readonly #peeks = new Map<number, PeekState>();
  readonly #dataflows = new Map<number, DataflowState>();
  /** By type of peek: how many took how long. Never taken back. */
  readonly #durations = new Counters(BUCKETS, PEEK_TYPES.length);

  constructor(options: DemuxOptions) {
    this.#worker = BigInt(options.worker);
    this.#anchorMicros = options.anchorMicros;
    this.#side = options.side;
    this.#mappings = options.mappings;
    this.#emit = options.emit;
  }

  /** Owners that hold rows. */
  get owners(): number {
    return this.#exports.size + this.#peeks.size + this.#dataflows.size;
  }

  handle(kind: EventKind, ns: number, a: number, b: number, c: number, d: number): void {
    switch (kind) {
      case 'export':
        return this.#export(ns, a, b, c, d);
      case 'peekInstalled':
        return this.#peekInstalled(ns, a, b, c, d);
      case 'peekRetired':
        return this.#peekRetired(ns, a);
      case 'dataflow':
        return this.#dataflow(a, b);
      default:
        return this.#ofOwner(kind, ns, a, b, c);
    }
  }

  #ofOwner(kind: EventKind, ns: number, a: number, b: number, c: number): void {
    const { of, unknown } = EVENTS[kind];
    const owner = of === 'dataflow' ? this.#dataflows.get(a) : this.#exports.get(a);
    if (owner === undefined) {
      assert(unknown === 'ignored', `event ${kind} names a live ${of}`);
      return;
    }
    if ('plans' in owner) this.#ofDataflow(kind, owner, a, b);
    else this.#ofExport(kind, owner, ns, a, b, c);
  }

  #ofExport(kind: EventKind, state: ExportState, ns: number, slot: number, b: number, c: number): void {
    switch (kind) {
      case 'exportDropped':
        state.ledger.close();
        this.#exports.delete(slot);
        this.#side.release(slot);
        return;
      case 'frontier':
        if (b === NO_TIME) state.ledger.clear('frontier');
        else state.ledger.put('frontier', 'mz_compute_frontiers_per_worker', [state.id, this.#worker, b]);
        return;
      case 'importFrontier': {
        const importId = this.#side.get(b);
        if (c === NO_TIME) state.ledger.clear(`import ${importId}`);
        else
          state.ledger.put(`import ${importId}`, 'mz_compute_import_frontiers_per_worker', [
            state.id,
            importId,
            this.#worker,
            c,
          ]);
        return;
      }
      case 'errorCount':
        state.errors += b;
        if (state.errors === 0) state.ledger.clear('errors');
        else
          state.ledger.put('errors', 'mz_compute_error_counts_raw', [
            state.id,
            this.#worker,
            BigInt(state.errors),
          ]);
        return;
      case 'operatorHydration':
        return state.ledger.put(`lir ${b}`, 'mz_compute_operator_hydration_statuses_per_worker', [
          state.id,
          b,
          this.#worker,
          c === 1,
        ]);
      case 'hydrationStart':
        return this.#transitions(state, state.lifecycle.start(ns, STAGES.started.reasons[b] as StartReason));
      case 'hydration':
        if (state.lifecycle.outputNs !== undefined) return;
        this.#transitions(state, state.lifecycle.outputPassed(ns));
        return this.#hydrationRow(state);
      case 'lifecycle':
        return this.#transitions(state, this.#stage(state.lifecycle, ns, b));
      default:
        assert(false, `event ${kind} has a handler`);
    }
  }

  #stage(lifecycle: Lifecycle, ns: number, stage: number): readonly Transition[] {
    switch (STAGE_NAMES[stage]) {
      case 'hydrated':
        return lifecycle.computed(ns);
      case 'write_blocked':
        return lifecycle.writeBlocked(ns);
      case 'write_unblocked':
        return lifecycle.writeUnblocked(ns);
      case 'written':
        return lifecycle.written(ns);
      default:
        assert(false, `stage ${stage} is logged by an event of its own`);
    }
  }

  #export(ns: number, slot: number, dataflow: number, asOf: number, reason: number): void {
    assert(!this.#exports.has(slot), 'an export is created once');
    const { lifecycle, transitions } = Lifecycle.install(
      ns,
      STAGES.installed.reasons[reason] as InstallReason,
    );
    const state: ExportState = {
      id: this.#side.get(slot),
      ledger: new Ledger(this.#emit),
      lifecycle,
      asOf,
      errors: 0,
    };
    this.#exports.set(slot, state);
    state.ledger.put('export', 'mz_compute_exports_per_worker', [state.id, this.#worker, BigInt(dataflow)]);
    this.#transitions(state, transitions);
    this.#hydrationRow(state);
  }

  #transitions(state: ExportState, transitions: readonly Transition[]): void {
    for (const t of transitions) {
      state.ledger.put(`stage ${t.stage}`, 'mz_compute_lifecycle_events_per_worker', [
        state.id,
        this.#worker,
        t.stage,
        this.#instant(t.ns),
        t.reason,
        `{"as_of": "${state.asOf}"}`,
      ]);
      if (t.stage === 'started') this.#hydrationRow(state);
    }
  }

  #hydrationRow(state: ExportState): void {
    const { installedNs, startedNs, outputNs } = state.lifecycle;
    const row: Row = [
      state.id,
      this.#worker,
      outputNs === undefined ? null : BigInt(outputNs - installedNs),
      this.#instant(installedNs),
      startedNs === undefined ? null : this.#instant(startedNs),
      outputNs === undefined ? null : this.#instant(outputNs),
    ];
    state.ledger.put('hydration', 'mz_compute_hydration_times_per_worker', row);
  }

  #dataflow(dataflow: number, asOf: number): void {
    assert(!this.#dataflows.has(dataflow), 'a dataflow is created once');
    const state = { ledger: new Ledger(this.#emit), plans: new Ledger(this.#emit) };
    this.#dataflows.set(dataflow, state);
    state.ledger.put('as-of', 'mz_compute_dataflow_as_of_per_worker', [dataflow, this.#worker, asOf]);
  }

  #ofDataflow(kind: EventKind, state: DataflowState, dataflow: number, slot: number): void {
    switch (kind) {
      case 'dataflowGlobal': {
        const id = this.#side.get(slot);
        assert(!state.ledger.has(id), `dataflow ${dataflow} computes ${id} once`);
        state.ledger.put(id, 'mz_compute_dataflow_global_ids_per_worker', [dataflow, this.#worker, id]);
        this.#side.release(slot);
        return;
      }
      case 'lirMapping':
        this.#lirMapping(state, this.#mappings.get(slot));
        this.#mappings.release(slot);
        return;
      case 'exportsDropped':
        state.plans.close();
        return;
      case 'dataflowShutdown':
        state.plans.close();
        state.ledger.close();
        this.#dataflows.delete(dataflow);
        return;
      default:
        assert(false, `event ${kind} has a handler`);
    }
  }

  #lirMapping(state: DataflowState, { globalId, nodes }: LirMapping): void {
    for (const n of nodes)
      assert(!state.plans.has(`${globalId} ${n.lirId}`), `node ${n.lirId} of ${globalId} is rendered once`);
    for (const n of nodes)
      state.plans.put(`${globalId} ${n.lirId}`, 'mz_compute_lir_mapping_per_worker', [
        globalId,
        n.lirId,
        this.#worker,
        n.operator,
        n.parent,
        n.nesting,
        n.start,
        n.end,
      ]);
  }

  #peekInstalled(ns: number, peek: number, object: number, kind: number, time: number): void {
    assert(!this.#peeks.has(peek), 'a peek is installed once');
    const ledger = new Ledger(this.#emit);
    this.#peeks.set(peek, { ledger, ns, kind });
    ledger.put('peek', 'mz_active_peeks_per_worker', [
      this.#side.get(peek),
      this.#worker,
      this.#side.get(object),
      PEEK_TYPES[kind]!,
      time,
    ]);
    this.#side.release(object);
  }

  #peekRetired(ns: number, peek: number): void {
    const state = this.#peeks.get(peek);
    assert(state !== undefined, 'a peek that is retired was installed');
    state.ledger.close();
    this.#durations.add(state.kind, bucketOf(ns - state.ns), 1);
    this.#peeks.delete(peek);
    this.#side.release(peek);
  }

  get dirty(): boolean {
    return this.#durations.dirty > 0;
  }

  /** What was counted: a row a type of peek and bucket of durations. */
  flush(tell: TellCount): void {
    this.#durations.flush(tell);
  }

  #instant(ns: number): bigint {
    return BigInt(instantMicros(this.#anchorMicros, ns));
  }
}

/** Microseconds since the epoch of an event: rounding is monotone, so it cannot invert an order. */
export function instantMicros(anchorMicros: number, ns: number): number {
  return anchorMicros + Math.round(ns / 1000);
}
