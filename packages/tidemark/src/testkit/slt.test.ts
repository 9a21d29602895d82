import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TextRow } from './engine.ts';
import { runSlt, type SltMode, type SltTarget } from './slt.ts';
import { parseSlt, printSlt, type SltRun } from './slt-file.ts';

const TEXT = `# One row.
table t (a int4, b numeric(5, 2))
1, 'x, (y'
2, NULL

# Read in every way.
query
SELECT a, b FROM t
----
1 | (empty)
2 | NULL

section

statement
DELETE FROM t
----
error 42P01: relation "t" does not exist
`;

test('a file is printed as it was read, expected blocks apart', () => {
  const file = parseSlt(TEXT);
  assert.equal(printSlt(file, new Map()), TEXT);
  const query = file.sections[0]!.records[1] as SltRun;
  assert.equal(query.line, 7);
  assert.match(printSlt(file, new Map([[query, ['9 | 9']]])), /----\n9 \| 9\n\nsection/);
});

test('a line that begins with no keyword, or with words that the keyword does not know, is refused', () => {
  assert.throws(() => parseSlt('table t\n'), /reads: table name/);
  assert.throws(() => parseSlt('select 1\n'), /line 1 begins with a keyword/);
  assert.throws(() => parseSlt('\nquery sorted\nSELECT 1\n'), /line 2: query knows the word sorted/);
});

/** Answers reads of `from` with rows, everything else with a tag. */
function target(rowsOf: (from: string) => readonly TextRow[]): SltTarget & { readonly log: string[] } {
  const log: string[] = [];
  return {
    log,
    arity: () => 2,
    exec: (sql) => {
      log.push(sql);
      const from = /^SELECT .* FROM (\w+)$/.exec(sql)?.[1];
      if (sql.startsWith('SELECT count')) return Promise.resolve({ tag: '', rows: [['1']] });
      if (sql === 'DELETE FROM t')
        return Promise.reject(Object.assign(new Error('relation "t" does not exist'), { code: '42P01' }));
      return Promise.resolve({ tag: 'OK', rows: from === undefined ? [] : rowsOf(from) });
    },
  };
}
const RIGHT: readonly TextRow[] = [
  ['2', null],
  ['1', ''],
];
const failuresOf = async (mode: SltMode, rowsOf: (from: string) => readonly TextRow[], seed = 1) => {
  const { failures } = await runSlt(parseSlt(TEXT), target(rowsOf), { mode, seed });
  return failures.map((f) => f.message.split('\n')[0]);
};

test('right answers pass, in any order of rows', async () => {
  for (const mode of ['batch', 'incremental', 'reference'] as const)
    assert.deepEqual(await failuresOf(mode, () => RIGHT), []);
});

test('each way of reading is compared with the file', async () => {
  for (const way of ['view', 'materialized', 'indexed']) {
    const wrong = (from: string) => (from.startsWith(`${way}_`) ? [] : RIGHT);
    assert.deepEqual(await failuresOf('batch', wrong), [`batch, ${way}`]);
  }
  assert.equal((await failuresOf('batch', () => [['2', null]])).length, 4);
  assert.deepEqual(await failuresOf('reference', () => []), ['reference, direct']);
});

test('while data comes in, views are compared with direct reads', async () => {
  const seen = new Set<string>();
  for (let seed = 1; seed < 20; seed++)
    for (const f of await failuresOf('incremental', (from) => (from === 't' ? RIGHT : []), seed))
      seen.add(f!);
  assert.ok(seen.has('while data comes in, materialized against direct'));
});

test('the incremental run creates views before data, the batch after', async () => {
  for (const [mode, first] of [
    ['incremental', 'CREATE VIEW'],
    ['batch', 'INSERT INTO'],
  ] as const) {
    const t = target(() => RIGHT);
    await runSlt(parseSlt(TEXT), t, { mode, seed: 3 });
    const at = t.log.find((sql) => /^(CREATE VIEW|INSERT INTO)/.test(sql))!;
    assert.ok(at.startsWith(first), at);
  }
});
