/** Documents that are written from data say what the data says: otherwise `npm run docs` was forgotten. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { LOG_NAMES } from '../packages/tidemark/src/introspection/relations.ts';
import { RELATIONS_DOCUMENT, relationDocs } from '../scripts/checks/relation-docs.ts';

test('docs/introspection.md is that of the relations', () => {
  const text = readFileSync(new URL(`../${RELATIONS_DOCUMENT}`, import.meta.url), 'utf8');
  assert.equal(text, relationDocs(), 'run npm run docs');
  for (const name of LOG_NAMES) assert.ok(text.includes(`## ${name}\n`));
});
