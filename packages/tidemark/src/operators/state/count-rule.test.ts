import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kind } from '../../repr/types.ts';
import { CountRule } from './count-rule.ts';
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
  type XorShift,
} from './test-support.ts';

const KINDS: readonly Kind[] = ['i32', 'bytes', 'f64'];
const degenerate: HashRows = (_, n, out) => out.fill(-1, 0, n);
const NEGATIVE = keyOf(['internal_error: table t has a negative accumulated count']);

const makeRow = (random: XorShift): Value[] => [
  random.pick([null, 0, 1]),
  random.pick([null, '', 'a', 'bb']),
  random.pick([null, 0, Number.NaN]),
];

function anyHistory(random: XorShift): Update[] {
  return Array.from({ length: 60 }, () => ({
    row: makeRow(random),
    time: random.below(9),
    diff: random.pick([1, 1, 2, -1, -2]),
  }));
}

for (const mode of ['distinct', 'threshold'] as const)
  test(`${mode} agrees with a recomputation at every time, negative counts included`, () => {
    let negatives = 0;
    forSeeds(process.env, (random) => {
      const updates = random.below(3) === 0 ? history(random, () => makeRow(random), 60) : anyHistory(random);
      const rule = new CountRule({
        mode,
        collection: 'table t',
        kinds: KINDS,
        encodeError,
        ...(random.below(3) === 0 && { hash: degenerate }),
      });
      checkAgainst(drive(rule, KINDS, updates, random), updates, (rows) => {
        const oks: Bag = new Map();
        const errs: Bag = new Map();
        for (const r of rows) {
          if (r.diff > 0) addTo(oks, keyOf(r.row), mode === 'distinct' ? 1 : r.diff);
          else {
            negatives++;
            if (mode === 'distinct') addTo(errs, NEGATIVE, 1);
          }
        }
        return { oks, errs };
      });
    });
    assert.ok(negatives > 100, 'the generator makes negative counts');
  });
