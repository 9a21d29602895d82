import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { encodeEvalError } from '../expr/eval-error.ts';
import { compileMfp } from '../expr/mfp.ts';
import { identityMfp } from '../expr/scalar.ts';
import { contents, batchOf as rowsOf, updatesOf } from '../operators/test-cluster.ts';
import { type Batch, emptyBatch } from '../repr/batch.ts';
import { ColumnBuilder } from '../repr/column.ts';
import { Fuel } from '../trace/fuel.ts';
import { type ReadResult, SnapshotRead } from './snapshot-read.ts';

const KINDS = ['i32'] as const;
type Update = readonly [value: number, time: number, diff: number];

const ints = (updates: readonly Update[]): Batch =>
  updates.length === 0
    ? emptyBatch(KINDS)
    : rowsOf(
        KINDS,
        updates.map(([v, time, diff]) => ({ row: [v], time, diff })),
      );

function errors(updates: readonly Update[]): Batch {
  const b = new ColumnBuilder('bytes', updates.length);
  for (const [v] of updates)
    b.pushBytes(encodeEvalError({ code: 'division_by_zero', message: `division by zero ${v}` }));
  return {
    length: updates.length,
    columns: [b.finish()],
    times: Float64Array.from(updates, (u) => u[1]),
    diffs: Float64Array.from(updates, (u) => u[2]),
  };
}

/** Reads as of 5, in steps of little fuel. */
function read(
  oks: readonly (readonly Update[])[],
  errs: readonly Update[] = [],
  maxResultSize = 1e9,
  wanted?: number,
): ReadResult {
  const r = new SnapshotRead({
    asOf: 5,
    evaluate: compileMfp(identityMfp(1), { timeZone: 'UTC' }),
    kinds: KINDS,
    objectId: 'u7',
    maxResultSize,
    ...(wanted !== undefined && { wanted }),
  });
  for (const batch of oks) r.oks(ints(batch));
  r.errs(errors(errs));
  while (!r.finish(new Fuel(10)));
  return r.result;
}

test('copies that the limit cuts do not count towards the size of the result', () => {
  const billion = [[[7, 1, 1e9]]] as const;
  assert.equal(read(billion, [], 1e6).kind, 'error');
  assert.equal(read(billion, [], 1e6, 10).kind, 'rows');
  assert.equal(read(billion, [], 1e6, 1e7).kind, 'error');
});

test('the rows are the sums up to the as-of, whatever batches they came in', () => {
  const update = fc.tuple(fc.nat(6), fc.nat(9), fc.constantFrom(-1, 1, 2));
  fc.assert(
    fc.property(fc.array(fc.array(update, { maxLength: 10 }), { maxLength: 6 }), (batches) => {
      const expected = contents(
        batches.flat().map(([v, time, diff]) => ({ row: [v], time, diff })),
        5,
      );
      const result = read(batches);
      if (expected.some(([, n]) => n < 0)) {
        assert.equal(result.kind, 'error');
        assert.match((result as { message: string }).message, /u7 has a negative number/);
      } else {
        assert.equal(result.kind, 'rows');
        assert.deepEqual(contents(updatesOf((result as { batch: Batch }).batch), 9), expected);
      }
    }),
  );
});

test('an error is the answer while its count is positive, and none when it is gone', () => {
  const ok: Update = [1, 1, 1];
  const result = read([[ok]], [[0, 1, 1]]);
  assert.deepEqual(result, { kind: 'error', code: 'division_by_zero', message: 'division by zero 0' });
  assert.equal(
    read(
      [[ok]],
      [
        [0, 1, 1],
        [0, 3, -1],
      ],
    ).kind,
    'rows',
    'it healed before the as-of',
  );
  assert.equal(read([[ok]], [[0, 9, 1]]).kind, 'rows', 'it comes after the as-of');
});

test('an error of a row wins over rows that do not add up', () => {
  const result = read([[[1, 1, -1]]], [[0, 1, 1]]);
  assert.equal((result as { code: string }).code, 'division_by_zero');
});

test('a negative count of errors names the collection too', () => {
  assert.match((read([[]], [[0, 1, -1]]) as { message: string }).message, /u7/);
});

test('the size is checked on multiplicities, before anything is expanded', () => {
  const result = read([[[1, 1, 1_000_000]]], [], 1_000_000);
  assert.equal((result as { code: string }).code, 'program_limit_exceeded');
  assert.equal(read([[[1, 1, 1_000]]], [], 1_000_000).kind, 'rows');
});
