import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LOG_NAMES, LOG_RELATIONS, LOGS_PER_CLUSTER, logDesc, logIndexKey } from './relations.ts';

/**
 * Every number and OID that was ever given, for good: clients store OIDs, and `si<N>` is made of the number. A relation
 * adds a line; no line changes or goes.
 */
const PINNED: Readonly<Record<string, readonly [number: number, oid: number]>> = {
  mz_compute_exports_per_worker: [1, 20001],
  mz_compute_frontiers_per_worker: [2, 20002],
  mz_compute_import_frontiers_per_worker: [3, 20003],
  mz_active_peeks_per_worker: [4, 20004],
  mz_compute_error_counts_raw: [5, 20005],
  mz_compute_hydration_times_per_worker: [6, 20006],
  mz_compute_lifecycle_events_per_worker: [7, 20007],
};

test('numbers and OIDs never change', () => {
  const now = Object.fromEntries(LOG_NAMES.map((n) => [n, [LOG_RELATIONS[n].number, LOG_RELATIONS[n].oid]]));
  assert.deepEqual(now, PINNED);
});

test('numbers and OIDs are unique, and numbers of two clusters never meet', () => {
  const relations = Object.values(LOG_RELATIONS);
  assert.equal(new Set(relations.map((r) => r.number)).size, relations.length);
  assert.equal(new Set(relations.map((r) => r.oid)).size, relations.length);
  for (const r of relations) assert.ok(r.number > 0 && r.number < LOGS_PER_CLUSTER);
});

test('columns, keys and nullability are those that readers rely on', () => {
  const text = LOG_NAMES.map((name) => {
    const { columns, keys } = logDesc(name);
    const cols = columns.map((c) => `${c.name} ${c.type.name}${c.nullable ? ' null' : ''}`).join(', ');
    const key = keys.map((k) => k.map((i) => columns[i]!.name).join(', ')).join('; ');
    return `${name}: ${cols} | ${key}`;
  });
  assert.deepEqual(text, [
    'mz_compute_exports_per_worker: export_id text, worker_id uint8, dataflow_id uint8 | export_id, worker_id',
    'mz_compute_frontiers_per_worker: export_id text, worker_id uint8, time mz_timestamp | export_id, worker_id',
    'mz_compute_import_frontiers_per_worker: export_id text, import_id text, worker_id uint8, time mz_timestamp | export_id, import_id, worker_id',
    'mz_active_peeks_per_worker: id uuid, worker_id uint8, object_id text, type text, time mz_timestamp | id, worker_id',
    'mz_compute_error_counts_raw: export_id text, worker_id uint8, count int8 | export_id, worker_id',
    'mz_compute_hydration_times_per_worker: export_id text, worker_id uint8, time_ns uint8 null, installed_at timestamptz, started_at timestamptz null, hydrated_at timestamptz null | export_id, worker_id',
    'mz_compute_lifecycle_events_per_worker: export_id text, worker_id uint8, event text, occurred_at timestamptz, reason text null, details jsonb null | ',
  ]);
});

test('a relation is arranged by its key, and without one by the whole row', () => {
  assert.deepEqual(logIndexKey('mz_compute_import_frontiers_per_worker'), [0, 1, 2]);
  assert.deepEqual(logIndexKey('mz_compute_lifecycle_events_per_worker'), [0, 1, 2, 3, 4, 5]);
});

test('every relation and column says what it is', () => {
  for (const r of Object.values(LOG_RELATIONS)) {
    assert.ok(r.doc.length > 20);
    for (const c of r.columns) assert.ok(c.doc.length > 4, c.name);
  }
});
