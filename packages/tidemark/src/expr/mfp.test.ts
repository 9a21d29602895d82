import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Batch, diffAt, timeAt } from '../repr/batch.ts';
import { ColumnBuilder } from '../repr/column.ts';
import { columnOf, datumAt } from '../repr/datum.ts';
import { type Datum, kindOf, type SqlType, type } from '../repr/types.ts';
import { evalConstant } from './eval.ts';
import { decodeEvalError, isEvalError } from './eval-error.ts';
import { substituteColumns } from './expr-tree.ts';
import { compileMfp } from './mfp.ts';
import {
  composeMfp,
  filterMfp,
  inputsOf,
  mapMfp,
  mfpOfExpressions,
  narrowMfp,
  projectMfp,
  pruneMfp,
} from './mfp-algebra.ts';
import { identityMfp, type Mfp, type ScalarExpr } from './scalar.ts';

const SEED = Number(process.env['SEED'] ?? 1);
const RUNS = Number(process.env['RUNS'] ?? 150);
const CONTEXT = { timeZone: 'UTC' };
const INT4 = type('int4');
const BOOL = type('bool');

const col = (index: number, t: SqlType = INT4): ScalarExpr => ({ kind: 'column', index, type: t });
const int = (value: number | null): ScalarExpr => ({ kind: 'literal', value, type: INT4 });
const bin = (op: string, a: ScalarExpr, b: ScalarExpr): ScalarExpr => ({
  kind: 'call',
  func: `${op}_int4_int4`,
  args: [a, b],
  type: ['eq', 'ne', 'lt', 'gt'].includes(op) ? BOOL : INT4,
});

function batchOf(rows: readonly (readonly Datum[])[], arity: number): Batch {
  return {
    length: rows.length,
    columns: Array.from({ length: arity }, (_, k) =>
      columnOf(
        INT4,
        rows.map((r) => r[k]!),
        new ColumnBuilder(kindOf(INT4)),
      ),
    ),
    times: Float64Array.from(rows, (_, i) => 100 + i),
    diffs: Float64Array.from(rows, (_, i) => (i % 3 === 0 ? -1 : 1)),
  };
}

interface Update {
  readonly row: Datum;
  readonly time: number;
  readonly diff: number;
}
const byTime = (a: Update, b: Update): number => a.time - b.time;

function evaluate(m: Mfp, b: Batch, types: readonly SqlType[]): { oks: Update[]; errs: Update[] } {
  const { oks, errs } = compileMfp(m, CONTEXT)(b);
  const read = (x: Batch | null, row: (i: number) => Datum): Update[] =>
    x === null
      ? []
      : Array.from({ length: x.length }, (_, i) => ({ row: row(i), time: timeAt(x, i), diff: diffAt(x, i) }));
  return {
    oks: read(oks, (i) => types.map((t, k) => datumAt(t, oks!.columns[k]!, i))),
    errs: read(errs, (i) => {
      const c = errs!.columns[0]!;
      return decodeEvalError(c.values as Uint8Array, c.offsets[i], c.offsets[i + 1]).message;
    }).sort(byTime),
  };
}

/** The contract, a row at a time over constants. */
function reference(m: Mfp, rows: readonly (readonly Datum[])[], b: Batch): { oks: Update[]; errs: Update[] } {
  const oks: Update[] = [];
  const errs: Update[] = [];
  rows.forEach((input, i) => {
    const at = { time: timeAt(b, i), diff: diffAt(b, i) };
    const row: ScalarExpr[] = input.map((d) => ({ kind: 'literal', value: d, type: INT4 }));
    for (let level = 0; level <= m.map.length; level++) {
      if (level > 0) {
        const v = evalConstant(
          substituteColumns(m.map[level - 1]!, (k) => row[k]),
          CONTEXT,
        );
        if (isEvalError(v)) {
          errs.push({ row: v.error.message, ...at });
          return;
        }
        row.push({ kind: 'literal', value: v, type: m.map[level - 1]!.type });
      }
      const here = m.filter.filter((f) => levelOf(f, m.inputArity) === level);
      const results = here.map((f) =>
        evalConstant(
          substituteColumns(f, (k) => row[k]),
          CONTEXT,
        ),
      );
      if (results.some((r) => r === false)) return;
      const failed = results.find((r) => isEvalError(r));
      if (isEvalError(failed)) {
        errs.push({ row: failed.error.message, ...at });
        return;
      }
      if (results.some((r) => r === null)) return;
    }
    oks.push({ row: m.project.map((p) => (row[p] as { value: Datum }).value), ...at });
  });
  return { oks, errs };
}

function levelOf(e: ScalarExpr, arity: number): number {
  const own = e.kind === 'column' ? Math.max(0, e.index - arity + 1) : 0;
  return Math.max(own, ...('args' in e ? e.args.map((a) => levelOf(a, arity)) : []));
}

function xorshift(seed: number): () => number {
  let s = (seed * 2654435761) >>> 0 || 1;
  return () => {
    s ^= s << 13;
    s ^= s >>> 17;
    s ^= s << 5;
    s >>>= 0;
    return s / 4294967296;
  };
}

function randomMfp(random: () => number, arity: number): Mfp {
  const below = (n: number): number => Math.floor(random() * n);
  const value = (width: number, depth: number): ScalarExpr => {
    const r = random();
    if (depth === 0 || r < 0.3)
      return random() < 0.8 ? col(below(width)) : int(random() < 0.2 ? null : below(4));
    if (r < 0.5)
      return {
        kind: 'if',
        args: [truth(width, depth - 1), value(width, depth - 1), value(width, depth - 1)],
        type: INT4,
      };
    if (r < 0.6)
      return { kind: 'coalesce', args: [value(width, depth - 1), value(width, depth - 1)], type: INT4 };
    return bin(['add', 'div', 'mul', 'mod'][below(4)]!, value(width, depth - 1), value(width, depth - 1));
  };
  const truth = (width: number, depth: number): ScalarExpr => {
    if (depth > 0 && random() < 0.4)
      return {
        kind: random() < 0.5 ? 'and' : 'or',
        args: [truth(width, depth - 1), truth(width, depth - 1), truth(width, depth - 1)],
        type: BOOL,
      };
    return bin(['eq', 'ne', 'lt', 'gt'][below(4)]!, value(width, depth), value(width, depth));
  };
  const maps = below(4);
  const map: ScalarExpr[] = [];
  for (let k = 0; k < maps; k++) map.push(value(arity + k, 2));
  const width = arity + maps;
  return {
    inputArity: arity,
    map,
    filter: Array.from({ length: below(3) }, () => truth(width, 2)),
    project: Array.from({ length: 1 + below(3) }, () => below(width)),
  };
}

const randomRows = (random: () => number, arity: number): Datum[][] =>
  Array.from({ length: 40 }, () =>
    Array.from({ length: arity }, () => {
      const r = random();
      return r < 0.15 ? null : r < 0.2 ? 2147483647 : Math.floor(random() * 5) - 1;
    }),
  );

test('a step does what its contract says, row by row', () => {
  const random = xorshift(SEED);
  let oks = 0;
  let errs = 0;
  for (let k = 0; k < RUNS; k++) {
    const m = randomMfp(random, 3);
    const rows = randomRows(random, 3);
    const b = batchOf(rows, 3);
    const want = reference(m, rows, b);
    const got = evaluate(
      m,
      b,
      m.project.map(() => INT4),
    );
    assert.deepEqual(got, want, `SEED=${SEED} run ${k}: ${JSON.stringify(m)}`);
    oks += want.oks.length;
    errs += want.errs.length;
  }
  assert.ok(oks > RUNS && errs > RUNS, `rows that pass (${oks}) and that fail (${errs}) both occur`);
});

test('composing, pruning and narrowing keep the rows that do not fail', () => {
  const random = xorshift(SEED + 1);
  for (let k = 0; k < RUNS; k++) {
    const first = randomMfp(random, 3);
    const second = randomMfp(random, first.project.length);
    const rows = randomRows(random, 3);
    const b = batchOf(rows, 3);
    const types = second.project.map(() => INT4);
    const both = evaluate(composeMfp(first, second), b, types);
    const one = compileMfp(first, CONTEXT)(b);
    const two = one.oks === null ? { oks: [] } : evaluate(second, one.oks, types);
    // A predicate that moves ahead may drop a row before it fails: what passes is the same.
    assert.deepEqual(both.oks, two.oks, `SEED=${SEED} run ${k}`);
    const pruned = pruneMfp(composeMfp(first, second));
    assert.deepEqual(evaluate(pruned, b, types), both);
    const used = inputsOf(pruned);
    const narrow = { ...b, columns: used.map((c) => b.columns[c]!) };
    assert.deepEqual(evaluate(narrowMfp(pruned, used), narrow, types), both);
  }
});

test('nothing filtered out: the columns of the projection are the input’s own', () => {
  const b = batchOf(
    [
      [1, 2],
      [3, 4],
    ],
    2,
  );
  const m = projectMfp(filterMfp(identityMfp(2), [bin('gt', col(0), int(0))]), [1, 0, 1]);
  const { oks, errs } = compileMfp(m, CONTEXT)(b);
  assert.equal(errs, null);
  assert.deepEqual([oks!.columns[0] === b.columns[1], oks!.columns[1] === b.columns[0]], [true, true]);
  assert.equal(oks!.times, b.times);
  assert.equal(compileMfp(identityMfp(2), CONTEXT)(b).oks, b);
});

test('one time and one diff for all rows stay one', () => {
  const b: Batch = { ...batchOf([[1], [2], [3]], 1), times: 7, diffs: 1 };
  const { oks } = compileMfp(filterMfp(identityMfp(1), [bin('gt', col(0), int(1))]), CONTEXT)(b);
  assert.deepEqual([oks!.length, oks!.times, oks!.diffs], [2, 7, 1]);
});

test('a filtered row does not run the maps after it', () => {
  const m: Mfp = {
    inputArity: 1,
    map: [bin('div', int(10), col(0))],
    filter: [bin('ne', col(0), int(0))],
    project: [1],
  };
  const b = batchOf([[0], [5]], 1);
  assert.deepEqual(evaluate(m, b, [INT4]), { oks: [{ row: [2], time: 101, diff: 1 }], errs: [] });
});

test('building from expressions shares columns instead of mapping them', () => {
  const m = mfpOfExpressions(2, [col(1), bin('add', col(0), col(1))]);
  assert.deepEqual([m.map.length, m.project], [1, [1, 2]]);
  assert.deepEqual(mapMfp(m, [col(0)]).project, [1, 2, 1]);
});

test('a constant predicate that is not TRUE leaves nothing', () => {
  const b = batchOf([[1]], 1);
  for (const value of [false, null])
    assert.deepEqual(
      compileMfp(filterMfp(identityMfp(1), [{ kind: 'literal', value, type: BOOL }]), CONTEXT)(b),
      { oks: null, errs: null },
    );
});
