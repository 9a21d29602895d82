/** What the package exports, types included: a name is added here by decision, not by accident. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';

const INDEX = join(import.meta.dirname, '../packages/tidemark/src/index.ts');

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

/** More than a reader keeps in mind. */
const MOST_NAMES = 40;

test('the package exports these names and no other', () => {
  const source = ts.createSourceFile(INDEX, readFileSync(INDEX, 'utf8'), ts.ScriptTarget.Latest, true);
  const names = source.statements.flatMap((statement) => {
    assert.ok(ts.isExportDeclaration(statement), `not a re-export: ${statement.getText()}`);
    const clause = statement.exportClause;
    assert.ok(clause !== undefined && ts.isNamedExports(clause), `names nothing: ${statement.getText()}`);
    return clause.elements.map((element) => element.name.text);
  });
  assert.deepEqual(names.sort(), [...NAMES].sort());
  assert.ok(names.length <= MOST_NAMES);
});
