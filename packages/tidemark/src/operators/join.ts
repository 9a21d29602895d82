/**
 * Join of two arranged streams by equal keys.
 *
 * Rule: δ(A ⋈ B) = δA ⋈ B + A ⋈ δB, where each pair of batches meets exactly once: a batch that is pulled meets
 * everything of the other side that was pulled before it. A pair of updates comes out at the later time with the
 * product of the diffs.
 *
 * State: none of its own but the traces of both sides. A side's trace is compacted to the other side's frontier
 * (all that will still meet it has such times), and released when the other side is finished.
 *
 * Cost: one table probe for each key of the smaller batch of a pair; output is index lists, and columns gathered
 * from them 16 K rows at a time. A pair that yields millions of rows is left and taken up again.
 */
import { assert } from '../base/assert.ts';
import type { Scope } from '../dataflow/builder.ts';
import type { Capability } from '../dataflow/capability.ts';
import type { OperatorContext, OperatorLogic } from '../dataflow/operator.ts';
import { type InputPort, MAX_BATCH_ROWS, type OutputPort, type Stream } from '../dataflow/ports.ts';
import type { Batch } from '../repr/batch.ts';
import { type Column, gather } from '../repr/column.ts';
import { type Frontier, MIN_TIME, type Timestamp } from '../time/timestamp.ts';
import { type ArrangedBatch, findKey } from '../trace/arranged-batch.ts';
import { withoutZeros } from '../trace/batch-rows.ts';
import type { Fuel } from '../trace/fuel.ts';
import type { TraceReader } from '../trace/trace.ts';
import type { Arranged } from './arrange.ts';

/** A column of the output: from the key, or from the value columns of a side. */
export interface JoinColumn {
  readonly from: 'key' | 'left' | 'right';
  readonly column: number;
}

export interface JoinOptions {
  readonly output: readonly JoinColumn[];
  readonly name?: string;
}

export function join(scope: Scope, left: Arranged, right: Arranged, options: JoinOptions): Stream<Batch> {
  assert(left.spec.hash === right.spec.hash, 'both sides of a join hash keys alike');
  const op = scope.operator(options.name ?? 'Join');
  const sides = [new Side(op.input(left.stream), left), new Side(op.input(right.stream), right)] as const;
  const to = op.output<Batch>('batch');
  op.build((ctx) => new Joiner(ctx, sides, to, options.output));
  return to.stream;
}

class Side {
  readonly input: InputPort<ArrangedBatch>;
  readonly #asOf: Timestamp;
  #trace: TraceReader | undefined;
  /** The trace is read through here, and `#pulled` is what came since. */
  #through: Frontier = MIN_TIME;
  #pulled: ArrangedBatch[] = [];

  constructor(input: InputPort<ArrangedBatch>, { trace, asOf }: Arranged) {
    this.input = input;
    this.#trace = trace.clone({ cuts: true });
    this.#asOf = asOf;
  }

  /** The next batch; from now on it counts as seen. */
  pull(): ArrangedBatch | undefined {
    const batch = this.input.pull();
    if (batch !== undefined) this.#pulled.push(batch);
    this.acknowledge();
    return batch;
  }

  /** When the frontier has moved, the trace has what was pulled before. */
  acknowledge(): void {
    // At the as-of an import's frontier does not say how much of the trace has come.
    if (this.input.frontier <= Math.max(this.#through, this.#asOf)) return;
    this.#through = this.input.frontier;
    this.#pulled = [];
  }

  /** Every batch that was seen. */
  seen(): ArrangedBatch[] {
    assert(this.#trace !== undefined, 'a side is read while the other one may still bring something');
    return [...this.#trace.batchesThrough(this.#through), ...this.#pulled].filter((b) => b.length > 0);
  }

  /** What `other` will still bring has at least the times of its frontier. */
  compact(other: Side): void {
    const trace = this.#trace;
    if (trace === undefined) return;
    if (other.input.done) {
      this.release();
      return;
    }
    const f = other.input.frontier;
    if (f > trace.since) trace.setLogicalCompaction(f);
    if (this.#through > trace.physical) trace.setPhysicalCompaction(this.#through);
  }

  release(): void {
    this.#trace?.dispose();
    this.#trace = undefined;
    this.#pulled = [];
  }
}

class Joiner implements OperatorLogic {
  readonly #ctx: OperatorContext;
  readonly #sides: readonly [Side, Side];
  readonly #emitter: PairEmitter;
  #work: BatchJoin | undefined;

  constructor(
    ctx: OperatorContext,
    sides: readonly [Side, Side],
    to: OutputPort<Batch>,
    output: readonly JoinColumn[],
  ) {
    this.#ctx = ctx;
    this.#sides = sides;
    this.#emitter = new PairEmitter(to, output);
  }

  run(fuel: Fuel): void {
    const [left, right] = this.#sides;
    for (;;) {
      if (this.#work !== undefined) {
        if (!this.#work.work(fuel)) {
          this.#ctx.reactivate();
          break;
        }
        this.#work = undefined;
      }
      if (fuel.exhausted) {
        if (!left.input.isEmpty || !right.input.isEmpty) this.#ctx.reactivate();
        break;
      }
      if (!this.#begin(left, right) && !this.#begin(right, left)) break;
    }
    left.acknowledge();
    right.acknowledge();
    left.compact(right);
    right.compact(left);
  }

  /** Pulls a batch of one side and prepares its meeting with the other. Whether there was one. */
  #begin(from: Side, other: Side): boolean {
    const delta = from.pull();
    if (delta === undefined) return false;
    if (delta.length === 0) return true;
    other.acknowledge();
    const seen = other.seen();
    if (seen.length === 0) return true;
    const capability = this.#ctx.implied.delayed(delta.minTime);
    this.#work = new BatchJoin(delta, seen, {
      deltaIsLeft: from === this.#sides[0],
      capability,
      emitter: this.#emitter,
    });
    return true;
  }

  shutdown(): void {
    for (const s of this.#sides) s.release();
    this.#work = undefined;
  }
}

interface Meeting {
  readonly deltaIsLeft: boolean;
  readonly capability: Capability;
  readonly emitter: PairEmitter;
}

/** One batch against a list of batches of the other side, resumable. */
class BatchJoin {
  readonly #delta: ArrangedBatch;
  readonly #others: ArrangedBatch[];
  readonly #m: Meeting;
  #other = 0;
  #key = 0;
  #begun = false;

  constructor(delta: ArrangedBatch, others: ArrangedBatch[], meeting: Meeting) {
    this.#delta = delta;
    this.#others = others;
    this.#m = meeting;
  }

  /** Whether it is done; then the capability is released. */
  work(fuel: Fuel): boolean {
    const { emitter, deltaIsLeft, capability } = this.#m;
    const delta = this.#delta;
    while (this.#other < this.#others.length) {
      const other = this.#others[this.#other]!;
      if (!this.#begun) {
        emitter.begin(deltaIsLeft ? delta : other, deltaIsLeft ? other : delta, capability);
        this.#begun = true;
        this.#key = 0;
      }
      if (!this.#keys(other, fuel)) return false;
      emitter.flush();
      this.#begun = false;
      this.#other++;
    }
    capability.dispose();
    return true;
  }

  /** Probes the larger batch with the keys of the smaller one. */
  #keys(other: ArrangedBatch, fuel: Fuel): boolean {
    const { emitter, deltaIsLeft } = this.#m;
    const delta = this.#delta;
    const small = delta.keyCount <= other.keyCount ? delta : other;
    const large = small === delta ? other : delta;
    const smallIsLeft = (small === delta) === deltaIsLeft;
    const { keyHashes, keys, keyCount } = small;
    if (!emitter.resume(fuel)) return false;
    while (this.#key < keyCount) {
      if (fuel.exhausted) return false;
      const k = this.#key++;
      const j = findKey(large, keyHashes[k]!, keys, k);
      fuel.spend(1);
      if (j >= 0 && !emitter.pair(smallIsLeft ? k : j, smallIsLeft ? j : k, fuel)) return false;
    }
    return true;
  }
}

/** Lists pairs of rows of two batches and gathers the output columns. */
class PairEmitter {
  readonly #to: OutputPort<Batch>;
  readonly #output: readonly JoinColumn[];
  readonly #keyRows = new Int32Array(MAX_BATCH_ROWS);
  readonly #leftRows = new Int32Array(MAX_BATCH_ROWS);
  readonly #rightRows = new Int32Array(MAX_BATCH_ROWS);
  #n = 0;
  #left!: ArrangedBatch;
  #right!: ArrangedBatch;
  #capability!: Capability;
  /** The pair of groups under way: next row of each, and the bounds. */
  #key = 0;
  #i = 0;
  #iEnd = 0;
  #j = 0;
  #jStart = 0;
  #jEnd = 0;

  constructor(to: OutputPort<Batch>, output: readonly JoinColumn[]) {
    this.#to = to;
    this.#output = output;
  }

  begin(left: ArrangedBatch, right: ArrangedBatch, capability: Capability): void {
    this.#left = left;
    this.#right = right;
    this.#capability = capability;
    this.#i = this.#iEnd = 0;
  }

  /** Key `l` of the left batch and its equal `r` of the right one. Whether all their pairs are listed. */
  pair(l: number, r: number, fuel: Fuel): boolean {
    this.#key = l;
    this.#i = this.#left.keyOffsets[l]!;
    this.#iEnd = this.#left.keyOffsets[l + 1]!;
    this.#j = this.#jStart = this.#right.keyOffsets[r]!;
    this.#jEnd = this.#right.keyOffsets[r + 1]!;
    return this.resume(fuel);
  }

  /** Goes on with the pair of groups under way. Whether it is complete. */
  resume(fuel: Fuel): boolean {
    const { keyRows, leftRows, rightRows } = {
      keyRows: this.#keyRows,
      leftRows: this.#leftRows,
      rightRows: this.#rightRows,
    };
    while (this.#i < this.#iEnd) {
      if (fuel.exhausted) return false;
      const rows = Math.min(this.#jEnd - this.#j, MAX_BATCH_ROWS - this.#n, fuel.portion(MAX_BATCH_ROWS));
      let n = this.#n;
      const i = this.#i;
      const to = this.#j + rows;
      for (let j = this.#j; j < to; j++) {
        keyRows[n] = this.#key;
        leftRows[n] = i;
        rightRows[n] = j;
        n++;
      }
      this.#n = n;
      this.#j = to;
      fuel.spend(rows);
      if (to === this.#jEnd) {
        this.#i++;
        this.#j = this.#jStart;
      }
      if (n === MAX_BATCH_ROWS) this.flush();
    }
    return true;
  }

  /** Sends what is listed. */
  flush(): void {
    const n = this.#n;
    if (n === 0) return;
    this.#n = 0;
    const left = this.#left;
    const right = this.#right;
    const columns = this.#output.map(({ from, column }): Column => {
      if (from === 'key') return gather(left.keys[column]!, this.#keyRows, n);
      return from === 'left'
        ? gather(left.values[column]!, this.#leftRows, n)
        : gather(right.values[column]!, this.#rightRows, n);
    });
    const pairs = { length: n, columns, times: this.#times(n), diffs: this.#diffs(n) };
    this.#to.send(this.#capability, withoutZeros(pairs));
  }

  #times(n: number): number | Float64Array<ArrayBuffer> {
    const a = this.#left.times;
    const b = this.#right.times;
    if (typeof a === 'number' && typeof b === 'number') return Math.max(a, b);
    const out = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      const s = typeof a === 'number' ? a : a[this.#leftRows[i]!]!;
      const t = typeof b === 'number' ? b : b[this.#rightRows[i]!]!;
      out[i] = Math.max(s, t);
    }
    return out;
  }

  #diffs(n: number): number | Float64Array<ArrayBuffer> {
    const a = this.#left.diffs;
    const b = this.#right.diffs;
    if (typeof a === 'number' && typeof b === 'number') return product(a, b);
    const out = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      const s = typeof a === 'number' ? a : a[this.#leftRows[i]!]!;
      const t = typeof b === 'number' ? b : b[this.#rightRows[i]!]!;
      out[i] = product(s, t);
    }
    return out;
  }
}

function product(a: number, b: number): number {
  const d = a * b;
  assert(Number.isSafeInteger(d), 'a multiplicity stays within 2^53');
  return d;
}
