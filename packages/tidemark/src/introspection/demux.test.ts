/** The demux as text: events in, updates out. Each handler, and what it does with a duplicate and an unknown owner. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Demux, type LirMapping } from './demux.ts';
import { EVENT_KINDS, EVENTS, type EventKind, NO_TIME, SideTable } from './events.ts';

class Log {
  readonly side = new SideTable();
  readonly mappings = new SideTable<LirMapping>();
  readonly #out: string[] = [];
  readonly demux = new Demux({
    worker: 3,
    anchorMicros: 1_000_000,
    side: this.side,
    mappings: this.mappings,
    emit: (relation, row, diff) => {
      const name = relation.replace(/^mz_(compute_)?/, '').replace(/_per_worker$/, '');
      this.#out.push(`${diff > 0 ? '+' : '-'}${name}(${row.map((d) => String(d)).join(' ')})`);
    },
  });
  /** An export whose installation was dealt with. */
  readonly u1: number = this.installed('u1');

  installed(id: string): number {
    const slot = this.side.add(id);
    this.demux.handle('export', 5000, slot, 9, 100, 0);
    this.#out.length = 0;
    return slot;
  }

  event(kind: EventKind, ns: number, a: number, b = 0, c = 0, d = 0): string[] {
    try {
      this.demux.handle(kind, ns, a, b, c, d);
    } catch (e) {
      assert.deepEqual(this.#out, [], 'what is refused has emitted nothing');
      throw e;
    }
    return this.#out.splice(0);
  }
}

test('export: a row of exports, the first stage and the hydration row; twice is a bug', () => {
  const log = new Log();
  const u2 = log.side.add('u2');
  assert.deepEqual(log.event('export', 2000, u2, 7, 42, 1), [
    '+exports(u2 3 7)',
    '+lifecycle_events(u2 3 installed 1000002 reconciled {"as_of": "42"})',
    '+hydration_times(u2 3 null 1000002 null null)',
  ]);
  assert.throws(() => log.event('export', 3000, u2, 7, 42, 0), /created once/);
});

test('frontier: a new row for the old one, none when it is empty', () => {
  const log = new Log();
  assert.deepEqual(log.event('frontier', 0, log.u1, 0), ['+frontiers(u1 3 0)']);
  assert.deepEqual(log.event('frontier', 0, log.u1, 8), ['-frontiers(u1 3 0)', '+frontiers(u1 3 8)']);
  assert.deepEqual(log.event('frontier', 0, log.u1, NO_TIME), ['-frontiers(u1 3 8)']);
  assert.deepEqual(log.event('frontier', 0, log.u1, NO_TIME), []);
});

test('import frontier: one row an import', () => {
  const log = new Log();
  const [a, b] = [log.side.add('t1'), log.side.add('t2')];
  assert.deepEqual(log.event('importFrontier', 0, log.u1, a, 0), ['+import_frontiers(u1 t1 3 0)']);
  assert.deepEqual(log.event('importFrontier', 0, log.u1, b, 4), ['+import_frontiers(u1 t2 3 4)']);
  assert.deepEqual(log.event('importFrontier', 0, log.u1, a, NO_TIME), ['-import_frontiers(u1 t1 3 0)']);
});

test('error count: summed, no row at zero, may be negative on one worker', () => {
  const log = new Log();
  assert.deepEqual(log.event('errorCount', 0, log.u1, 2), ['+error_counts_raw(u1 3 2)']);
  assert.deepEqual(log.event('errorCount', 0, log.u1, -3), [
    '-error_counts_raw(u1 3 2)',
    '+error_counts_raw(u1 3 -1)',
  ]);
  assert.deepEqual(log.event('errorCount', 0, log.u1, 1), ['-error_counts_raw(u1 3 -1)']);
});

test('start: once, in both relations, at the same instant', () => {
  const log = new Log();
  assert.deepEqual(log.event('hydrationStart', 7400, log.u1, 1), [
    '+lifecycle_events(u1 3 started 1000007 hydration_limit {"as_of": "100"})',
    '-hydration_times(u1 3 null 1000005 null null)',
    '+hydration_times(u1 3 null 1000005 1000007 null)',
  ]);
  assert.deepEqual(log.event('hydrationStart', 9000, log.u1, 0), []);
});

test('hydration: the summary, once; a missing start is back-filled with the installation first', () => {
  const log = new Log();
  const out = log.event('hydration', 8999, log.u1);
  assert.ok(out.includes('+lifecycle_events(u1 3 started 1000005 inputs_available {"as_of": "100"})'));
  assert.equal(out.at(-1), '+hydration_times(u1 3 3999 1000005 1000005 1000009)');
  assert.deepEqual(log.event('hydration', 9999, log.u1), []);
  assert.deepEqual(log.event('lifecycle', 9999, log.u1, 2), [
    '+lifecycle_events(u1 3 hydrated 1000010 null {"as_of": "100"})',
  ]);
});

test('lifecycle: hydrated before the output frontier back-fills both relations', () => {
  const log = new Log();
  assert.deepEqual(log.event('lifecycle', 8000, log.u1, 2), [
    '+lifecycle_events(u1 3 started 1000005 inputs_available {"as_of": "100"})',
    '-hydration_times(u1 3 null 1000005 null null)',
    '+hydration_times(u1 3 null 1000005 1000005 null)',
    '+lifecycle_events(u1 3 hydrated 1000008 null {"as_of": "100"})',
  ]);
  assert.deepEqual(log.event('lifecycle', 9000, log.u1, 2), []);
});

test('lifecycle: the write stages, and which stages have events of their own', () => {
  const log = new Log();
  assert.throws(() => log.event('lifecycle', 8000, log.u1, 5), /after hydrated/);
  log.event('lifecycle', 8000, log.u1, 2);
  const stages = [3, 4, 5].flatMap((stage) => log.event('lifecycle', 8000 + stage * 1000, log.u1, stage));
  assert.deepEqual(stages, [
    '+lifecycle_events(u1 3 write_blocked 1000011 read_only {"as_of": "100"})',
    '+lifecycle_events(u1 3 write_unblocked 1000012 null {"as_of": "100"})',
    '+lifecycle_events(u1 3 written 1000013 null {"as_of": "100"})',
  ]);
  for (const stage of [0, 1])
    assert.throws(() => log.event('lifecycle', 9000, log.u1, stage), /event of its own/);
});

test('export dropped: everything goes, as it was emitted, and its slot is free', () => {
  const log = new Log();
  const sums = new Map<string, number>();
  const add = (lines: readonly string[]): void => {
    for (const l of lines) sums.set(l.slice(1), (sums.get(l.slice(1)) ?? 0) + (l[0] === '+' ? 1 : -1));
  };
  const u2 = log.side.add('u2');
  add(log.event('export', 100, u2, 1, 7, 0));
  add(log.event('frontier', 200, u2, 5));
  add(log.event('importFrontier', 200, u2, log.side.add('t1'), 5));
  add(log.event('errorCount', 200, u2, 5));
  add(log.event('lifecycle', 300, u2, 2));
  add(log.event('hydration', 300, u2));
  assert.equal([...sums.values()].filter((n) => n === 1).length, 8);
  const owners = log.demux.owners;
  add(log.event('exportDropped', 400, u2));
  assert.deepEqual(
    [...sums.values()].filter((n) => n !== 0),
    [],
  );
  assert.equal(log.demux.owners, owners - 1);
  assert.throws(() => log.side.get(u2), /in use/);
});

test('peeks: a row while they last', () => {
  const log = new Log();
  const [peek, object] = [log.side.add('uuid-1'), log.side.add('u1')];
  const slots = log.side.live;
  assert.deepEqual(log.event('peekInstalled', 0, peek, object, 1, 77), [
    '+active_peeks(uuid-1 3 u1 persist 77)',
  ]);
  assert.throws(() => log.event('peekInstalled', 0, peek, object, 1, 77), /installed once/);
  assert.deepEqual(log.event('peekRetired', 0, peek), ['-active_peeks(uuid-1 3 u1 persist 77)']);
  assert.throws(() => log.event('peekRetired', 0, peek), /was installed/);
  assert.equal(log.side.live, slots - 2, 'the texts go with it');
});

test('node of a plan: not hydrated, then hydrated, one row; a dropped export ignores it', () => {
  const log = new Log();
  assert.deepEqual(log.event('operatorHydration', 0, log.u1, 4, 0), [
    '+operator_hydration_statuses(u1 4 3 false)',
  ]);
  assert.deepEqual(log.event('operatorHydration', 0, log.u1, 4, 1), [
    '-operator_hydration_statuses(u1 4 3 false)',
    '+operator_hydration_statuses(u1 4 3 true)',
  ]);
  const gone = log.event('exportDropped', 0, log.u1);
  assert.ok(gone.includes('-operator_hydration_statuses(u1 4 3 true)'));
  assert.deepEqual(log.event('operatorHydration', 0, log.u1, 4, 0), []);
});

const NODE = { lirId: 2, parent: null, nesting: 0, operator: 'Join', start: 5, end: 9 };

test('a dataflow: its as-of, what it computes, its plans; each goes with its owner', () => {
  const log = new Log();
  assert.deepEqual(log.event('dataflow', 0, 7, 100), ['+dataflow_as_of(7 3 100)']);
  assert.throws(() => log.event('dataflow', 0, 7, 100), /created once/);
  assert.deepEqual(log.event('dataflowGlobal', 0, 7, log.side.add('u4')), ['+dataflow_global_ids(7 3 u4)']);
  assert.throws(() => log.event('dataflowGlobal', 0, 7, log.side.add('u4')), /once/);
  const plan = (): number => log.mappings.add({ globalId: 'u4', nodes: [NODE] });
  assert.deepEqual(log.event('lirMapping', 0, 7, plan()), ['+lir_mapping(u4 2 3 Join null 0 5 9)']);
  assert.throws(() => log.event('lirMapping', 0, 7, plan()), /once/);
  assert.deepEqual(log.event('exportsDropped', 0, 7), ['-lir_mapping(u4 2 3 Join null 0 5 9)']);
  assert.deepEqual(log.event('dataflowShutdown', 0, 7), [
    '-dataflow_as_of(7 3 100)',
    '-dataflow_global_ids(7 3 u4)',
  ]);
});

test('plans belong to a dataflow: one built anew keeps its rows when the old one ends later', () => {
  const log = new Log();
  for (const dataflow of [7, 8]) {
    log.event('dataflow', 0, dataflow, 100);
    log.event('lirMapping', 0, dataflow, log.mappings.add({ globalId: 'u4', nodes: [NODE] }));
  }
  const ended = log.event('dataflowShutdown', 0, 7);
  assert.deepEqual(ended, ['-lir_mapping(u4 2 3 Join null 0 5 9)', '-dataflow_as_of(7 3 100)']);
  assert.deepEqual(log.event('exportsDropped', 0, 8), ['-lir_mapping(u4 2 3 Join null 0 5 9)']);
});

test('how long reads took is counted by type and never taken back', () => {
  const log = new Log();
  const told: string[] = [];
  const read = (type: number, from: number, to: number): void => {
    const [peek, object] = [log.side.add('uuid'), log.side.add('u1')];
    log.event('peekInstalled', from, peek, object, type, 1);
    log.event('peekRetired', to, peek);
  };
  read(0, 0, 0);
  read(0, 5, 1000);
  read(0, 5, 900);
  read(1, 0, 3);
  assert.ok(log.demux.dirty);
  log.demux.flush((type, bucket, n) => told.push(`${type} ${2 ** bucket} × ${n}`));
  assert.deepEqual(told, ['0 1 × 1', '0 1024 × 2', '1 4 × 1']);
  assert.ok(!log.demux.dirty);
});

test('an unknown owner is a bug or was dropped meanwhile, as the table of events says', () => {
  const log = new Log();
  for (const kind of EVENT_KINDS) {
    // Beginnings; and what operators say goes to a demux of its own.
    if (kind === 'export' || kind === 'peekInstalled' || kind === 'dataflow') continue;
    if (EVENTS[kind].of === 'operator') continue;
    const act = (): string[] => log.event(kind, 0, 999, 0, 0, 0);
    if (EVENTS[kind].unknown === 'bug') assert.throws(act, /AssertionError/, kind);
    else assert.deepEqual(act(), [], kind);
  }
});
