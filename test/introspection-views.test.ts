/**
 * The views of mz_introspection over a cluster whose objects are known, through the engine, on one worker and on two: what each shows is
 * compared with what was made, or counted again from the relation that it stands on.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUILTIN_VIEWS } from '../packages/tidemark/src/catalog/builtins/builtins.ts';
import type { SqlList } from '../packages/tidemark/src/repr/array.ts';
import { openTest, type TestEnvironment, type TestRow } from '../packages/tidemark/src/testkit/simulator.ts';

const VIEWS = BUILTIN_VIEWS.filter((v) => v.schema === 'mz_introspection');
const INDEXED = VIEWS.filter((v) => v.indexed !== undefined);

const OBJECTS = `
  CREATE TABLE t (a int, b int);
  CREATE TABLE s (a int, c int);
  INSERT INTO t SELECT x, x % 50 FROM generate_series(1, 1000) AS x;
  INSERT INTO s SELECT x, x FROM generate_series(1, 500) AS x;
  CREATE INDEX by_a ON t (a);
  CREATE VIEW joined AS SELECT t.b, s.c FROM t JOIN s ON t.a = s.a;
  CREATE MATERIALIZED VIEW pairs AS SELECT * FROM joined;
  CREATE VIEW last AS SELECT DISTINCT ON (b) b, a FROM t ORDER BY b, a DESC;
  CREATE INDEX last_by_b ON last (b)`;
const DATAFLOWS = ['index by_a', 'index last_by_b', 'materialized view pairs'];

async function busyCluster(workers: number): Promise<TestEnvironment> {
  const t = await openTest({ seed: workers, workers });
  await t.exec(OBJECTS);
  await t.advance(5000);
  return t;
}

const from = (t: TestEnvironment, name: string, more = ''): Promise<readonly TestRow[]> =>
  t.query(`SELECT * FROM mz_introspection.${name} ${more}`);

const address = (list: unknown): string => (list as SqlList).items.join('.');
const text = (row: TestRow): string =>
  Object.values(row)
    .map((v) => (v === null ? '-' : String(v)))
    .join(' | ');
const sorted = (rows: readonly TestRow[]): readonly string[] => rows.map(text).sort();
const by = <K extends string>(rows: readonly TestRow[], key: K): Map<unknown, TestRow> => {
  const map = new Map(rows.map((r) => [r[key], r]));
  assert.equal(map.size, rows.length, `${key} is unique`);
  return map;
};

for (const workers of [1, 2]) {
  const on = `on ${workers} worker${workers > 1 ? 's' : ''}`;

  test(`every view answers, and what it promises to be unique is, ${on}`, async () => {
    const t = await busyCluster(workers);
    const silent: string[] = [];
    for (const v of VIEWS) {
      const rows = await from(t, v.name);
      if (rows.length === 0) silent.push(v.name);
      for (const key of v.keys) {
        const keys = rows.map((r) => key.map((k) => String(r[v.columns[k]!.name])).join('|'));
        assert.equal(new Set(keys).size, keys.length, `${v.name}: ${v.columns.map((c) => c.name)} by ${key}`);
      }
      for (const row of rows)
        for (const c of v.columns)
          assert.ok(c.nullable || row[c.name] !== null, `${v.name}.${c.name} is never NULL`);
      if (v.columns.some((c) => c.name === 'worker_id') && rows.length > 0)
        assert.equal(
          new Set(rows.map((r) => r['worker_id'])).size,
          workers,
          `${v.name} has rows of each worker`,
        );
    }
    assert.deepEqual(silent, SILENT);
    await t.close();
  });

  test(`dataflows, their operators, scopes and channels fit together, ${on}`, async () => {
    const t = await busyCluster(workers);
    const dataflows = by(await from(t, 'mz_dataflows'), 'id');
    assert.deepEqual([...dataflows.values()].map((d) => d['name']).sort(), DATAFLOWS);
    const operators = by(await from(t, 'mz_dataflow_operators'), 'id');
    assert.ok(operators.size > 30);
    const addresses = by(await from(t, 'mz_dataflow_addresses'), 'id');
    const channels = by(await from(t, 'mz_dataflow_channels'), 'id');
    assert.equal(addresses.size, operators.size + channels.size);
    const at = new Map([...operators.keys()].map((id) => [address(addresses.get(id)!['address']), id]));

    const owners = by(await from(t, 'mz_dataflow_operator_dataflows'), 'id');
    assert.deepEqual([...owners.keys()].sort(), [...operators.keys()].sort());
    for (const o of owners.values()) {
      const [root] = address(addresses.get(o['id'])!['address']).split('.');
      assert.equal(String(o['dataflow_id']), root);
      assert.equal(o['dataflow_name'], dataflows.get(o['dataflow_id'])!['name']);
    }

    const parents = by(await from(t, 'mz_dataflow_operator_parents'), 'id');
    assert.equal(
      parents.size,
      operators.size - dataflows.size,
      'every operator but the dataflows themselves',
    );
    for (const p of parents.values()) {
      const own = address(addresses.get(p['id'])!['address']).split('.');
      assert.equal(p['parent_id'], at.get(own.slice(0, -1).join('.')));
    }

    const ends = by(await from(t, 'mz_dataflow_channel_operators'), 'id');
    assert.deepEqual([...ends.keys()].sort(), [...channels.keys()].sort());
    let inner = 0;
    for (const e of ends.values()) {
      const c = channels.get(e['id'])!;
      const scope = address(addresses.get(e['id'])!['address']);
      assert.equal(address(e['from_operator_address']), `${scope}.${c['from_index']}`);
      assert.equal(address(e['to_operator_address']), `${scope}.${c['to_index']}`);
      assert.equal(e['from_operator_id'], at.get(address(e['from_operator_address'])) ?? null);
      assert.equal(e['to_operator_id'], at.get(address(e['to_operator_address'])) ?? null);
      if (e['from_operator_id'] !== null && e['to_operator_id'] !== null) inner++;
    }
    assert.ok(inner > 20, `${inner} channels lie between two operators`);

    const reach = await from(t, 'mz_dataflow_operator_reachability');
    assert.ok(reach.length > 20);
    for (const r of reach) assert.ok(operators.has(r['id']), 'a time belongs to an operator that is there');
    const raw = await from(t, 'mz_dataflow_operator_reachability_raw');
    assert.equal(
      reach.reduce((n, r) => n + Number(String(r['count'])), 0),
      raw.length,
      'each raw row is somebody’s',
    );
    await t.close();
  });

  test(`exports lead to dataflows, plans and names, ${on}`, async () => {
    const t = await busyCluster(workers);
    const idOf = new Map(
      (await t.query("SELECT id, name FROM mz_catalog.mz_objects WHERE id LIKE 'u%'")).map((o) => [
        o['name'],
        o['id'],
      ]),
    );
    const dataflows = by(await from(t, 'mz_dataflows'), 'id');
    const exports = await from(t, 'mz_compute_exports', "WHERE export_id LIKE 'u%'");
    assert.deepEqual(
      exports.map((e) => `${e['export_id']} ${dataflows.get(e['dataflow_id'])!['name']}`).sort(),
      [
        `${idOf.get('by_a')} index by_a`,
        `${idOf.get('last_by_b')} index last_by_b`,
        `${idOf.get('pairs')} materialized view pairs`,
      ].sort(),
    );
    const globals = await from(t, 'mz_dataflow_global_ids');
    const mapping = await from(t, 'mz_lir_mapping');
    for (const name of ['pairs', 'last']) {
      const id = idOf.get(name);
      assert.ok(
        globals.some((g) => g['global_id'] === id),
        `${name} is built by a dataflow`,
      );
      const nodes = by(
        mapping.filter((m) => m['global_id'] === id),
        'lir_id',
      );
      const roots = [...nodes.values()].filter((n) => n['parent_lir_id'] === null);
      assert.equal(roots.length, 1);
      for (const n of nodes.values()) {
        const parent = n['parent_lir_id'] === null ? undefined : nodes.get(n['parent_lir_id'])!;
        assert.equal(n['nesting'], parent === undefined ? 0 : Number(parent['nesting']) + 1);
      }
    }
    const named = await from(t, 'mz_mappable_objects');
    const of = (name: string) =>
      named.filter((n) => n['name'] === `tidemark.public.${name}`).map((n) => n['global_id']);
    assert.ok(of('pairs').includes(idOf.get('pairs')!));
    assert.ok(of('last_by_b').includes(idOf.get('last')!));
    assert.equal((await from(t, 'mz_compute_dataflow_as_of')).length, dataflows.size);
    await t.close();
  });

  test(`sizes are the raw counts, added up by operator, dataflow and worker, ${on}`, async () => {
    const t = await busyCluster(workers);
    const measured = ['records', 'batches', 'size', 'capacity', 'allocations'] as const;
    const raws = {
      records: ['records', 'batcher_records'],
      batches: ['batches'],
      size: ['heap_size', 'batcher_size'],
      capacity: ['heap_capacity', 'batcher_capacity'],
      allocations: ['heap_allocations', 'batcher_allocations'],
    };
    // All in one transaction: they are read at one time.
    const session = t.session();
    const ask = (sql: string): Promise<readonly TestRow[]> => t.start(sql, session).result();
    await ask('BEGIN');
    const expected = new Map<string, Record<string, bigint>>();
    for (const m of measured)
      for (const raw of raws[m])
        for (const r of await ask(
          `SELECT operator_id, worker_id, count(*) AS n FROM mz_introspection.mz_arrangement_${raw}_raw GROUP BY 1, 2`,
        )) {
          const key = `${r['operator_id']} ${r['worker_id']}`;
          const o = expected.get(key) ?? {};
          o[m] = (o[m] ?? 0n) + (r['n'] as bigint);
          expected.set(key, o);
        }
    const perWorker = await ask('SELECT * FROM mz_introspection.mz_arrangement_sizes_per_worker');
    const operators = await ask(
      'SELECT id, worker_id FROM mz_introspection.mz_dataflow_operators_per_worker',
    );
    const alive = new Set(operators.map((o) => `${o['id']} ${o['worker_id']}`));
    assert.equal(perWorker.length, [...expected.keys()].filter((k) => alive.has(k)).length);
    for (const r of perWorker) {
      const e = expected.get(`${r['operator_id']} ${r['worker_id']}`)!;
      for (const m of measured) assert.equal(r[m], e[m] ?? null, `${m} of operator ${r['operator_id']}`);
    }

    const total = (rows: readonly TestRow[], m: string): bigint =>
      rows.reduce((n, r) => n + ((r[m] as bigint) ?? 0n), 0n);
    const owner = by(await ask('SELECT * FROM mz_introspection.mz_dataflow_operator_dataflows'), 'id');
    const sizes = await ask('SELECT * FROM mz_introspection.mz_arrangement_sizes');
    const dataflows = await ask('SELECT * FROM mz_introspection.mz_records_per_dataflow');
    assert.deepEqual(dataflows.map((d) => d['name']).sort(), DATAFLOWS);
    for (const d of dataflows) {
      const own = sizes.filter((s) => owner.get(s['operator_id'])!['dataflow_id'] === d['id']);
      const workersOwn = perWorker.filter((s) => owner.get(s['operator_id'])!['dataflow_id'] === d['id']);
      for (const m of measured) {
        assert.equal(d[m] ?? 0n, total(own, m), `${m} of ${d['name']}`);
        assert.equal(d[m] ?? 0n, total(workersOwn, m), `${m} of ${d['name']} over workers`);
      }
    }
    assert.equal(dataflows.find((d) => d['name'] === 'index by_a')!['records'], 1000n);
    const operatorsOf = await ask('SELECT * FROM mz_introspection.mz_records_per_dataflow_operator');
    assert.equal(operatorsOf.length, owner.size);
    for (const m of measured) assert.equal(total(operatorsOf, m), total(sizes, m));
    assert.deepEqual(
      sorted(await ask('SELECT * FROM mz_introspection.mz_dataflow_arrangement_sizes')),
      sorted(dataflows),
    );
    await ask('COMMIT');
    await t.close();
  });

  test(`a view read through its index says what its query says, ${on}`, async () => {
    const t = await busyCluster(workers);
    const session = t.session();
    const ask = (sql: string): Promise<readonly TestRow[]> => t.start(sql, session).result();
    for (const v of INDEXED) {
      const { sql } = v;
      await ask('BEGIN');
      const plan = (await ask(`EXPLAIN SELECT * FROM mz_introspection.${v.name}`)).map(text).join('\n');
      assert.match(plan, new RegExp(`- ${v.name}_u1_primary_idx \\(all of it\\)`));
      const through = await ask(`SELECT * FROM mz_introspection.${v.name}`);
      assert.ok(through.length > 0);
      assert.deepEqual(sorted(through), sorted(await ask(sql)), v.name);
      await ask('COMMIT');
    }
    await t.close();
  });

  test(`messages sent are received, and an exchange carries each row once, ${on}`, async () => {
    const t = await busyCluster(workers);
    const counts = await from(t, 'mz_message_counts');
    // What sinks and the log's own dataflows send goes on while one worker has told its counts and another has not.
    const quiet = new Set(
      (
        await t.query(`
          SELECT c.id FROM mz_introspection.mz_dataflow_channel_operators c
          JOIN mz_introspection.mz_dataflow_operator_dataflows o ON o.id = c.to_operator_id
          WHERE o.dataflow_name LIKE 'index %' AND o.dataflow_name NOT LIKE 'index mz_%'`)
      ).map((r) => r['id']),
    );
    const resting = counts.filter((c) => quiet.has(c['channel_id']));
    assert.ok(resting.length > 0);
    for (const c of resting) {
      assert.equal(String(c['sent']), String(c['received']), `channel ${c['channel_id']}`);
      assert.equal(String(c['batch_sent']), String(c['batch_received']), `channel ${c['channel_id']}`);
    }
    const perWorker = await from(t, 'mz_message_counts_per_worker');
    for (const c of counts) {
      const own = perWorker.filter((r) => r['channel_id'] === c['channel_id']);
      assert.equal(String(c['sent']), String(own.reduce((n, r) => n + (r['sent'] as bigint), 0n)));
    }
    const rows = await t.query(`
      SELECT m.sent FROM mz_introspection.mz_message_counts m
      JOIN mz_introspection.mz_dataflow_channel_operators c ON c.id = m.channel_id
      JOIN mz_introspection.mz_dataflow_operator_dataflows o ON o.id = c.to_operator_id
      WHERE o.dataflow_name = 'index by_a'`);
    assert.ok(rows.some((r) => String(r['sent']) === '1000'));
    await t.close();
  });
}

/** Nothing reads while the last query is planned, before it nothing had been read long enough ago, and no error stands. */
const SILENT: readonly string[] = [
  'mz_active_peeks',
  'mz_compute_error_counts_per_worker',
  'mz_compute_error_counts',
  'mz_peek_durations_histogram_per_worker',
  'mz_peek_durations_histogram',
];
