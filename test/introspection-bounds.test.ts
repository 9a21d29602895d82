/**
 * What introspection holds grows with what there is to tell, and with nothing else: the arrangements of the log relations, and of the
 * views over them that every replica keeps, right after a burst of new objects. Cannot see a saturated worker: that is said of
 * arrangements (`operators/arrange.test.ts`) and of counts (`introspection/compute-log.test.ts`) one by one.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest, type TestEnvironment } from '../packages/tidemark/src/testkit/simulator.ts';

const OBJECTS = 24;
/** Records for each row that lives: what `spine.ts` promises once since has passed, and half as much again for what the last intervals brought. */
const FACTOR = 12;

interface Held {
  readonly records: number;
  readonly live: number;
}

/** What the dataflows hold that keep these relations, and the rows that live in the relations. */
async function held(t: TestEnvironment, dataflows: string, type: 'source' | 'view'): Promise<Held> {
  const [sizes] = await t.query(
    `SELECT sum(records)::int8 AS n FROM mz_introspection.mz_records_per_dataflow WHERE name ${dataflows}`,
  );
  const relations = await t.query(
    `SELECT r.name FROM mz_catalog.mz_indexes i JOIN mz_catalog.mz_clusters c ON c.id = i.cluster_id AND c.name = 'many'
    JOIN mz_catalog.mz_relations r ON r.id = i.on_id WHERE i.id LIKE 'si%' AND r.type = '${type}'`,
  );
  let live = 0;
  for (const { name } of relations) {
    const [row] = await t.query(
      `SELECT count(*) AS n FROM (SELECT DISTINCT * FROM mz_introspection.${name}) d`,
    );
    live += Number(row!['n']);
  }
  return { records: Number(sizes!['n']), live };
}

test('after a burst of new objects the log and the views over it hold a small multiple of what lives in them', async () => {
  const t = await openTest({ seed: 1 });
  await t.exec("CREATE CLUSTER many (SIZE '2', INTROSPECTION DEBUGGING); SET cluster = many");
  await t.exec('ALTER SYSTEM SET compute_hydration_concurrency = 200');
  await t.exec(
    'CREATE TABLE t (a int, b int); INSERT INTO t SELECT x, x % 10 FROM generate_series(1, 50) AS x',
  );
  await t.advance(3000);
  const all = async (): Promise<Record<string, Held>> => ({
    logs: await held(t, "= 'Introspection'", 'source'),
    views: await held(t, "LIKE 'index mz_%'", 'view'),
  });
  const before = await all();
  for (let i = 0; i < OBJECTS; i++)
    await t.exec(
      `CREATE VIEW v${i} AS SELECT b, count(*) AS n FROM t WHERE a > ${i} GROUP BY b; CREATE INDEX i${i} ON v${i} (b)`,
    );
  await t.advance(4000);
  const after = await all();
  for (const [what, { records, live }] of Object.entries(after)) {
    const [more, rows] = [records - before[what]!.records, live - before[what]!.live];
    assert.ok(rows > 2 * OBJECTS, `${rows} more rows of ${what}`);
    assert.ok(more <= FACTOR * rows, `${what}: ${more} more records of ${rows} more rows`);
  }
  await t.close();
});
