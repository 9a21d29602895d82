/** What the runtime says, as text: calls in, updates out. Every call has its row, and what ends takes back what was told. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlList } from '../repr/array.ts';
import { diffAt } from '../repr/batch.ts';
import { datumAt } from '../repr/datum.ts';
import type { Datum } from '../repr/types.ts';
import { EMPTY } from '../time/timestamp.ts';
import { EventRing } from './events.ts';
import { LogBuffer } from './log-buffer.ts';
import { type LogName, logDesc } from './relations.ts';
import { RuntimeDemux } from './runtime-demux.ts';
import { RuntimeLog } from './runtime-log.ts';
import { RuntimeState } from './runtime-state.ts';

class Ports {
  readonly inputs: { frontier: number }[] = [{ frontier: 0 }];
  readonly outputs = { length: 2 };
  held: number[] = [0];
  heldTimes(into: number[]): void {
    into.push(...this.held);
  }
}

const text = (d: Datum): string => (d instanceof SqlList ? `[${d.items.map(String).join('.')}]` : String(d));

class Log {
  readonly ring = new EventRing();
  readonly buffer = new LogBuffer();
  readonly state = new RuntimeState(2);
  readonly log = new RuntimeLog({ state: this.state, ring: this.ring, ns: () => 0, peers: 2 });
  readonly demux = new RuntimeDemux({ worker: 1, peers: 2, state: this.state, buffer: this.buffer });
  readonly ports = new Ports();

  /** A dataflow with one operator in it. */
  built(): this {
    this.log.operatorCreated(10, [7], 'dataflow', null);
    this.log.operatorCreated(11, [7, 1], 'Arrange', this.ports);
    this.said();
    return this;
  }

  said(): string[] {
    this.ring.drain((kind, _, a) => {
      if (kind !== 'dataflowShutdown') this.demux.handle(kind, a);
    });
    this.demux.flush();
    const out: string[] = [];
    for (const [name, b] of this.buffer.take()) {
      const types = logDesc(name as LogName).columns.map((c) => c.type);
      const short = name
        .replace(/^mz_(dataflow_|compute_|scheduling_)?/, '')
        .replace(/_(raw|per_worker)$/, '');
      for (let i = 0; i < b.length; i++) {
        const diff = diffAt(b, i);
        const cells = types.map((t, k) => text(datumAt(t, b.columns[k]!, i))).join(' ');
        out.push(`${diff > 0 ? '+' : ''}${diff} ${short}(${cells})`);
      }
    }
    return out;
  }
}

test('an operator: name and address while it lives, names and counts back first', () => {
  const l = new Log();
  l.log.operatorCreated(10, [7], 'dataflow', null);
  l.log.operatorCreated(11, [7, 1], 'Map', null);
  assert.deepEqual(l.said(), [
    '+1 operators(10 1 dataflow)',
    '+1 operators(11 1 Map)',
    '+1 addresses(10 1 [7])',
    '+1 addresses(11 1 [7.1])',
  ]);
  l.log.operatorShutdown(11);
  l.log.operatorShutdown(10);
  assert.deepEqual(l.said(), [
    '-1 operators(11 1 Map)',
    '-1 operators(10 1 dataflow)',
    '-1 addresses(11 1 [7.1])',
    '-1 addresses(10 1 [7])',
  ]);
  assert.equal(l.demux.owners, 0);
});

test('time: nanoseconds and runs by duration, one row with a multiplicity each; gone with the operator', () => {
  const l = new Log().built();
  for (const ns of [100, 100.4, 3]) {
    l.log.scheduleStart(11);
    l.log.scheduleStop(11, ns);
  }
  const rows = l.said().filter((r) => !r.includes('reachability'));
  assert.deepEqual(rows, [
    '+203 elapsed(11 1)',
    '+1 operator_durations_histogram(11 1 4)',
    '+2 operator_durations_histogram(11 1 128)',
  ]);
  assert.deepEqual(l.said(), [], 'nothing is told twice');
  l.log.scheduleStart(11);
  l.log.scheduleStop(11, 50);
  l.log.operatorShutdown(11);
  const back = l.said().filter((r) => /elapsed|durations/.test(r));
  assert.deepEqual(back, [
    '-203 elapsed(11 1)',
    '-1 operator_durations_histogram(11 1 4)',
    '-2 operator_durations_histogram(11 1 128)',
  ]);
});

test('pairs that do not match are faults of ours', () => {
  const { log } = new Log().built();
  assert.throws(() => log.scheduleStop(11, 1), /was started/);
  log.scheduleStart(11);
  assert.throws(() => log.scheduleStart(11), /one operator runs/);
  assert.throws(() => log.unpark(1), /wakes slept/);
  log.park(5);
  assert.throws(() => log.park(5), /was awake/);
  log.operatorShutdown(11);
  log.operatorCreated(12, [7, 2], 'Map', null);
  assert.throws(() => log.operatorCreated(13, [8, 1], 'Map', null), /scope/);
});

test('sleeps: by how long, and what was asked for; NULL when it waited for work alone', () => {
  const l = new Log();
  for (const [asked, slept] of [
    [1000, 900],
    [1000, 1000],
    [Number.NaN, 0],
  ] as const) {
    l.log.park(asked);
    l.log.unpark(slept);
  }
  assert.deepEqual(l.said(), ['+2 parks_histogram(1 1024 1024)', '+1 parks_histogram(1 1 null)']);
});

test('a channel: its ends and scope, rows and batches by pair of workers; all back when its dataflow ends', () => {
  const l = new Log().built();
  l.log.channelCreated({
    channelId: 12,
    scopeAddress: [7],
    fromIndex: 1,
    fromPort: 0,
    toIndex: 2,
    toPort: 3,
    type: 'batch',
  });
  l.log.messageSent(12, 0, 40);
  l.log.messageSent(12, 0, 2);
  l.log.messageReceived(12, 1, 5);
  const rows = [
    '1 channels(12 1 1 0 2 3 batch)',
    '1 addresses(12 1 [7])',
    '42 message_counts_sent(12 1 0)',
    '2 message_batch_counts_sent(12 1 0)',
    '5 message_counts_received(12 1 1)',
    '1 message_batch_counts_received(12 1 1)',
  ];
  assert.deepEqual(
    l.said(),
    rows.map((r) => `+${r}`),
  );
  l.log.operatorShutdown(11);
  l.log.operatorShutdown(10);
  l.log.dataflowShutdown(7);
  const said = l.said();
  for (const r of rows) assert.ok(said.includes(`-${r}`), r);
  assert.equal(l.demux.owners, 0);
  l.log.messageReceived(12, 1, 5);
  assert.deepEqual(l.said(), [], 'what comes late reaches nobody');
});

test('an arrangement: batches, records, handles, bytes; merges count what they save', () => {
  const l = new Log().built();
  l.log.traceShared(11, 1);
  l.log.batchAdded(11, 30);
  l.log.batchAdded(11, 20);
  l.log.heap(11, 400, 512, 6);
  l.log.batcher(11, 3, 24, 24, 2);
  assert.deepEqual(l.said(), [
    '+2 arrangement_batches(11 1)',
    '+50 arrangement_records(11 1)',
    '+1 arrangement_sharing(11 1)',
    '+400 arrangement_heap_size(11 1)',
    '+512 arrangement_heap_capacity(11 1)',
    '+6 arrangement_heap_allocations(11 1)',
    '+3 arrangement_batcher_records(11 1)',
    '+24 arrangement_batcher_size(11 1)',
    '+24 arrangement_batcher_capacity(11 1)',
    '+2 arrangement_batcher_allocations(11 1)',
  ]);
  l.log.batchesMerged(11, 30, 20, 41);
  assert.deepEqual(l.said(), ['-1 arrangement_batches(11 1)', '-9 arrangement_records(11 1)']);
});

test('an operator whose arrangement is still read stays, with its scopes, until the last reader lets go', () => {
  const l = new Log().built();
  l.log.traceShared(11, 2);
  l.log.batchAdded(11, 4);
  l.said();
  l.log.operatorShutdown(11);
  l.log.operatorShutdown(10);
  l.log.dataflowShutdown(7);
  assert.deepEqual(l.said(), [], 'its rows stay');
  l.log.traceShared(11, -1);
  assert.deepEqual(l.said(), ['-1 arrangement_sharing(11 1)']);
  l.log.batchDropped(11, 4);
  l.log.traceShared(11, -1);
  const said = l.said();
  assert.deepEqual(
    said.filter((r) => /operators|addresses/.test(r)),
    [
      '-1 operators(11 1 Arrange)',
      '-1 operators(10 1 dataflow)',
      '-1 addresses(11 1 [7.1])',
      '-1 addresses(10 1 [7])',
    ],
  );
  assert.ok(said.includes('-4 arrangement_records(11 1)') && said.includes('-1 arrangement_sharing(11 1)'));
  assert.equal(l.demux.owners, 0);
});

test('reachability: a frontier an input, a time a capability and output; moves take the old one back', () => {
  const l = new Log().built();
  const ran = (): string[] => {
    l.log.scheduleStart(11);
    l.log.scheduleStop(11, 0);
    return l.said().filter((r) => r.includes('reachability'));
  };
  assert.deepEqual(ran(), [
    '+1 operator_reachability(10 1 1 0 target 0)',
    '+1 operator_reachability(10 1 1 0 source 0)',
    '+1 operator_reachability(10 1 1 1 source 0)',
  ]);
  assert.deepEqual(ran(), []);
  l.ports.inputs[0]!.frontier = 5;
  l.ports.held = [9, 0];
  assert.deepEqual(ran(), [
    '-1 operator_reachability(10 1 1 0 target 0)',
    '+1 operator_reachability(10 1 1 0 target 5)',
    '+1 operator_reachability(10 1 1 0 source 9)',
    '+1 operator_reachability(10 1 1 1 source 9)',
  ]);
  l.ports.inputs[0]!.frontier = EMPTY;
  l.ports.held = [9];
  assert.deepEqual(ran(), [
    '-1 operator_reachability(10 1 1 0 target 5)',
    '-1 operator_reachability(10 1 1 0 source 0)',
    '-1 operator_reachability(10 1 1 1 source 0)',
  ]);
  l.log.operatorShutdown(11);
  assert.deepEqual(
    l.said().filter((r) => r.includes('reachability')),
    ['-1 operator_reachability(10 1 1 0 source 9)', '-1 operator_reachability(10 1 1 1 source 9)'],
  );
});

test('of a hidden dataflow nothing is told, whatever happens in it', () => {
  const l = new Log();
  l.log.hide(7);
  l.built();
  l.log.scheduleStart(11);
  l.log.scheduleStop(11, 5);
  l.log.traceShared(11, 1);
  l.log.batchAdded(11, 9);
  l.log.operatorShutdown(11);
  l.log.operatorShutdown(10);
  l.log.dataflowShutdown(7);
  assert.deepEqual([l.said(), l.demux.owners], [[], 0]);
});
