import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noEvents } from '../dataflow/events.ts';
import { arrange } from '../operators/arrange.ts';
import { type InputHandle, source } from '../operators/source.ts';
import { batchOf, TestCluster } from '../operators/test-cluster.ts';
import { arrangementSpec, heapSize } from '../trace/arranged-batch.ts';
import type { TraceHandle } from '../trace/trace.ts';
import { ArrangementBytes } from './arrangement-bytes.ts';
import { WorkerEvents } from './worker-events.ts';

const rows = (n: number, time: number, diff = 1) =>
  batchOf(
    ['i32', 'i32'],
    Array.from({ length: n }, (_, i) => ({ row: [i, i], time, diff })),
  );

function setup() {
  const bytes = new ArrangementBytes();
  const cluster = new TestCluster({ peers: 1, seed: 1, events: () => new WorkerEvents(bytes) });
  const worker = cluster.workers[0]!;
  let handle!: InputHandle;
  let trace!: TraceHandle;
  const dataflow = worker.buildDataflow('arranges', (scope) => {
    const input = source(scope);
    handle = input.handle;
    trace = arrange(scope, input.stream, { spec: arrangementSpec(['i32', 'i32'], [0]) }).trace.clone();
  });
  return { bytes, cluster, handle, trace, dataflow, index: dataflow.dataflowIndex };
}

test('the bytes of a dataflow are those of the batches that live, and its peak is the most there ever were', () => {
  const { bytes, cluster, handle, trace, index } = setup();
  handle.push(rows(1000, 1));
  cluster.settle();
  assert.ok(bytes.bytesOf(index) >= 8000, 'what waits to be sealed counts');
  handle.advanceTo(2);
  cluster.settle();
  const live = (): number => trace.batches().reduce((n, b) => n + heapSize(b).capacity, 0);
  assert.equal(bytes.bytesOf(index), live());
  assert.ok(live() >= 16_000);
  const full = bytes.bytesOf(index);
  trace.setLogicalCompaction(2);
  handle.push(rows(1000, 2, -1));
  handle.advanceTo(3);
  cluster.settle();
  while (cluster.workers[0]!.idle() === 'more');
  cluster.settle();
  assert.equal(bytes.bytesOf(index), live());
  assert.ok(bytes.bytesOf(index) < full, 'cancelled rows are given back');
  assert.ok(bytes.peakOf(index) >= full);
  assert.equal(bytes.total, bytes.bytesOf(index));
  assert.equal(bytes.peakTotal, bytes.peakOf(index));
});

test('an arrangement that others read counts for the dataflow that wrote it, until the last one lets go', () => {
  const { bytes, cluster, handle, trace, dataflow, index } = setup();
  handle.push(rows(100, 1));
  handle.advanceTo(2);
  cluster.settle();
  const reader = trace.clone();
  const full = bytes.bytesOf(index);
  dataflow.drop();
  trace.dispose();
  cluster.settle();
  assert.equal(bytes.bytesOf(index), full);
  reader.dispose();
  assert.deepEqual([bytes.total, bytes.dataflows], [0, 0]);
});

test('a handle too many given back is a fault of ours', () => {
  const bytes = new ArrangementBytes();
  const events = new WorkerEvents(bytes);
  events.operatorCreated(1, [0, 1], 'Arrange', null);
  events.traceShared(1, 1);
  assert.throws(() => events.traceShared(1, -2), /-1 handles/);
  assert.throws(() => events.traceShared(2, 1), /lives when it begins/);
  assert.deepEqual(
    Object.keys(noEvents).filter((k) => !(k in events)),
    [],
  );
});
