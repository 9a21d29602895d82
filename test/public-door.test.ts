/** What the package exports, types included: a name is added here by decision, not by accident. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';

const NAMES: readonly string[] = [
  'Database',
  'Field',
  'LeaderStatus',
  'LifecycleEventInfo',
  'Logger',
  'Missing',
  'MissingReason',
  'NotCaughtUp',
  'NotReadyError',
  'OpenOptions',
  'QueryResult',
  'SqlError',
  'open',
];

const TESTKIT_NAMES: readonly string[] = [
  'CrashPoint',
  'OpenTestOptions',
  'Release',
  'Started',
  'TestEnvironment',
  'openTest',
];

/** More than a reader keeps in mind. */
const MOST_NAMES = 40;

function exported(door: string): readonly string[] {
  const index = join(import.meta.dirname, '../packages/tidemark/src', door);
  const source = ts.createSourceFile(index, readFileSync(index, 'utf8'), ts.ScriptTarget.Latest, true);
  return source.statements.flatMap((statement) => {
    assert.ok(ts.isExportDeclaration(statement), `not a re-export: ${statement.getText()}`);
    const clause = statement.exportClause;
    assert.ok(clause !== undefined && ts.isNamedExports(clause), `names nothing: ${statement.getText()}`);
    return clause.elements.map((element) => element.name.text);
  });
}

test('the package exports these names and no other', () => {
  assert.deepEqual([...exported('index.ts')].sort(), [...NAMES].sort());
  assert.ok(NAMES.length <= MOST_NAMES);
});

test('so does the test kit', () => {
  assert.deepEqual([...exported('testkit/index.ts')].sort(), [...TESTKIT_NAMES].sort());
});
