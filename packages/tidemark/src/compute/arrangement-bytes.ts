/**
 * What the arrangements of each dataflow on this worker occupy, in bytes allocated, sealed and pending: now, and at most so far. Counted
 * whether or not anything is logged: the byte limit of a replica and the peak of an episode read it.
 *
 * An arrangement counts for the dataflow that writes it, also while only others read it any more; a dataflow is forgotten with its
 * last arrangement once it is gone itself, so its peak is read before it is dropped. Cost: a map look-up a sealed or pushed batch.
 */
import { assert } from '../base/assert.ts';

interface DataflowBytes {
  bytes: number;
  peak: number;
  /** Its root operator lives. */
  alive: boolean;
}

interface Arrangement {
  readonly dataflow: DataflowBytes;
  readonly dataflowIndex: number;
  bytes: number;
  handles: number;
}

export class ArrangementBytes {
  readonly #dataflows = new Map<number, DataflowBytes>();
  /** Of every operator that lives. */
  readonly #dataflowOf = new Map<number, number>();
  /** Of operators that arrange, while they live or are read. */
  readonly #arrangements = new Map<number, Arrangement>();
  #total = 0;
  #peakTotal = 0;

  bytesOf(dataflowIndex: number): number {
    return this.#dataflows.get(dataflowIndex)?.bytes ?? 0;
  }

  /** The most that it has occupied at one moment. */
  peakOf(dataflowIndex: number): number {
    return this.#dataflows.get(dataflowIndex)?.peak ?? 0;
  }

  /** Of all dataflows of this worker. */
  get total(): number {
    return this.#total;
  }

  get peakTotal(): number {
    return this.#peakTotal;
  }

  /** Dataflows that are remembered; zero once all are dropped. */
  get dataflows(): number {
    return this.#dataflows.size;
  }

  operatorCreated(operatorId: number, dataflowIndex: number): void {
    this.#dataflowOf.set(operatorId, dataflowIndex);
    if (!this.#dataflows.has(dataflowIndex))
      this.#dataflows.set(dataflowIndex, { bytes: 0, peak: 0, alive: true });
  }

  operatorShutdown(operatorId: number): void {
    this.#dataflowOf.delete(operatorId);
    const a = this.#arrangements.get(operatorId);
    if (a !== undefined) this.#forgetIfOver(operatorId, a);
  }

  dataflowShutdown(dataflowIndex: number): void {
    const d = this.#dataflows.get(dataflowIndex);
    if (d === undefined) return;
    d.alive = false;
    if (d.bytes === 0) this.#dataflows.delete(dataflowIndex);
  }

  traceShared(operatorId: number, diff: number): void {
    const a = this.#arrangement(operatorId);
    a.handles += diff;
    assert(a.handles >= 0, `the arrangement of operator ${operatorId} has ${a.handles} handles`);
    this.#forgetIfOver(operatorId, a);
  }

  changed(operatorId: number, diff: number): void {
    if (diff === 0) return;
    const a = this.#arrangement(operatorId);
    const d = a.dataflow;
    a.bytes += diff;
    d.bytes += diff;
    this.#total += diff;
    if (d.bytes > d.peak) d.peak = d.bytes;
    if (this.#total > this.#peakTotal) this.#peakTotal = this.#total;
    this.#forgetIfOver(operatorId, a);
  }

  #arrangement(operatorId: number): Arrangement {
    let a = this.#arrangements.get(operatorId);
    if (a !== undefined) return a;
    const dataflowIndex = this.#dataflowOf.get(operatorId);
    assert(dataflowIndex !== undefined, `operator ${operatorId} lives when it begins to arrange`);
    a = { dataflow: this.#dataflows.get(dataflowIndex)!, dataflowIndex, bytes: 0, handles: 0 };
    this.#arrangements.set(operatorId, a);
    return a;
  }

  /** Nobody reads it, and its writer is gone. */
  #forgetIfOver(operatorId: number, a: Arrangement): void {
    if (a.handles > 0 || this.#dataflowOf.has(operatorId)) return;
    assert(a.bytes === 0, `an arrangement that ends gives back ${a.bytes} bytes`);
    this.#arrangements.delete(operatorId);
    if (!a.dataflow.alive && a.dataflow.bytes === 0) this.#dataflows.delete(a.dataflowIndex);
  }
}
