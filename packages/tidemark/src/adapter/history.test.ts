import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../base/clock.ts';
import type { ClusterId, GlobalId, ReplicaId } from '../base/ids.ts';
import type { LifeAck } from '../controller/episodes.ts';
import { History, type HistoryTable } from './history.ts';
import type { HistoryChange } from './history-writer.ts';

const REPLICA = { clusterId: 'u1' as ClusterId, replicaId: 'u5' as ReplicaId };

test('lives are acknowledged once they are durable; those that a replica forgot are told in its status', async () => {
  const rows = new Map<string, unknown>();
  const acks: LifeAck[] = [];
  const history = new History({
    generation: 1,
    clock: { nowMs: () => 1000, monotonicNs: () => 0 },
    timers: { after: () => () => undefined },
    logger: silentLogger,
    read: () => Promise.resolve([]),
    commit: (changes: readonly HistoryChange<string>[]) => {
      for (const c of changes) rows.set(`${c.table} ${c.key}`, c.row);
      return Promise.resolve();
    },
    acknowledge: (ack) => {
      assert.ok([...rows.keys()].some((k) => k.startsWith('mz_object_hydration_history')));
      acks.push(ack);
    },
    retentionMs: () => 0,
  });
  history.receive({ kind: 'connected', ...REPLICA, incarnation: 'a', workers: 1, at: 1 });
  const stage = {
    kind: 'lifecycle',
    worker: 0,
    id: 'u9' as GlobalId,
    reason: null,
    asOf: 1,
    life: 4,
  } as const;
  history.receive({
    kind: 'reported',
    replicaId: REPLICA.replicaId,
    writes: undefined,
    at: 20,
    response: {
      kind: 'lifeClosed',
      worker: 0,
      id: 'u9' as GlobalId,
      sequence: 12,
      life: 4,
      installedAt: 10,
      asOf: 1,
      peakBytes: 7,
      cut: 3,
      stages: [{ ...stage, stage: 'installed', occurredAt: 10 }],
    },
  });
  assert.deepEqual([rows.size, acks], [0, []], 'a generation that stands by writes nothing');
  await history.lead();
  await history.close();
  assert.deepEqual(acks, [{ replicaId: 'u5', worker: 0, sequence: 12 }]);
  const object = rows.get('mz_object_hydration_history u5/u9/10') as unknown[];
  assert.deepEqual([object[9], object[15]], ['dropped', 7n]);
  const statuses = [...rows].filter(([k]) => k.startsWith('mz_cluster_replica_status_history'));
  assert.deepEqual(
    statuses.map(([, row]) => (row as unknown[]).slice(2, 4)),
    [
      ['online', null],
      ['online', 'worker 0 forgot 3 ended lives that no history holds'],
    ],
  );
});

test('what is older than the retention goes: of a replica that was dropped all of it, of another one all but what tells who runs it', async () => {
  const rows = new Map<string, HistoryChange<HistoryTable>>();
  const clock = { ms: 1000 };
  const started = async (): Promise<History> => {
    const history = new History({
      generation: 1,
      clock: { nowMs: () => clock.ms, monotonicNs: () => clock.ms * 1e6 },
      timers: { after: () => () => undefined },
      logger: silentLogger,
      read: (table) =>
        Promise.resolve([...rows.values()].flatMap((c) => (c.table === table ? [c.row!] : []))),
      commit: (changes) => {
        for (const c of changes)
          if (c.row === null) rows.delete(`${c.table} ${c.key}`);
          else rows.set(`${c.table} ${c.key}`, c);
        return Promise.resolve();
      },
      acknowledge: () => undefined,
      retentionMs: () => 100_000,
    });
    await history.lead();
    return history;
  };
  const of = (table: HistoryTable, ...columns: number[]): unknown =>
    [...rows.values()].filter((c) => c.table === table).map(({ row }) => columns.map((k) => row![k]));
  const gone = { ...REPLICA, replicaId: 'u6' as ReplicaId };
  const connected = { kind: 'connected', incarnation: 'a', workers: 1 } as const;
  const first = await started();
  first.receive({ kind: 'created', clusterId: REPLICA.clusterId, objectId: 'u9' as GlobalId, at: 1 });
  for (const r of [REPLICA, gone]) for (const at of [1, 2]) first.receive({ ...connected, ...r, at });
  first.receive({ kind: 'disconnected', replicaId: REPLICA.replicaId, reason: 'lost', at: 3 });
  first.receive({ kind: 'replicaDropped', replicaId: gone.replicaId, at: 3 });
  clock.ms += 200_000;
  first.maintain();
  await first.close();
  assert.deepEqual(of('mz_cluster_replica_status_history', 0, 3, 5), [
    ['u5', null, 'a'],
    ['u5', 'lost', null],
  ]);
  const second = await started();
  second.receive({ kind: 'created', clusterId: REPLICA.clusterId, objectId: 'u9' as GlobalId, at: 4 });
  second.receive({ ...connected, ...REPLICA, at: 5 });
  await second.close();
  assert.deepEqual(of('mz_replica_hydration_history', 1, 7), [['u5', 'hydrating']], 'it goes on');
});
