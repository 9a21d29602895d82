/** `db.ready` ends: with what is missing, when that is dropped, and when the database is closed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Database, NotReadyError } from '../packages/tidemark/src/server/database.ts';
import { openTest } from '../packages/tidemark/src/testkit/simulator.ts';

/** A database over a simulated environment with a view that cannot read its input. */
async function stuck() {
  const t = await openTest({ workers: 2 });
  await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
  const release = t.holdReads('t');
  await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a FROM t');
  const db = new Database({ env: t.env, close: () => t.env.close() });
  const outcome = (timeoutMs?: number): { readonly done: () => string | undefined } => {
    let done: string | undefined;
    db.ready(timeoutMs === undefined ? {} : { timeoutMs }).then(
      () => {
        done = 'ready';
      },
      (e: unknown) => {
        assert.ok(e instanceof NotReadyError);
        done = e.message;
      },
    );
    return { done: () => done };
  };
  return { t, db, release, outcome };
}

test('ready waits until the last object is hydrated, and names what is missing when time is up', async () => {
  const { t, release, outcome } = await stuck();
  const [patient, hasty] = [outcome(), outcome(3000)];
  await t.advance(2000);
  assert.deepEqual([patient.done(), hasty.done()], [undefined, undefined]);
  await t.advance(2000);
  assert.match(hasty.done()!, /not ready: v on replica quickstart\.r1: .*computing/);
  release();
  await t.advance(1000);
  assert.equal(patient.done(), 'ready');
  await t.close();
});

test('ready does not wait for what was dropped', async () => {
  const { t, outcome } = await stuck();
  const waiting = outcome();
  await t.advance(2000);
  assert.equal(waiting.done(), undefined);
  await t.exec('DROP MATERIALIZED VIEW v');
  await t.advance(10);
  assert.equal(waiting.done(), 'ready');
  await t.close();
});

test('ready ends with the database', async () => {
  const { t, db, outcome } = await stuck();
  const waiting = outcome();
  await t.advance(100);
  await t.settle(db.close());
  await t.run();
  assert.match(waiting.done()!, /not ready: v/);
});
