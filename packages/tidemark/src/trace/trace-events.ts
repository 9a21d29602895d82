/**
 * What arrangements say about themselves: plain numbers, called where the thing happens, no allocation. The
 * operator id names the arrangement. Every difference that was announced is taken back when the last handle goes,
 * so running sums are never negative and end at zero.
 */
export interface TraceEvents {
  /** A batch entered the spine: batches + 1, records + `records`. */
  batchAdded(operatorId: number, records: number): void;
  /** Two batches became one: batches - 1, records + (merged - older - newer). */
  batchesMerged(operatorId: number, older: number, newer: number, merged: number): void;
  /** A batch left with its arrangement: batches - 1, records - `records`. */
  batchDropped(operatorId: number, records: number): void;
  /** Trace handles that live. At zero all batches have been dropped. */
  traceShared(operatorId: number, diff: number): void;
  /** Bytes in use, bytes allocated and buffers of the sealed batches. */
  heap(operatorId: number, sizeDiff: number, capacityDiff: number, allocationsDiff: number): void;
  /** Pending updates that are not sealed yet. */
  batcher(
    operatorId: number,
    recordsDiff: number,
    sizeDiff: number,
    capacityDiff: number,
    allocationsDiff: number,
  ): void;
}

export const noTraceEvents: TraceEvents = {
  batchAdded() {},
  batchesMerged() {},
  batchDropped() {},
  traceShared() {},
  heap() {},
  batcher() {},
};
