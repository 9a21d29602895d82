/** States that fill and empty again and again hold nothing afterwards, and do not grow. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { comparator } from '../../repr/compare.ts';
import { numericBytes, parseNumeric } from '../../repr/numeric.ts';
import { type Kind, type TypeName, type } from '../../repr/types.ts';
import { EMPTY } from '../../time/timestamp.ts';
import { unlimitedFuel } from '../../trace/fuel.ts';
import type { Accumulator } from './accumulators/accumulator.ts';
import { basic } from './accumulators/basic.ts';
import { maxOf, sumOf } from './accumulators/by-type.ts';
import { count } from './accumulators/count.ts';
import { distinct } from './accumulators/distinct.ts';
import { CountRule } from './count-rule.ts';
import { OpenTime } from './open-time.ts';
import { ReduceRule } from './reduce-rule.ts';
import type { StateRule } from './state-rule.ts';
import { emptySize } from './state-size.ts';
import { batchOf, bytesToText, encodeError, type Value } from './test-support.ts';
import { TopKRule } from './topk-rule.ts';

const KINDS: readonly Kind[] = ['bytes', 'i64', 'f64', 'bytes'];

const by = (position: number, accumulator: () => Accumulator) => () =>
  new ReduceRule({
    collection: 'v',
    keys: [0],
    keyKinds: ['bytes'],
    aggregates: [{ accumulator, args: [position] }],
    encodeError,
  });
const sum = (name: TypeName) => () => sumOf(type(name), type('numeric'));

const ROWS = 300;
const GROUPS = 40;

const RULES: Readonly<Record<string, () => StateRule>> = {
  'count(distinct text)': by(0, () => distinct(count(), ['bytes'])),
  'max(text)': by(0, () => maxOf(type('text'))),
  'sum(int8)': by(1, sum('int8')),
  'sum(float8)': by(2, sum('float8')),
  'sum(numeric)': by(3, sum('numeric')),
  'array_agg(text)': by(0, () =>
    basic({ outKind: 'bytes', kinds: ['bytes'], order: [], finish: (c, _, out) => out.pushFrom(c[0]!, 0) }),
  ),
  distinct: () => new CountRule({ mode: 'distinct', collection: 'v', kinds: KINDS, encodeError }),
  threshold: () => new CountRule({ mode: 'threshold', collection: 'v', kinds: KINDS, encodeError }),
  'top 2': () =>
    new TopKRule({
      collection: 'v',
      kinds: KINDS,
      keys: [0],
      order: [{ column: 1, compare: comparator(type('int8')), desc: false, nullsFirst: false }],
      offset: 0,
      limit: 2,
      encodeError,
    }),
};

/** Records of a full state: its groups, and what is kept for them. What takes bytes counts; a sum takes those of its group. */
const RECORDS: Readonly<Record<string, number>> = {
  'count(distinct text)': 2 * GROUPS,
  'max(text)': 2 * GROUPS,
  'array_agg(text)': 2 * GROUPS,
  distinct: ROWS,
  threshold: ROWS,
  'top 2': ROWS,
};

const NUMERICS = ['1', '2.5', '1e25', '0.001', 'NaN'].map((s) => bytesToText(numericBytes(parseNumeric(s))));
const FLOATS = [1e308, 1, 1e-300, 2 ** 200, Number.POSITIVE_INFINITY, 3e10, 1e-100];

function rows(round: number): Value[][] {
  return Array.from({ length: ROWS }, (_, i) => [
    `key ${round} ${i % GROUPS}`,
    (BigInt(i) << 55n) - 7n,
    FLOATS[i % FLOATS.length]!,
    NUMERICS[i % NUMERICS.length]!,
  ]);
}

for (const [name, make] of Object.entries(RULES))
  test(`${name}: nothing is left, and nothing grows`, () => {
    const rule = make();
    const time = new OpenTime(rule);
    let balance = 0;
    const output = {
      oks: (b: { diffs: number | Float64Array; length: number }): void => {
        for (let i = 0; i < b.length; i++) balance += typeof b.diffs === 'number' ? b.diffs : b.diffs[i]!;
      },
      errs: (): void => {},
    };
    const step = (now: number, round: number, diff: number): void => {
      time.advance(now);
      time.push(
        batchOf(
          KINDS,
          rows(round).map((row) => ({ row, time: now, diff })),
        ),
      );
      assert.ok(time.work(unlimitedFuel(), output));
    };
    let early = 0;
    for (let round = 0; round < 100; round++) {
      step(3 * round, round, 1);
      time.advance(3 * round + 1);
      assert.ok(time.work(unlimitedFuel(), output));
      assert.ok(balance > 0, 'rows came out');
      const full = emptySize();
      rule.addSize(full);
      assert.equal(full.records, RECORDS[name] ?? GROUPS);
      step(3 * round + 2, round, -1);
      time.advance(3 * round + 3);
      assert.ok(time.work(unlimitedFuel(), output));
      assert.equal(balance, 0, 'all rows are taken back');
      const size = emptySize();
      rule.addSize(size);
      assert.equal(size.records, 0);
      assert.ok(size.used <= size.allocated);
      // The heap of freed strings breathes between collections.
      if (round < 20) early = Math.max(early, size.allocated);
      else assert.ok(size.allocated <= 1.5 * early, `${size.allocated} bytes after ${early}`);
    }
    time.advance(EMPTY);
    assert.ok(time.work(unlimitedFuel(), output));
  });
