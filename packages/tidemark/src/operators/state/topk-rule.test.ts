import assert from 'node:assert/strict';
import { test } from 'node:test';
import { comparator } from '../../repr/compare.ts';
import { type Kind, type } from '../../repr/types.ts';
import type { HashRows } from './group-table.ts';
import {
  addTo,
  type Bag,
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
import { TopKRule, type TopKSpec } from './topk-rule.ts';

/** group, ordered text, ordered float8, payload */
const KINDS: readonly Kind[] = ['i32', 'bytes', 'f64', 'i64'];
const degenerate: HashRows = (_, n, out) => out.fill(0, 0, n);
const ORDERED = { 1: comparator(type('text')), 2: comparator(type('float8')) } as const;
type Rows = readonly { readonly row: readonly Value[]; readonly diff: number }[];

const makeRow = (random: XorShift): Value[] => [
  random.pick([null, 1, 2]),
  random.pick([null, '', 'a', 'ab', 'b']),
  random.pick([null, 0, 1, -1, Number.NaN]),
  BigInt(random.below(3)),
];

function compareValues(a: Value, b: Value, desc: boolean, nullsFirst: boolean): number {
  if (a === null || b === null) return a === b ? 0 : (a === null) === nullsFirst ? -1 : 1;
  const nan = Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  const d = nan !== 0 ? nan : a < b ? -1 : a > b ? 1 : 0;
  return desc ? -d : d;
}

/** The window by brute force: sort all copies, cut. */
function naive(spec: TopKSpec): (rows: Rows) => { oks: Bag; errs: Bag } {
  return (rows) => {
    const groups = new Map<string, { row: readonly Value[]; diff: number }[]>();
    for (const r of rows) {
      const k = keyOf(spec.keys.map((c) => r.row[c]!));
      groups.set(k, [...(groups.get(k) ?? []), r]);
    }
    const oks: Bag = new Map();
    const errs: Bag = new Map();
    for (const list of groups.values()) {
      if (list.some((r) => r.diff < 0)) {
        addTo(errs, keyOf(['internal_error: view w has a negative accumulated count']), 1);
        continue;
      }
      const copies = list.flatMap((r) => Array.from({ length: r.diff }, () => r.row));
      copies.sort((a, b) => {
        for (const o of spec.order) {
          const d = compareValues(a[o.column]!, b[o.column]!, o.desc, o.nullsFirst);
          if (d !== 0) return d;
        }
        for (let c = 0; c < KINDS.length; c++) {
          const d = compareValues(a[c]!, b[c]!, false, false);
          if (d !== 0) return d;
        }
        return 0;
      });
      const end = spec.limit === null ? undefined : spec.offset + spec.limit;
      for (const row of copies.slice(spec.offset, end)) addTo(oks, keyOf(row), 1);
    }
    return { oks, errs };
  };
}

function randomSpec(random: XorShift): TopKSpec {
  const order = ([1, 2] as const)
    .filter(() => random.below(3) > 0)
    .map((column) => ({
      column,
      compare: ORDERED[column],
      desc: random.below(2) === 0,
      nullsFirst: random.below(2) === 0,
    }));
  return {
    collection: 'view w',
    kinds: KINDS,
    keys: random.pick([[], [0], [0, 1]]),
    order,
    offset: random.pick([0, 0, 1, 3]),
    limit: random.pick([null, 0, 1, 2, 5]),
    encodeError,
    ...(random.below(3) === 0 && { hash: degenerate }),
  };
}

test('top-k agrees with sorting everything at every time', () => {
  forSeeds(
    process.env,
    (random) => {
      const spec = randomSpec(random);
      const updates = history(random, () => makeRow(random), 20 + random.below(80));
      checkAgainst(drive(new TopKRule(spec), KINDS, updates, random), updates, naive(spec));
    },
    250,
  );
});

test('negative multiplicities are errors of their group, and heal', () => {
  forSeeds(process.env, (random) => {
    const spec = randomSpec(random);
    const updates: Update[] = Array.from({ length: 50 }, () => ({
      row: makeRow(random),
      time: random.below(8),
      diff: random.pick([1, 1, 2, -1]),
    }));
    checkAgainst(drive(new TopKRule(spec), KINDS, updates, random), updates, naive(spec));
  });
});

test('a change below the window emits nothing, one in it only what changed', () => {
  const spec: TopKSpec = {
    collection: 'view w',
    kinds: KINDS,
    keys: [],
    order: [{ column: 2, compare: ORDERED[2], desc: true, nullsFirst: true }],
    offset: 0,
    limit: 3,
    encodeError,
  };
  const row = (v: number, id: bigint): Value[] => [1, 'a', v, id];
  const updates: Update[] = [
    ...[50, 40, 30, 20].map((v, i) => ({ row: row(v, BigInt(i)), time: 1, diff: 1 })),
    { row: row(10, 9n), time: 2, diff: 1 },
    { row: row(45, 10n), time: 3, diff: 1 },
  ];
  const out = drive(new TopKRule(spec), KINDS, updates, new XorShift(3));
  assert.deepEqual([...out.oks.keys()], [1, 3]);
  assert.deepEqual(
    [...out.oks.get(3)!].sort(),
    [
      [keyOf(row(30, 2n)), -1],
      [keyOf(row(45, 10n)), 1],
    ].sort(),
  );
});

test('NULLs order as PostgreSQL has it: first when descending, last when ascending', () => {
  for (const desc of [true, false]) {
    const spec: TopKSpec = {
      collection: 'view w',
      kinds: KINDS,
      keys: [],
      order: [{ column: 1, compare: ORDERED[1], desc, nullsFirst: desc }],
      offset: 0,
      limit: 1,
      encodeError,
    };
    const updates: Update[] = [
      { row: [1, 'acme', 1, 1n], time: 1, diff: 1 },
      { row: [1, null, 1, 2n], time: 2, diff: 1 },
      { row: [1, null, 1, 2n], time: 3, diff: -1 },
    ];
    const out = drive(new TopKRule(spec), KINDS, updates, new XorShift(3));
    const first = [1, 2, 3].map((t) => [...out.at(out.oks, t).keys()].join());
    const acme = keyOf([1, 'acme', 1, 1n]);
    assert.deepEqual(first, [acme, desc ? keyOf([1, null, 1, 2n]) : acme, acme]);
  }
});
