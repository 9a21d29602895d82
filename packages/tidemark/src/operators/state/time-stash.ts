/**
 * Updates whose time has not come: a heap of runs, each a batch in order of time with a cursor. A batch at one
 * time is a run as it stands; a mixed one is sorted by time once (a permutation and one gather), whatever the
 * number of its times, so that a temporal filter's million distinct times cost a slice each and not a batch each.
 */
import { assert } from '../../base/assert.ts';
import { type Batch, gatherBatch, sliceBatch, timeAt } from '../../repr/batch.ts';
import { columnBytes } from '../../repr/column.ts';
import { EMPTY, type Frontier, type Timestamp } from '../../time/timestamp.ts';
import { addArray, emptySize, type StateSize } from './state-size.ts';

interface Run {
  readonly batch: Batch;
  from: number;
  /** Time of the row at `from`. */
  head: Timestamp;
  readonly size: StateSize;
}

export class TimeStash {
  /** Binary heap by `head`. */
  readonly #runs: Run[] = [];
  #rows = 0;
  /** Of whole runs: what is taken out of a run goes when the run does. */
  readonly #size: StateSize = emptySize();

  get rows(): number {
    return this.#rows;
  }

  /** The least time that waits; empty when nothing does. */
  get minTime(): Frontier {
    return this.#runs.length === 0 ? EMPTY : this.#runs[0]!.head;
  }

  add(batch: Batch): void {
    if (batch.length === 0) return;
    const run = inTimeOrder(batch);
    this.#rows += batch.length;
    const size = sizeOf(run);
    this.#count(size, 1);
    this.#runs.push({ batch: run, from: 0, head: timeAt(run, 0), size });
    this.#up(this.#runs.length - 1);
  }

  /** Takes out one batch of rows at the least time. */
  take(): Batch {
    const run = this.#runs[0];
    assert(run !== undefined, 'something is taken from a stash that holds something');
    const { batch, from, head } = run;
    let to = from;
    if (typeof batch.times === 'number') to = batch.length;
    else while (to < batch.length && batch.times[to] === head) to++;
    if (to === batch.length) {
      this.#count(run.size, -1);
      const last = this.#runs.pop()!;
      if (this.#runs.length > 0) {
        this.#runs[0] = last;
        this.#down(0);
      }
    } else {
      run.from = to;
      run.head = timeAt(batch, to);
      this.#down(0);
    }
    this.#rows -= to - from;
    return { ...sliceBatch(batch, from, to), times: head };
  }

  #up(i: number): void {
    const runs = this.#runs;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (runs[parent]!.head <= runs[i]!.head) return;
      [runs[parent], runs[i]] = [runs[i]!, runs[parent]!];
      i = parent;
    }
  }

  #down(i: number): void {
    const runs = this.#runs;
    for (;;) {
      const l = 2 * i + 1;
      let least = i;
      if (l < runs.length && runs[l]!.head < runs[least]!.head) least = l;
      if (l + 1 < runs.length && runs[l + 1]!.head < runs[least]!.head) least = l + 1;
      if (least === i) return;
      [runs[least], runs[i]] = [runs[i]!, runs[least]!];
      i = least;
    }
  }

  #count(size: StateSize, sign: number): void {
    this.#size.used += sign * size.used;
    this.#size.allocated += sign * size.allocated;
    this.#size.buffers += sign * size.buffers;
  }

  addSize(size: StateSize): void {
    size.records += this.#rows;
    size.used += this.#size.used;
    size.allocated += this.#size.allocated;
    size.buffers += this.#size.buffers;
  }
}

function sizeOf(batch: Batch): StateSize {
  const size = emptySize();
  for (const c of batch.columns) {
    const bytes = columnBytes(c);
    size.used += bytes.used;
    size.allocated += bytes.allocated;
    size.buffers += bytes.buffers;
  }
  for (const a of [batch.times, batch.diffs]) if (typeof a !== 'number') addArray(size, a);
  return size;
}

function inTimeOrder(batch: Batch): Batch {
  const times = batch.times;
  if (typeof times === 'number') return batch;
  let sorted = true;
  for (let i = 1; i < batch.length && sorted; i++) sorted = times[i - 1]! <= times[i]!;
  if (sorted) return batch;
  const permutation = new Int32Array(batch.length);
  for (let i = 0; i < permutation.length; i++) permutation[i] = i;
  permutation.sort((i, j) => times[i]! - times[j]! || i - j);
  return gatherBatch(batch, permutation, batch.length);
}
