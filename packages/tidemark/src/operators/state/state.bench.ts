/**
 * Rules alone, warm: `node state.bench.ts`. W2 of the workloads (1M orders, 10,000 customers, count and sum) and
 * W4 (batches of 100 updates after it), top-k and min over the same rows. The machine's noise is not removed.
 */
import type { Batch } from '../../repr/batch.ts';
import { NO_OFFSETS } from '../../repr/column.ts';
import { comparator } from '../../repr/compare.ts';
import { type } from '../../repr/types.ts';
import { EMPTY } from '../../time/timestamp.ts';
import { Fuel } from '../../trace/fuel.ts';
import { count } from './accumulators/count.ts';
import { min } from './accumulators/extreme.ts';
import { sumFloat } from './accumulators/sum-float.ts';
import { sumInteger } from './accumulators/sum-integer.ts';
import { OpenTime } from './open-time.ts';
import { type AggregateSpec, ReduceRule } from './reduce-rule.ts';
import type { StateRule } from './state-rule.ts';
import { TopKRule } from './topk-rule.ts';

const ROWS = 1_000_000;
const CUSTOMERS = 10_000;
const BATCH = 16_384;

let s = 0x9e3779b1 | 0;
function below(n: number): number {
  s ^= s << 13;
  s ^= s >>> 17;
  s ^= s << 5;
  return Math.floor(((s >>> 0) * n) / 4294967296);
}

function orders(n: number, time: number, diffs: number | Float64Array<ArrayBuffer>): Batch {
  const customer = Int32Array.from({ length: n }, () => below(CUSTOMERS));
  const amount = Int32Array.from({ length: n }, () => 1 + below(100_000));
  const columns = [customer, amount].map((values) => ({
    kind: 'i32' as const,
    length: n,
    validity: null,
    values,
    offsets: NO_OFFSETS,
  }));
  const f = Float64Array.from(amount, (x) => x / 100);
  columns.push({ kind: 'f64', length: n, validity: null, values: f, offsets: NO_OFFSETS } as never);
  return { length: n, columns, times: time, diffs };
}

const encodeError = (): Uint8Array => new Uint8Array(1);
const output = { oks(): void {}, errs(): void {} };
const reduceBy = (aggregates: readonly AggregateSpec[]) => (): StateRule =>
  new ReduceRule({ collection: 'bench', keys: [0], keyKinds: ['i32'], aggregates, encodeError });

const countStar: AggregateSpec = { accumulator: count, args: [] };
const RULES: Readonly<Record<string, () => StateRule>> = {
  'count, sum(int4)': reduceBy([countStar, { accumulator: () => sumInteger('i32', 'int8'), args: [1] }]),
  'count, sum(float8)': reduceBy([countStar, { accumulator: () => sumFloat('float8'), args: [2] }]),
  'min(int4)': reduceBy([{ accumulator: () => min('i32', comparator(type('int4'))), args: [1] }]),
  'top 3 by amount': () =>
    new TopKRule({
      collection: 'bench',
      kinds: ['i32', 'i32', 'f64'],
      keys: [0],
      order: [{ column: 1, compare: comparator(type('int4')), desc: true, nullsFirst: true }],
      offset: 0,
      limit: 3,
      encodeError,
    }),
};

const snapshot: Batch[] = [];
for (let k = 0; k < ROWS; k += BATCH) snapshot.push(orders(Math.min(BATCH, ROWS - k), 1, 1));
const changes = Array.from({ length: 1000 }, (_, k) =>
  orders(
    100,
    2 + k,
    Float64Array.from({ length: 100 }, () => 1),
  ),
);

for (const [name, make] of Object.entries(RULES)) {
  const hydration: number[] = [];
  const steps: number[] = [];
  for (let round = 0; round < 4; round++) {
    const time = new OpenTime(make());
    time.advance(1);
    const start = performance.now();
    for (const b of snapshot) {
      time.push(b);
      while (!time.work(new Fuel(32_768), output));
    }
    time.advance(2);
    while (!time.work(new Fuel(32_768), output));
    hydration.push(performance.now() - start);
    for (let k = 0; k < changes.length; k++) {
      const t = performance.now();
      time.push(changes[k]!);
      time.advance(3 + k);
      while (!time.work(new Fuel(32_768), output));
      if (round > 0) steps.push(performance.now() - t);
    }
    time.advance(EMPTY);
  }
  steps.sort((a, b) => a - b);
  const micros = (q: number): string => (1000 * steps[Math.floor(q * (steps.length - 1))]!).toFixed(1);
  console.log(
    `${name.padEnd(20)} 1M rows: cold ${hydration[0]!.toFixed(0)} ms, warm ${Math.min(...hydration.slice(1)).toFixed(0)} ms; ` +
      `100 updates: p50 ${micros(0.5)} µs, p99 ${micros(0.99)} µs`,
  );
}
