/** Readiness that is not fooled by an instant, in the simulator. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { awaitReadiness, probeReadiness, readiness } from '../packages/tidemark/src/adapter/readiness.ts';
import { statusReport } from '../packages/tidemark/src/adapter/status.ts';
import { blockers, micros, missing, replicas, short, watched } from './support/hydration-queries.ts';
import { onWorkers } from './support/on-workers.ts';

onWorkers(
  'L13: a cluster without replicas keeps nobody from being ready, and says that it has none',
  (workers) =>
    watched({ workers }, async (t) => {
      await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
      await t.exec('CREATE CLUSTER empty REPLICAS ()');
      const made = micros(t);
      await t.advance(1000);
      await t.exec('CREATE INDEX j IN CLUSTER empty ON t (a)');
      await t.advance(1000);
      assert.equal(readiness(t.env).ready, true);
      assert.deepEqual(readiness(t.env).clustersWithoutReplica, ['empty']);
      assert.equal(readiness(t.env, { cluster: 'empty' }).ready, true);
      assert.partialDeepStrictEqual(await replicas(t, 'empty'), [
        { replica_id: null, hydrated: false, reason: 'no_replica', objects: 1n, hydrated_objects: 0n },
      ]);
      const [b] = await blockers(t, "b.reason = 'no_replica'");
      assert.deepEqual(short([b!]), [['j', null, 'no_replica', null]]);
      assert.ok(Number(b!['since']) >= made + 900_000, 'since the index is there');
      await t.exec('DROP INDEX j');
      const [none] = await blockers(t, "b.reason = 'no_replica'");
      assert.partialDeepStrictEqual(none, { name: null, replica_id: null, stage: null });
      assert.ok(Number(none!['since']) <= made, 'since the cluster is there');
      await t.exec('DROP CLUSTER empty');
      assert.deepEqual(await blockers(t), []);
      assert.equal((await t.query('SELECT * FROM mz_internal.mz_cluster_replica_hydration')).length, 1);
    }),
);

test('a cluster that loses its last replica: its objects have none, since then', () =>
  watched({ workers: 1 }, async (t) => {
    await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
    await t.advance(5000);
    const dropped = micros(t);
    await t.exec('ALTER CLUSTER quickstart SET (REPLICATION FACTOR 0)');
    const [b] = await blockers(t);
    assert.partialDeepStrictEqual(b, { name: 'i', replica_id: null, stage: null, reason: 'no_replica' });
    assert.ok(Number(b!['since']) >= dropped);
    await t.exec('ALTER CLUSTER quickstart SET (REPLICATION FACTOR 1)');
    await t.advance(1000);
    assert.deepEqual(await blockers(t), []);
    assert.equal(readiness(t.env).ready, true, 'another replica, which nobody saw go');
  }));

onWorkers('L22: whoever asks for readiness when all is there already is answered at once', (workers) =>
  watched({ workers }, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE INDEX i ON t (a)');
    await t.advance(1000);
    const before = t.time.nowMs();
    assert.equal((await t.settle(awaitReadiness(t.env, {}))).ready, true);
    assert.ok(t.time.nowMs() - before < 300);
    // In the turn of the commit, with nobody listening before.
    await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a FROM t');
    assert.equal((await t.settle(awaitReadiness(t.env, { timeoutMs: 5000 }))).ready, true);
  }),
);

test('a clean first start is ready at once; after a loss only when it was hydrated for a while', () =>
  watched({ workers: 2 }, async (t) => {
    await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
    await t.advance(1000);
    assert.equal(readiness(t.env, { stableForMs: 60_000 }).ready, true, 'never lost: nothing to wait for');
    await t.crash();
    assert.deepEqual(missing(t), ['i on replica quickstart.r1: hydrated, replica_lost']);
    await t.connected();
    const waiting = awaitReadiness(t.env, {});
    await t.advance(5000);
    assert.deepEqual(missing(t), ['replica quickstart.r1: unstable']);
    assert.equal(readiness(t.env, { stableForMs: 1000 }).ready, true);
    const { details } = readiness(t.env).missing[0]!;
    assert.ok(Number(details!['left_ms']) > 4000 && Number(details!['left_ms']) <= 10_000);
    const asked = t.time.nowMs();
    assert.equal((await t.settle(waiting)).ready, true);
    const waited = t.time.nowMs() - asked;
    assert.ok(waited > 4000 && waited <= 5500, `ten seconds after it was hydrated (${waited})`);
    await t.exec('CREATE INDEX later ON t (a)');
    assert.equal(readiness(t.env).ready, false);
    await t.until(() => missing(t).every((m) => !m.startsWith('later')), 'later is hydrated');
    assert.deepEqual(missing(t), [], 'the loss is over, whatever is created now');
    assert.equal(readiness(t.env, { stableForMs: 60_000 }).missing[0]!.reason, 'unstable');
    await t.restart();
    await t.advance(1000);
    assert.equal(
      readiness(t.env, { stableForMs: 60_000 }).ready,
      true,
      'the start of a process is a clean start',
    );
  }));

test('a replica that restarts every two seconds is never ready after its first loss', () =>
  watched({ workers: 1 }, async (t) => {
    await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
    await t.advance(1000);
    assert.equal(readiness(t.env).ready, true);
    let ready = 0;
    for (let round = 0; round < 8; round++) {
      await t.crash();
      await t.connected();
      for (let i = 0; i < 20; i++) {
        await t.advance(100);
        if (readiness(t.env).ready) ready++;
      }
    }
    assert.equal(ready, 0);
    await t.advance(12_000);
    assert.equal(readiness(t.env).ready, true, 'once it stays');
  }));

test('max_lag: an object whose worker stands still falls behind, and readiness says by how much', () =>
  watched({ workers: 2 }, async (t) => {
    await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
    await t.advance(1000);
    const release = t.stallWorker(1);
    await t.advance(5000);
    assert.deepEqual(missing(t), ['i on replica quickstart.r1: hydrated, lagging']);
    const { details } = readiness(t.env).missing[0]!;
    assert.ok(Number(details!['lag_ms']) > 3000);
    assert.equal(readiness(t.env, { maxLagMs: 10_000 }).ready, true);
    assert.deepEqual(await blockers(t), [], 'hydrated once is hydrated');
    release();
    assert.equal((await t.settle(awaitReadiness(t.env, {}))).ready, true);
  }));

test('who asks while all follow a late tick gets the answer of the moment after it, by readyz and by status', () =>
  watched({ workers: 2 }, async (t) => {
    await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
    await t.advance(1000);
    const release = t.stallWorker(1);
    await t.advance(3000);
    const late = await t.settle(statusReport(t.env));
    assert.equal(late.ready, false);
    assert.partialDeepStrictEqual(late.missing, [{ name: 'i', reason: 'lagging' }]);
    const answers = [statusReport(t.env), probeReadiness(t.env, {})];
    release();
    assert.equal(readiness(t.env).ready, false, 'nothing has followed yet');
    for (const { ready } of await t.settle(Promise.all(answers))) assert.equal(ready, true);
  }));

test('a replica that cannot be connected again: away since it was lost, for the latest reason', () =>
  watched({ workers: 1 }, async (t) => {
    await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
    await t.advance(1000);
    const { id: clusterId } = t.env.catalog.cluster('quickstart')!;
    const { id } = t.replicaOf();
    await t.crash();
    const [lost] = await blockers(t);
    await t.advance(300);
    // What a failed attempt over a network tells.
    t.env.hydration.replicaStatus(clusterId, id, 'connection refused');
    const [still] = await blockers(t);
    assert.equal(still!['since'], lost!['since']);
    assert.match(String(still!['details']), /connection refused/);
    const { lossSeen } = t.env.hydration.clusters.get(clusterId)!.replicas.get(id)!;
    assert.equal(lossSeen, true);
    await t.connected();
    await t.advance(1000);
    assert.deepEqual(await blockers(t), []);
  }));
