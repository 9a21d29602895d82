/**
 * From events to rows: a pure function of its state and one event. Check first, emit after: a duplicate or an unknown
 * owner never leaves a wrong multiplicity behind. One handler an event; each can be tested as text.
 */
import { assert } from '../base/assert.ts';
import type { Row } from '../repr/types.ts';
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
  readonly emit: Emit;
}

export class Demux {
  readonly #worker: bigint;
  readonly #anchorMicros: number;
  readonly #side: SideTable;
  readonly #emit: Emit;
  readonly #exports = new Map<number, ExportState>();
  readonly #peeks = new Map<number, Ledger>();

  constructor(options: DemuxOptions) {
    this.#worker = BigInt(options.worker);
    this.#anchorMicros = options.anchorMicros;
    this.#side = options.side;
    this.#emit = options.emit;
  }

  /** Owners that hold rows. */
  get owners(): number {
    return this.#exports.size + this.#peeks.size;
  }

  handle(kind: EventKind, ns: number, a: number, b: number, c: number, d: number): void {
    switch (kind) {
      case 'export':
        return this.#export(ns, a, b, c, d);
      case 'peekInstalled':
        return this.#peekInstalled(a, b, c, d);
      case 'peekRetired':
        return this.#peekRetired(a);
      default: {
        const state = this.#exports.get(a);
        if (state === undefined) {
          assert(EVENTS[kind].unknown === 'ignored', `event ${kind} names a live export`);
          return;
        }
        this.#ofExport(kind, state, ns, a, b, c);
      }
    }
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

  #peekInstalled(peek: number, object: number, kind: number, time: number): void {
    assert(!this.#peeks.has(peek), 'a peek is installed once');
    const ledger = new Ledger(this.#emit);
    this.#peeks.set(peek, ledger);
    ledger.put('peek', 'mz_active_peeks_per_worker', [
      this.#side.get(peek),
      this.#worker,
      this.#side.get(object),
      PEEK_TYPES[kind]!,
      time,
    ]);
    this.#side.release(object);
  }

  #peekRetired(peek: number): void {
    const ledger = this.#peeks.get(peek);
    assert(ledger !== undefined, 'a peek that is retired was installed');
    ledger.close();
    this.#peeks.delete(peek);
    this.#side.release(peek);
  }

  #instant(ns: number): bigint {
    return BigInt(instantMicros(this.#anchorMicros, ns));
  }
}

/** Microseconds since the epoch of an event: rounding is monotone, so it cannot invert an order. */
export function instantMicros(anchorMicros: number, ns: number): number {
  return anchorMicros + Math.round(ns / 1000);
}
