import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GlobalId, ReplicaId } from '../base/ids.ts';
import { Progress } from './progress.ts';

const R = { id: 'u5' as ReplicaId, workers: 2 };
const U1 = 'u1' as GlobalId;

function open(): {
  readonly p: Progress;
  readonly rows: () => string[];
  readonly says: (worker: number, done: number, total: number, life?: number) => void;
  readonly stage: (worker: number, stage: 'installed' | 'hydrated', life?: number) => void;
} {
  const rows: string[] = [];
  const p = new Progress({
    onRow: (_, id, row) =>
      rows.push(row === null ? `${id} gone` : `${id} ${row.rowsDone} of ${row.rowsTotal}`),
  });
  return {
    p,
    rows: () => rows.splice(0),
    says: (worker, rowsDone, rowsTotal, life = 1) =>
      p.receive(R, { kind: 'progress', worker, id: U1, life, rowsDone, rowsTotal }),
    stage: (worker, stage, life = 1) =>
      p.receive(R, { kind: 'lifecycle', worker, id: U1, stage, occurredAt: 1, reason: null, asOf: 1, life }),
  };
}

test('the sum over workers, monotone, and complete only when every worker is hydrated', () => {
  const t = open();
  t.stage(0, 'installed');
  t.stage(1, 'installed');
  assert.deepEqual(t.rows(), ['u1 0 of null']);
  t.says(0, 3, 100);
  assert.deepEqual(t.rows(), [], 'the other one may have something to read too');
  t.says(1, 20, 0);
  t.says(0, 80, 100);
  t.says(0, 70, 100);
  t.stage(0, 'hydrated');
  assert.deepEqual(t.rows(), ['u1 23 of 100', 'u1 99 of 100']);
  t.stage(1, 'hydrated');
  assert.deepEqual(t.rows(), ['u1 100 of 100']);
  t.p.forget(U1);
  assert.deepEqual(t.rows(), ['u1 gone']);
});

test('another life begins anew, and what is still said of the one before does not count', () => {
  const t = open();
  t.says(0, 50, 100);
  t.says(1, 50, 0);
  t.rows();
  t.stage(0, 'installed', 2);
  t.says(1, 50, 0, 1);
  assert.deepEqual(t.rows(), ['u1 0 of null']);
  t.p.forgetReplica(R.id);
  assert.deepEqual(t.rows(), ['u1 gone']);
});
