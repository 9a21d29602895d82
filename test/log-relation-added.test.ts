/**
 * Builtins are derived at start and never stored: a data directory that was written without a log relation opens with it, and then
 * without it again. A test on an empty catalog alone could not see this.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LogRelation } from '../packages/tidemark/src/introspection/log-relation.ts';
import { LOG_NAMES, LOG_RELATIONS, type LogName } from '../packages/tidemark/src/introspection/relations.ts';
import { type Database, open } from '../packages/tidemark/src/server/database.ts';

const NAME = 'mz_added_per_worker' as LogName;
const ADDED: LogRelation = {
  number: 999,
  oid: 20999,
  doc: 'a relation that only this test knows',
  columns: [
    { name: 'export_id', type: 'text', nullable: false, doc: 'the exported collection' },
    { name: 'size', type: 'uint8', nullable: true, doc: 'a measure' },
  ],
  key: [0],
};

const COUNTS = {
  objects: `SELECT count(*) AS n FROM mz_catalog.mz_objects WHERE name = '${NAME}'`,
  sources: `SELECT count(*) AS n FROM mz_catalog.mz_sources WHERE name = '${NAME}' AND type = 'log'`,
  columns: `SELECT count(*) AS n FROM mz_catalog.mz_columns c, mz_catalog.mz_objects o
            WHERE c.id = o.id AND o.name = '${NAME}'`,
  indexes: `SELECT count(*) AS n FROM mz_catalog.mz_indexes i, mz_catalog.mz_objects o
            WHERE i.on_id = o.id AND o.name = '${NAME}'`,
};

async function counts(db: Database): Promise<Record<string, number>> {
  const out: Record<string, number> = {};
  for (const [what, sql] of Object.entries(COUNTS)) out[what] = Number((await db.query(sql)).rows[0]!['n']);
  return out;
}

test('a log relation that is new appears in every relation of the catalog, and goes without a trace', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'added-log-'));
  const dataDir = join(dir, 'data');
  const relations = LOG_RELATIONS as unknown as Record<string, LogRelation>;
  try {
    const none = { objects: 0, sources: 0, columns: 0, indexes: 0 };
    let db = await open({ dataDir, workers: 'inline' });
    await db.exec("CREATE CLUSTER second (SIZE '1'); CREATE TABLE t (a int); INSERT INTO t VALUES (1)");
    assert.deepEqual(await counts(db), none);
    await db.close();

    relations[NAME] = ADDED;
    LOG_NAMES.push(NAME);
    db = await open({ dataDir, workers: 'inline' });
    const clusters = (await db.query('SHOW CLUSTERS')).rows.length;
    assert.equal(clusters, 3);
    assert.deepEqual(await counts(db), { objects: 1, sources: 1, columns: 2, indexes: clusters });
    assert.deepEqual((await db.query(`SELECT * FROM mz_introspection.${NAME}`)).rows, []);
    assert.deepEqual((await db.query('SELECT a FROM t')).rows, [{ a: 1 }]);
    await db.close();

    delete relations[NAME];
    LOG_NAMES.pop();
    db = await open({ dataDir, workers: 'inline' });
    assert.deepEqual(await counts(db), none);
    assert.deepEqual((await db.query('SELECT a FROM t')).rows, [{ a: 1 }]);
    await db.close();
  } finally {
    delete relations[NAME];
    await rm(dir, { recursive: true, force: true });
  }
});
