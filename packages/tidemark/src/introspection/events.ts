/**
 * Events of the compute log, and the ring that carries them from where they happen to the demux.
 *
 * An event is EVENT_WORDS doubles: kind, nanoseconds since the worker's anchor, and four fields. What varies in length (ids,
 * uuids) goes to a side table once and the event carries its slot. Recording allocates nothing but a new segment
 * when the ring is full: a lost event would be a wrong row for ever, so the ring grows and never drops or blocks.
 */
import { assert } from '../base/assert.ts';

/** 48 bytes an event; a test pins it. */
export const EVENT_WORDS = 6;
const SEGMENT_EVENTS = 1024;

/** Whose event it is, field names in order, and what an unknown owner means: a bug of ours, or gone meanwhile. */
export const EVENTS = {
  export: { of: 'export', fields: ['export', 'dataflow', 'asOf', 'reason'], unknown: 'bug' },
  exportDropped: { of: 'export', fields: ['export'], unknown: 'bug' },
  frontier: { of: 'export', fields: ['export', 'time'], unknown: 'bug' },
  importFrontier: { of: 'export', fields: ['export', 'import', 'time'], unknown: 'bug' },
  errorCount: { of: 'export', fields: ['export', 'diff'], unknown: 'ignored' },
  hydrationStart: { of: 'export', fields: ['export', 'reason'], unknown: 'bug' },
  lifecycle: { of: 'export', fields: ['export', 'stage'], unknown: 'ignored' },
  hydration: { of: 'export', fields: ['export'], unknown: 'ignored' },
  operatorHydration: { of: 'export', fields: ['export', 'lir', 'hydrated'], unknown: 'ignored' },
  peekInstalled: { of: 'peek', fields: ['peek', 'object', 'type', 'time'], unknown: 'bug' },
  peekRetired: { of: 'peek', fields: ['peek'], unknown: 'bug' },
  dataflow: { of: 'dataflow', fields: ['dataflow', 'asOf'], unknown: 'bug' },
  dataflowGlobal: { of: 'dataflow', fields: ['dataflow', 'global'], unknown: 'bug' },
  lirMapping: { of: 'dataflow', fields: ['dataflow', 'mapping'], unknown: 'bug' },
  exportsDropped: { of: 'dataflow', fields: ['dataflow'], unknown: 'ignored' },
  /** Of a dataflow without exports, those of the logs, there is nothing to take back but channels. */
  dataflowShutdown: { of: 'dataflow', fields: ['dataflow'], unknown: 'ignored' },
  operator: { of: 'operator', fields: ['operator'], unknown: 'bug' },
  operatorStopped: { of: 'operator', fields: ['operator'], unknown: 'bug' },
  operatorShutdown: { of: 'operator', fields: ['operator'], unknown: 'bug' },
  channel: { of: 'operator', fields: ['channel'], unknown: 'bug' },
  channelShutdown: { of: 'operator', fields: ['channel'], unknown: 'bug' },
} as const satisfies Record<
  string,
  {
    of: 'export' | 'peek' | 'dataflow' | 'operator';
    fields: readonly string[];
    unknown: 'bug' | 'ignored';
  }
>;

export type EventKind = keyof typeof EVENTS;
export const EVENT_KINDS = Object.keys(EVENTS) as EventKind[];
const CODE = Object.fromEntries(EVENT_KINDS.map((k, i) => [k, i])) as Record<EventKind, number>;

/** The empty frontier in an event: no row. */
export const NO_TIME = -1;

/** What events refer to by slot: texts, operators, channels. A slot is reused after its release. */
export class SideTable<T extends object | string = string> {
  readonly #values: (T | undefined)[] = [];
  readonly #free: number[] = [];

  add(value: T): number {
    const slot = this.#free.pop() ?? this.#values.length;
    this.#values[slot] = value;
    return slot;
  }

  get(slot: number): T {
    const v = this.#values[slot];
    assert(v !== undefined, `side table slot ${slot} is in use`);
    return v;
  }

  release(slot: number): void {
    assert(this.#values[slot] !== undefined, `side table slot ${slot} is released once`);
    this.#values[slot] = undefined;
    this.#free.push(slot);
  }

  get live(): number {
    return this.#values.length - this.#free.length;
  }
}

export type EventHandler = (kind: EventKind, ns: number, a: number, b: number, c: number, d: number) => void;

/** First in, first out; one writer and one reader on the same thread. */
export class EventRing {
  #segments: Float64Array[] = [new Float64Array(SEGMENT_EVENTS * EVENT_WORDS)];
  #spare: Float64Array | undefined;
  #writeAt = 0;
  #pending = 0;

  get pending(): number {
    return this.#pending;
  }

  record(kind: EventKind, ns: number, a = 0, b = 0, c = 0, d = 0): void {
    let segment = this.#segments[this.#segments.length - 1]!;
    if (this.#writeAt === SEGMENT_EVENTS) {
      segment = this.#spare ?? new Float64Array(SEGMENT_EVENTS * EVENT_WORDS);
      this.#spare = undefined;
      this.#segments.push(segment);
      this.#writeAt = 0;
    }
    const p = this.#writeAt++ * EVENT_WORDS;
    segment[p] = CODE[kind];
    segment[p + 1] = ns;
    segment[p + 2] = a;
    segment[p + 3] = b;
    segment[p + 4] = c;
    segment[p + 5] = d;
    this.#pending++;
  }

  /** Hands every pending event to `handle`, in order. The handler records nothing. */
  drain(handle: EventHandler): void {
    const segments = this.#segments;
    const last = segments.length - 1;
    for (let s = 0; s <= last; s++) {
      const segment = segments[s]!;
      const n = s === last ? this.#writeAt : SEGMENT_EVENTS;
      for (let i = 0, p = 0; i < n; i++, p += EVENT_WORDS)
        handle(
          EVENT_KINDS[segment[p]!]!,
          segment[p + 1]!,
          segment[p + 2]!,
          segment[p + 3]!,
          segment[p + 4]!,
          segment[p + 5]!,
        );
    }
    this.#segments = [segments[0]!];
    if (last > 0) this.#spare = segments[1];
    this.#writeAt = 0;
    this.#pending = 0;
  }
}
