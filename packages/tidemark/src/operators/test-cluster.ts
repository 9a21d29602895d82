/** For tests of this folder and of `dataflow`: workers in one thread on a seeded schedule, and naive collections. */
import type { DataflowEvents } from '../dataflow/events.ts';
import { LocalMesh } from '../dataflow/local-mesh.ts';
import { Worker } from '../dataflow/worker.ts';
import type { Batch } from '../repr/batch.ts';
import { diffAt, timeAt } from '../repr/batch.ts';
import { ColumnBuilder, isNull } from '../repr/column.ts';
import type { Kind } from '../repr/types.ts';
import { SeededRandom } from '../testkit/random.ts';

/** Counts calls, so that a step with a budget of one runs one operator. */
class TickClock {
  #t = 0;
  nowMs(): number {
    return this.#t;
  }
  monotonicNs(): number {
    return this.#t++;
  }
}

export class TestCluster {
  readonly workers: Worker[] = [];
  readonly random: SeededRandom;
  readonly #mesh: LocalMesh;

  constructor(options: {
    readonly peers: number;
    readonly seed: number;
    readonly fuel?: number;
    readonly events?: (worker: number) => DataflowEvents;
  }) {
    const { peers, seed } = options;
    this.random = new SeededRandom(seed);
    this.#mesh = new LocalMesh(peers);
    for (let index = 0; index < peers; index++) {
      const w = new Worker({
        index,
        peers,
        mesh: this.#mesh.end(index),
        clock: new TickClock(),
        random: this.random,
        ...(options.fuel !== undefined && { fuelPerRun: options.fuel }),
        ...(options.events !== undefined && { events: options.events(index) }),
      });
      this.#mesh.attach(index, w);
      this.workers.push(w);
    }
  }

  /** A few events in random order. Whether there was one. */
  tick(): boolean {
    const w = this.workers[this.random.below(this.workers.length)]!;
    if (this.random.below(3) === 0 && this.#mesh.deliverOne(this.random)) return true;
    if (this.random.below(8) === 0) w.idle();
    w.step({ budgetNs: 1 });
    return this.#mesh.pending > 0 || this.workers.some((v) => v.hasWork);
  }

  /** Until nothing is left to do. */
  settle(): void {
    for (let n = 0; this.tick(); n++) if (n > 2_000_000) throw new Error('the cluster does not settle');
  }
}

export type Cell = number | string | null;
export interface Update {
  readonly row: readonly Cell[];
  readonly time: number;
  readonly diff: number;
}

/** i32 and bytes columns from plain cells. */
export function batchOf(kinds: readonly Kind[], updates: readonly Update[]): Batch {
  const columns = kinds.map((kind, c) => {
    const b = new ColumnBuilder(kind);
    for (const { row } of updates) {
      const v = row[c]!;
      if (v === null) b.pushNull();
      else if (typeof v === 'string') b.pushBytes(new TextEncoder().encode(v));
      else if (kind === 'i64') b.pushI64Number(v);
      else b.pushNumber(v);
    }
    return b.finish();
  });
  const times = Float64Array.from(updates, (u) => u.time);
  const diffs = Float64Array.from(updates, (u) => u.diff);
  return {
    length: updates.length,
    columns,
    times: times.every((t) => t === times[0]) ? (times[0] ?? 0) : times,
    diffs: diffs.every((d) => d === diffs[0]) ? (diffs[0] ?? 1) : diffs,
  };
}

export function updatesOf(b: Batch): Update[] {
  const out: Update[] = [];
  for (let i = 0; i < b.length; i++)
    out.push({
      row: b.columns.map((c): Cell => {
        if (isNull(c, i)) return null;
        if (c.kind === 'bytes')
          return new TextDecoder().decode(
            (c.values as Uint8Array).subarray(c.offsets[i]!, c.offsets[i + 1]!),
          );
        return c.kind === 'i64' ? c.values[2 * i + 1]! * 4294967296 + (c.values[2 * i]! >>> 0) : c.values[i]!;
      }),
      time: timeAt(b, i),
      diff: diffAt(b, i),
    });
  return out;
}

/** Contents as of `time`: row in JSON to multiplicity, without zeros, sorted. */
export function contents(updates: readonly Update[], time: number): [string, number][] {
  const sums = new Map<string, number>();
  for (const u of updates) {
    if (u.time > time) continue;
    const k = JSON.stringify(u.row);
    sums.set(k, (sums.get(k) ?? 0) + u.diff);
  }
  return [...sums].filter(([, d]) => d !== 0).sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
}
