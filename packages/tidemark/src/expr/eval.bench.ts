/** Nanoseconds a row of the kernels that decide throughput. `node eval.bench.ts`; compare runs of one machine only. */
import { type Column, ColumnBuilder } from '../repr/column.ts';
import { encodeNumeric, Numeric, numericFromInt } from '../repr/numeric.ts';
import { encodeUtf8 } from '../repr/text.ts';
import { type SqlType, type } from '../repr/types.ts';
import { compileScalar } from './eval.ts';
import { compileMfp } from './mfp.ts';
import { filterMfp, mapMfp } from './mfp-algebra.ts';
import { identityMfp, type ScalarExpr } from './scalar.ts';

const N = 200_000;
const BATCH = 8192;
const ROUNDS = 5;
const CONTEXT = { timeZone: 'UTC' };

const ints = (f: (i: number) => number): Column => {
  const b = new ColumnBuilder('i32', BATCH);
  for (let i = 0; i < BATCH; i++) b.pushNumber(f(i));
  return b.finish();
};
const longs = (f: (i: number) => number): Column => {
  const b = new ColumnBuilder('i64', BATCH);
  for (let i = 0; i < BATCH; i++) b.pushI64Number(f(i));
  return b.finish();
};
const texts = (f: (i: number) => string): Column => {
  const b = new ColumnBuilder('bytes', BATCH);
  for (let i = 0; i < BATCH; i++) b.pushBytes(encodeUtf8(f(i)));
  return b.finish();
};
const numerics = (f: (i: number) => number): Column => {
  const b = new ColumnBuilder('bytes', BATCH);
  for (let i = 0; i < BATCH; i++) encodeNumeric(b, new Numeric(f(i), null, 2));
  return b.finish();
};

const columns = [
  ints((i) => i),
  ints((i) => (i * 7919) % 1000),
  longs((i) => i * 1000),
  longs((i) => i),
  texts((i) => ['new', 'paid', 'shipped', 'returned'][i & 3]!),
  numerics((i) => i * 100),
  numerics((i) => 7 + (i % 90)),
];
const types: SqlType[] = ['int4', 'int4', 'int8', 'int8', 'text', 'numeric', 'numeric'].map((n) =>
  type(n as never),
);
const col = (index: number): ScalarExpr => ({ kind: 'column', index, type: types[index]! });
const call = (func: string, args: ScalarExpr[], t: string): ScalarExpr => ({
  kind: 'call',
  func,
  args,
  type: type(t as never),
});
const lit = (value: number | string | bigint, t: string): ScalarExpr => ({
  kind: 'literal',
  value,
  type: type(t as never),
});

function time(name: string, f: () => unknown): void {
  let best = Number.POSITIVE_INFINITY;
  for (let r = 0; r < ROUNDS; r++) {
    const start = performance.now();
    for (let done = 0; done < N; done += BATCH) f();
    best = Math.min(best, performance.now() - start);
  }
  console.log(
    `${name.padEnd(44)} ${((best * 1e6) / (Math.ceil(N / BATCH) * BATCH)).toFixed(2).padStart(8)} ns/row`,
  );
}

const scalars: readonly [string, ScalarExpr][] = [
  ['int4 + int4', call('add_int4_int4', [col(0), col(1)], 'int4')],
  ['int4 * constant', call('mul_int4_int4', [col(1), lit(3, 'int4')], 'int4')],
  ['int4 / int4 constant', call('div_int4_int4', [col(0), lit(7, 'int4')], 'int4')],
  ['int8 + int8', call('add_int8_int8', [col(2), col(3)], 'int8')],
  ['int8 * int8', call('mul_int8_int8', [col(2), col(3)], 'int8')],
  ['int4 < constant', call('lt_int4_int4', [col(1), lit(500, 'int4')], 'bool')],
  ['int8 = int8', call('eq_int8_int8', [col(2), col(3)], 'bool')],
  ['text = constant', call('eq_text_text', [col(4), lit('paid', 'text')], 'bool')],
  ['text LIKE constant', call('like_text_text', [col(4), lit('%ed', 'text')], 'bool')],
  ['upper(text)', call('upper_text', [col(4)], 'text')],
  ['numeric * numeric', call('mul_numeric_numeric', [col(5), col(6)], 'numeric')],
  [
    'numeric < constant',
    call(
      'lt_numeric_numeric',
      [col(5), { kind: 'literal', value: numericFromInt(5000), type: types[5]! }],
      'bool',
    ),
  ],
  [
    'two comparisons and-ed',
    {
      kind: 'and',
      args: [
        call('lt_int4_int4', [col(1), lit(500, 'int4')], 'bool'),
        call('eq_text_text', [col(4), lit('paid', 'text')], 'bool'),
      ],
      type: type('bool'),
    },
  ],
];
for (const [name, e] of scalars) {
  const f = compileScalar(e, CONTEXT);
  time(name, () => f(columns, BATCH));
}

const batch = { length: BATCH, columns: columns.slice(0, 5), times: 1, diffs: 1 };
const half = compileMfp(
  filterMfp(identityMfp(5), [call('lt_int4_int4', [col(1), lit(500, 'int4')], 'bool')]),
  CONTEXT,
);
time('filter half of five columns', () => half(batch));
const all = compileMfp(
  filterMfp(identityMfp(5), [call('ge_int4_int4', [col(1), lit(0, 'int4')], 'bool')]),
  CONTEXT,
);
time('filter that keeps all', () => all(batch));
const mapped = compileMfp(mapMfp(identityMfp(5), [call('add_int4_int4', [col(0), col(1)], 'int4')]), CONTEXT);
time('map one column', () => mapped(batch));
