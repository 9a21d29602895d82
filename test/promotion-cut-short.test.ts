/**
 * A promotion is cut short behind each of its writes in turn, and another process starts over the same data, as a leader or standing by and
 * promoted. Whatever was fenced by then, it leads, the old leader does not, every view is written and follows, and no acknowledged row is
 * lost or there twice. On virtual time; what real processes add is in `cutover.test.ts`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest, type Started, type TestEnvironment } from '../packages/tidemark/src/testkit/simulator.ts';

const STAGES = 'mz_introspection.mz_compute_lifecycle_events_per_worker';

/** Each way in which a view has a shard, and what it has of the rows of `t`. */
const VIEWS: Readonly<Record<string, (rows: readonly number[]) => readonly number[]>> = {
  plain: (rows) => rows.map((a) => a * 10),
  over: (rows) => rows.map((a) => a * 10 + 1),
  replaced: (rows) => rows.map((a) => -a),
  to_replace: (rows) => rows,
};

const SETUP = `CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2);
  CREATE MATERIALIZED VIEW plain AS SELECT a * 10 AS x FROM t;
  CREATE MATERIALIZED VIEW over AS SELECT x + 1 AS x FROM plain;
  CREATE MATERIALIZED VIEW replaced AS SELECT a AS x FROM t;
  CREATE REPLACEMENT MATERIALIZED VIEW r FOR replaced AS SELECT -a AS x FROM t;
  CREATE MATERIALIZED VIEW to_replace AS SELECT a AS x FROM t;
  CREATE REPLACEMENT MATERIALIZED VIEW waits FOR to_replace AS SELECT a * 2 AS x FROM t;
  CREATE INDEX i ON t (a)`;

interface Write {
  readonly value: number;
  readonly statement: Started;
}

const insert = (t: TestEnvironment, value: number): Write => ({
  value,
  statement: t.start(`INSERT INTO t VALUES (${value})`),
});

const isAcknowledged = ({ statement }: Write): Promise<boolean> =>
  statement.result().then(
    () => true,
    () => false,
  );

const numbers = async (t: TestEnvironment, sql: string): Promise<readonly number[]> =>
  (await t.query(sql)).map((r) => r['x'] as number);

/** Every view of the leader: as complete as its table, and through all of its stages. */
async function checkViews(t: TestEnvironment, stoodBy: boolean, workers: number): Promise<void> {
  const rows = await numbers(t, 'SELECT a AS x FROM t');
  const names = Object.keys(VIEWS);
  const all = names.map((name) => `SELECT '${name}' AS name, x FROM ${name}`).join(' UNION ALL ');
  const found = await t.query(`${all} ORDER BY name, x`);
  for (const [name, of] of Object.entries(VIEWS)) {
    const expected = [...of(rows)].sort((a, b) => a - b);
    assert.deepEqual(
      found.filter((r) => r['name'] === name).map((r) => r['x']),
      expected,
      name,
    );
  }
  await t.advance(2500);
  const stages = new Map<unknown, Record<string, number>>();
  for (const r of await t.query(
    `SELECT export_id, event, count(*) AS n FROM ${STAGES} GROUP BY export_id, event`,
  )) {
    const of = stages.get(r['export_id']) ?? {};
    stages.set(r['export_id'], { ...of, [String(r['event'])]: Number(r['n']) });
  }
  const computed = { installed: workers, started: workers, hydrated: workers };
  const blocked = { ...computed, write_blocked: 1 };
  const written = stoodBy ? { ...blocked, write_unblocked: 1, written: 1 } : { ...computed, written: 1 };
  for (const name of names)
    assert.deepEqual(stages.get(t.env.catalog.exportOf(t.id(name))), written, `stages of ${name}`);
  assert.deepEqual(stages.get(t.id('waits')), blocked);
  assert.deepEqual(stages.get(t.id('i')), computed);
}

/** Gives whether the promotion had that many writes. */
async function cutShort(writes: number, next: 'leads' | 'stands by'): Promise<boolean> {
  const workers = next === 'leads' ? 1 + (writes % 2) : 2 - (writes % 2);
  const old = await openTest({ seed: writes + 1, workers });
  await old.exec(SETUP);
  await old.advance(2000);
  await old.exec('ALTER MATERIALIZED VIEW replaced APPLY REPLACEMENT r');
  const process = await old.standby({ workers });
  await process.caughtUp();
  const under = [insert(old, 3), insert(old, 4)];
  const isCut = await process.promoteUntil(writes);
  const late = insert(old, 5);
  const acknowledged = [1, 2];
  for (const w of [...under, late]) if (await isAcknowledged(w)) acknowledged.push(w.value);
  assert.equal(old.fenced === null, acknowledged.includes(5), 'the old leader goes on, or was told to stop');
  const claimed = writes > 0;
  await process.kill(claimed ? next : 'stands by');
  if (process.status.role !== 'leader') {
    await process.caughtUp();
    await process.promote();
  }
  const rows = await numbers(process, 'SELECT a AS x FROM t');
  assert.equal(new Set(rows).size, rows.length, 'no row is there twice');
  assert.deepEqual(
    acknowledged.filter((a) => !rows.includes(a)),
    [],
    'no acknowledged row is lost',
  );
  assert.equal(await isAcknowledged(insert(old, 6)), false, 'the old leader writes no more');
  assert.notEqual(old.fenced, null);
  await process.exec('INSERT INTO t VALUES (7)');
  const stoodBy = !claimed || next === 'stands by';
  await checkViews(process, stoodBy, workers);
  assert.equal(process.fenced, null);
  assert.deepEqual(await numbers(process, 'SELECT a AS x FROM t WHERE a > 5'), [7]);
  await process.exec('ALTER MATERIALIZED VIEW to_replace APPLY REPLACEMENT waits; INSERT INTO t VALUES (8)');
  assert.deepEqual(await numbers(process, 'SELECT x FROM to_replace WHERE x > 12'), [14, 16]);
  await old.close();
  await process.exec('DROP TABLE t CASCADE');
  await process.advance(3000);
  assert.deepEqual(await process.orphans(), []);
  await process.close();
  return isCut;
}

for (const [next, step] of [
  ['leads', 1],
  // What follows is a promotion as any other, of whatever was found.
  ['stands by', 3],
] as const)
  test(`a promotion cut short behind ${step === 1 ? 'each' : 'every third'} of its writes; a process that ${next} is started, and goes on`, async () => {
    let writes = 0;
    for (let isCut = true; isCut; writes += step)
      isCut = await cutShort(writes, next).catch((error: unknown) => {
        throw new Error(`cut behind write ${writes}: ${(error as Error).message}`, { cause: error });
      });
    assert.ok(writes > 20, `it had ${writes} writes`);
  });
