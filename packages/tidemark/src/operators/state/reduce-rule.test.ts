import assert from 'node:assert/strict';
import { test } from 'node:test';
import { comparator } from '../../repr/compare.ts';
import {
  decodeNumeric,
  numericBytes,
  numericFromBig,
  numericToText,
  parseNumeric,
} from '../../repr/numeric.ts';
import { type Kind, type } from '../../repr/types.ts';
import type { Accumulator } from './accumulators/accumulator.ts';
import { basic } from './accumulators/basic.ts';
import { boolAnd, boolOr } from './accumulators/bool.ts';
import { count } from './accumulators/count.ts';
import { distinct } from './accumulators/distinct.ts';
import { max, min } from './accumulators/extreme.ts';
import { sumFloat } from './accumulators/sum-float.ts';
import { sumInteger } from './accumulators/sum-integer.ts';
import { sumNumeric } from './accumulators/sum-numeric.ts';
import type { HashRows } from './group-table.ts';
import { ReduceRule } from './reduce-rule.ts';
import {
  addTo,
  type Bag,
  bytesToText,
  cell,
  checkAgainst,
  drive,
  encodeError,
  forSeeds,
  history,
  keyOf,
  type Update,
  type Value,
  XorShift,
} from './test-support.ts';

/** key int4, key text, int4, int8, float8, text, bool, numeric */
const KINDS: readonly Kind[] = ['i32', 'bytes', 'i32', 'i64', 'f64', 'bytes', 'bool', 'bytes'];
const degenerate: HashRows = (_, n, out) => out.fill(7, 0, n);
const num = (s: string): string => bytesToText(numericBytes(parseNumeric(s)));

function makeRow(random: XorShift): Value[] {
  const maybe = (v: Value): Value => (random.below(5) === 0 ? null : v);
  return [
    maybe(random.below(4) - 1),
    maybe(random.pick(['', 'a', 'a much longer key than eight bytes', 'b'])),
    maybe(random.pick([0, 1, -5, 2147483647, -2147483648])),
    maybe(random.pick([0n, 9_000_000_000_000_000_000n, -9_223_372_036_854_775_808n, 3n, 9007199254740993n])),
    maybe(random.pick([0.25, -1.5, 4, 0, Number.NaN, Number.POSITIVE_INFINITY])),
    maybe(random.pick(['x', 'xy', '', 'z', 'a string that is long enough to be moved'])),
    maybe(random.below(2) === 0),
    maybe(num(random.pick(['1.0', '1.00', '-2.5', '1e30', '0', 'NaN', '123456789012345.678']))),
  ];
}

type Rows = readonly { readonly row: readonly Value[]; readonly diff: number }[];
const present = (rows: Rows, c: number): Rows => rows.filter((r) => r.row[c] !== null);
const total = (rows: Rows): bigint => rows.reduce((s, r) => s + BigInt(r.diff), 0n);
const once = (rows: Rows, c: number): Rows =>
  [...new Map(rows.map((r) => [keyOf([r.row[c]!]), r])).values()].map((r) => ({ row: r.row, diff: 1 }));
const sumBig = (rows: Rows, c: number): bigint | null =>
  rows.length === 0 ? null : rows.reduce((s, r) => s + BigInt(r.row[c] as bigint) * BigInt(r.diff), 0n);
const numericOf = (b: bigint | null): string | null =>
  b === null ? null : bytesToText(numericBytes(numericFromBig(b)));

function naiveFloat(rows: Rows): number | null {
  if (rows.length === 0) return null;
  return rows.reduce((s, r) => s + (r.row[4] as number) * r.diff, 0);
}

function naiveNumeric(rows: Rows): string | null {
  if (rows.length === 0) return null;
  const parts = rows.map((r) => ({
    v: decodeNumeric(Uint8Array.from(r.row[7] as string, (c) => c.charCodeAt(0))),
    d: r.diff,
  }));
  if (parts.some((p) => p.v.isNaN)) return num('NaN');
  const scale = Math.max(...parts.map((p) => p.v.scale));
  const sum = parts.reduce((s, p) => s + p.v.coef * 10n ** BigInt(scale - p.v.scale) * BigInt(p.d), 0n);
  return bytesToText(numericBytes(numericFromBig(sum, scale)));
}

/** NaN greatest, as SQL has it. */
const floatOrder = (a: number, b: number): number =>
  a === b || (Number.isNaN(a) && Number.isNaN(b))
    ? 0
    : Number.isNaN(a)
      ? 1
      : Number.isNaN(b)
        ? -1
        : a < b
          ? -1
          : 1;

function naiveJoin(rows: Rows): string {
  // ORDER BY text DESC NULLS FIRST, int8 ascending nulls last
  const copies = rows.flatMap((r) => Array.from({ length: r.diff }, () => [r.row[5], r.row[3]] as const));
  copies.sort(([a, x], [b, y]) => {
    if (a !== b) return a === null ? -1 : b === null ? 1 : (a as string) < (b as string) ? 1 : -1;
    if (x === y) return 0;
    return x === null ? 1 : y === null ? -1 : (x as bigint) < (y as bigint) ? -1 : 1;
  });
  return copies.map(([a, x]) => `${a}:${x}`).join('|');
}

interface Case {
  readonly make: () => Accumulator;
  readonly args: readonly number[];
  readonly filter?: number;
  readonly naive: (rows: Rows) => Value;
}

const CASES: Readonly<Record<string, Case>> = {
  countStar: { make: count, args: [], naive: total },
  count: { make: count, args: [2], naive: (r) => total(present(r, 2)) },
  countFilter: { make: count, args: [], filter: 6, naive: (r) => total(r.filter((x) => x.row[6] === true)) },
  countDistinct: {
    make: () => distinct(count(), ['f64']),
    args: [4],
    naive: (r) => total(once(present(r, 4), 4)),
  },
  countDistinctColliding: {
    make: () => distinct(count(), ['bytes'], degenerate),
    args: [5],
    naive: (r) => total(once(present(r, 5), 5)),
  },
  sumInt4: { make: () => sumInteger('i32', 'int8'), args: [2], naive: (r) => sumBig(present(r, 2), 2) },
  sumInt8: {
    make: () => sumInteger('i64', 'numeric'),
    args: [3],
    naive: (r) => numericOf(sumBig(present(r, 3), 3)),
  },
  sumDistinctInt8: {
    make: () => distinct(sumInteger('i64', 'numeric'), ['i64']),
    args: [3],
    naive: (r) => numericOf(sumBig(once(present(r, 3), 3), 3)),
  },
  sumFloat: { make: () => sumFloat('float8'), args: [4], naive: (r) => naiveFloat(present(r, 4)) },
  sumNumeric: { make: sumNumeric, args: [7], naive: (r) => naiveNumeric(present(r, 7)) },
  boolAnd: {
    make: boolAnd,
    args: [6],
    naive: (r) => (present(r, 6).length === 0 ? null : present(r, 6).every((x) => x.row[6] === true)),
  },
  boolOr: {
    make: boolOr,
    args: [6],
    naive: (r) => (present(r, 6).length === 0 ? null : present(r, 6).some((x) => x.row[6] === true)),
  },
  minFloat: {
    make: () => min('f64', comparator(type('float8'))),
    args: [4],
    naive: (r) =>
      present(r, 4)
        .map((x) => x.row[4] as number)
        .sort(floatOrder)[0] ?? null,
  },
  maxFloat: {
    make: () => max('f64', comparator(type('float8'))),
    args: [4],
    naive: (r) =>
      present(r, 4)
        .map((x) => x.row[4] as number)
        .sort(floatOrder)
        .at(-1) ?? null,
  },
  maxText: {
    make: () => max('bytes', comparator(type('text'))),
    args: [5],
    naive: (r) =>
      present(r, 5)
        .map((x) => x.row[5] as string)
        .sort()
        .at(-1) ?? null,
  },
  minInt8: {
    make: () => min('i64', comparator(type('int8'))),
    args: [3],
    naive: (r) =>
      present(r, 3)
        .map((x) => x.row[3] as bigint)
        .sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))[0] ?? null,
  },
  join: {
    make: () =>
      basic({
        outKind: 'bytes',
        kinds: ['bytes', 'i64'],
        order: [{ column: 0, compare: comparator(type('text')), desc: true, nullsFirst: true }],
        finish: (columns, n, out) => {
          const parts = Array.from(
            { length: n },
            (_, i) => `${cell(columns[0]!, i)}:${cell(columns[1]!, i)}`,
          );
          out.pushBytes(Uint8Array.from(parts.join('|'), (c) => c.charCodeAt(0)));
        },
      }),
    args: [5, 3],
    naive: naiveJoin,
  },
};

const rule = (names: readonly string[], keys: readonly number[], hash?: HashRows): ReduceRule =>
  new ReduceRule({
    collection: 'view v',
    keys,
    keyKinds: keys.map((k) => KINDS[k]!),
    aggregates: names.map((n) => {
      const c = CASES[n]!;
      return { accumulator: c.make, args: c.args, ...(c.filter !== undefined && { filter: c.filter }) };
    }),
    encodeError,
    ...(hash && { hash }),
  });

function naive(names: readonly string[], keys: readonly number[]): (rows: Rows) => { oks: Bag; errs: Bag } {
  return (rows) => {
    const groups = new Map<string, { row: readonly Value[]; diff: number }[]>();
    for (const r of rows) {
      const k = keyOf(keys.map((c) => r.row[c]!));
      groups.set(k, [...(groups.get(k) ?? []), r]);
    }
    const oks: Bag = new Map();
    for (const list of groups.values())
      addTo(
        oks,
        keyOf([...keys.map((c) => list[0]!.row[c]!), ...names.map((n) => CASES[n]!.naive(list))]),
        1,
      );
    return { oks, errs: new Map() };
  };
}

test('every aggregate, together and alone, agrees with a recomputation at every time', () => {
  const all = Object.keys(CASES);
  forSeeds(
    process.env,
    (random) => {
      const names = random.below(2) === 0 ? all : [random.pick(all)];
      const keys = random.pick([[0], [1], [0, 1], [1, 6], []]);
      const updates = history(random, () => makeRow(random), 10 + random.below(80));
      const out = drive(
        rule(names, keys, random.below(3) === 0 ? degenerate : undefined),
        KINDS,
        updates,
        random,
      );
      checkAgainst(out, updates, naive(names, keys));
    },
    250,
  );
});

test('no aggregates: the keys that are there', () => {
  forSeeds(
    process.env,
    (random) => {
      const updates = history(random, () => makeRow(random), 40);
      checkAgainst(drive(rule([], [0, 1]), KINDS, updates, random), updates, naive([], [0, 1]));
    },
    20,
  );
});

test('negative accumulations are errors that name the collection, and heal', () => {
  const names = ['countStar', 'minInt8'];
  let failures = 0;
  forSeeds(process.env, (random) => {
    const updates: Update[] = [];
    for (let k = 0; k < 40; k++)
      updates.push({
        row: [random.below(3), null, null, random.pick([null, 1n, 2n]), null, null, null, null],
        time: random.below(12),
        diff: random.pick([1, 1, -1, 2, -2]),
      });
    const out = drive(rule(names, [0]), KINDS, updates, random);
    checkAgainst(out, updates, (rows) => {
      const { oks } = naive(names, [0])([]);
      const errs: Bag = new Map();
      for (const g of new Set(rows.map((r) => r.row[0]!))) {
        const list = rows.filter((r) => r.row[0] === g);
        const n = total(list);
        const values = list.filter((r) => r.row[3] !== null);
        if (n === 0n && values.length === 0) continue;
        if (n <= 0n || values.some((r) => r.diff < 0)) {
          failures++;
          addTo(errs, keyOf(['internal_error: view v has a negative accumulated count']), 1);
        } else addTo(oks, keyOf([g, n, CASES['minInt8']!.naive(values)]), 1);
      }
      return { oks, errs };
    });
  });
  assert.ok(failures > 50, 'the generator makes negative groups');
});

const STEADY = new XorShift(7);

const at = (time: number, diff: number, row: Record<number, Value>): Update => ({
  row: KINDS.map((_, i) => row[i] ?? null),
  time,
  diff,
});

function results(
  names: readonly string[],
  keys: readonly number[],
  updates: readonly Update[],
  times: readonly number[],
) {
  const out = drive(rule(names, keys), KINDS, updates, STEADY);
  return times.map((t) => ({ oks: [...out.at(out.oks, t).keys()], errs: [...out.at(out.errs, t).keys()] }));
}

test('a global aggregate over nothing has no row, and comes back', () => {
  const got = results(
    ['countStar', 'sumInt4'],
    [],
    [at(1, 1, { 2: 5 }), at(2, -1, { 2: 5 }), at(3, 2, { 2: 7 })],
    [1, 2, 3],
  );
  assert.deepEqual(got, [
    { oks: ['1n,5n'], errs: [] },
    { oks: [], errs: [] },
    { oks: ['2n,14n'], errs: [] },
  ]);
});

test('sum(int8) grows past 2^63 and returns exactly', () => {
  const big = 9_000_000_000_000_000_000n;
  const got = results(
    ['sumInt8'],
    [],
    [at(1, 1, { 3: big }), at(2, 1, { 3: big }), at(3, -1, { 3: big })],
    [1, 2, 3],
  );
  const text = (s: string): string =>
    numericToText(decodeNumeric(Uint8Array.from(JSON.parse(s) as string, (c) => c.charCodeAt(0))));
  assert.deepEqual(
    got.map((g) => text(g.oks[0]!)),
    ['9000000000000000000', '18000000000000000000', '9000000000000000000'],
  );
});

test('sum(int4) out of the range of int8 is an error of its group alone, and heals', () => {
  const got = results(
    ['sumInt4'],
    [0],
    [
      at(1, 2 ** 33, { 0: 1, 2: 2147483647 }),
      at(1, 1, { 0: 2, 2: 8 }),
      at(2, 1 - 2 ** 33, { 0: 1, 2: 2147483647 }),
    ],
    [1, 2],
  );
  assert.deepEqual(got[0], { oks: ['2,8n'], errs: ['"numeric_value_out_of_range: bigint out of range"'] });
  assert.deepEqual(got[1], { oks: ['2,8n', '1,2147483647n'], errs: [] });
});

test('a group whose result did not change emits nothing', () => {
  const out = drive(
    rule(['sumInt4'], [0]),
    KINDS,
    [at(1, 1, { 0: 1, 2: 3 }), at(2, 1, { 0: 1, 2: 4 }), at(2, -1, { 0: 1, 2: 4 }), at(2, 1, { 0: 1, 2: 0 })],
    STEADY,
  );
  assert.deepEqual([...out.oks.keys()], [1]);
});
