/**
 * Operators alone, without planner, protocol and introspection: W1, W3 and W4 (a thousand batches of a hundred changes after W3).
 * For profiles: `node --cpu-prof bench/src/engine.bench.ts [rows] [w3]`.
 */

import { type DataflowEvents, noEvents } from '../../packages/tidemark/src/dataflow/events.ts';
import { LocalMesh } from '../../packages/tidemark/src/dataflow/local-mesh.ts';
import { Worker } from '../../packages/tidemark/src/dataflow/worker.ts';
import { arrange } from '../../packages/tidemark/src/operators/arrange.ts';
import { capture } from '../../packages/tidemark/src/operators/capture.ts';
import { join } from '../../packages/tidemark/src/operators/join.ts';
import { reduce } from '../../packages/tidemark/src/operators/reduce.ts';
import { type InputHandle, source } from '../../packages/tidemark/src/operators/source.ts';
import { count } from '../../packages/tidemark/src/operators/state/accumulators/count.ts';
import { sumInteger } from '../../packages/tidemark/src/operators/state/accumulators/sum-integer.ts';
import { transform } from '../../packages/tidemark/src/operators/transform.ts';
import type { Batch } from '../../packages/tidemark/src/repr/batch.ts';
import { hashRows } from '../../packages/tidemark/src/repr/hash.ts';
import { arrangementSpec, heapSize } from '../../packages/tidemark/src/trace/arranged-batch.ts';
import type { TraceReader } from '../../packages/tidemark/src/trace/trace.ts';
import { CUSTOMER_KINDS, customersBatch, ORDER_KINDS, orderBatches, ordersBatch } from './batches.ts';
import { makeChanges, makeOrders, makeRegions } from './data.ts';

const CHUNK = 16_384;

/**
 * CPU time of this thread, not the wall: on a shared machine the wall shows its neighbours. Collections that stop
 * the thread count.
 */
const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};
const clock = { nowMs: () => Date.now(), monotonicNs: () => cpuMs() * 1e6 };

function newWorker(): Worker {
  const names = new Map<number, string>();
  const events: DataflowEvents = {
    ...noEvents,
    operatorCreated: (id, _address, name) => names.set(id, name),
    scheduleStop(id, elapsedNs) {
      if (elapsedNs <= longest.ms * 1e6) return;
      longest.ms = elapsedNs / 1e6;
      longest.operator = names.get(id) ?? '';
    },
  };
  return new Worker({ index: 0, peers: 1, mesh: new LocalMesh(1).end(0), clock, events });
}

/** The longest invocation of an operator, and whose. */
const longest = { ms: 0, operator: '' };
const takeLongest = (): string => {
  const text = `longest slice ${longest.ms.toFixed(1)} ms (${longest.operator})`;
  longest.ms = 0;
  return text;
};

function drain(w: Worker): void {
  while (w.step({ budgetNs: 10e6 }) === 'more');
}

function w1(data: readonly Batch[]): { ms: number; bytesPerRow: number } {
  const w = newWorker();
  let input!: InputHandle;
  let trace!: TraceReader;
  w.buildDataflow('w1', (scope) => {
    const s = source(scope);
    input = s.handle;
    trace = arrange(scope, s.stream, { spec: arrangementSpec(ORDER_KINDS, [1], hashRows) }).trace.clone();
  });
  const t = cpuMs();
  for (const b of data) input.push(b);
  input.advanceTo(1);
  drain(w);
  const ms = cpuMs() - t;
  if (trace.upper !== 1 || trace.batches()[0]?.keyCount !== 10_000) throw new Error('W1 is wrong');
  const bytesPerRow = heapSize(trace.batches()[0]!).capacity / trace.batches()[0]!.length;
  return { ms, bytesPerRow };
}

interface Joined {
  readonly worker: Worker;
  readonly orders: InputHandle;
  readonly customers: InputHandle;
  readonly seen: { rows: number; groups: number };
}

function buildJoin(): Joined {
  const worker = newWorker();
  const seen = { rows: 0, groups: 0 };
  let orders!: InputHandle;
  let customers!: InputHandle;
  worker.buildDataflow('w3', (scope) => {
    const o = source(scope);
    const c = source(scope);
    orders = o.handle;
    customers = c.handle;
    const ao = arrange(scope, o.stream, { spec: arrangementSpec(ORDER_KINDS, [1], hashRows) });
    const ac = arrange(scope, c.stream, { spec: arrangementSpec(CUSTOMER_KINDS, [0], hashRows) });
    const out = join(scope, ao, ac, {
      output: [
        { from: 'right', column: 0 },
        { from: 'left', column: 1 },
      ],
    });
    const counted = transform(scope, out, {
      name: 'Count',
      f: (b) => {
        seen.rows += b.length;
        return b;
      },
    });
    const { oks } = reduce(scope, counted, {
      collection: 'w3',
      keys: [0],
      keyKinds: ['bytes'],
      aggregates: [
        { accumulator: count, args: [] },
        { accumulator: () => sumInteger('i32', 'int8'), args: [1] },
      ],
      encodeError: () => new Uint8Array(0),
    });
    capture(scope, oks, {
      batch: (b) => {
        seen.groups += b.length;
      },
      frontier() {},
    });
  });
  return { worker, orders, customers, seen };
}

function w3(data: readonly Batch[], customers: Batch): { ms: number; joined: Joined } {
  const joined = buildJoin();
  const t = cpuMs();
  joined.customers.push(customers);
  for (const b of data) joined.orders.push(b);
  joined.customers.advanceTo(1);
  joined.orders.advanceTo(1);
  drain(joined.worker);
  const ms = cpuMs() - t;
  if (joined.seen.groups !== 20 || joined.seen.rows !== data.reduce((n, b) => n + b.length, 0))
    throw new Error('W3 is wrong');
  return { ms, joined };
}

function w4(joined: Joined, batches: readonly Batch[]): { p50: number; p99: number; perSecond: number } {
  const ms: number[] = [];
  const start = cpuMs();
  batches.forEach((b, round) => {
    // The CPU clock ticks too coarsely for one batch: percentiles are of the wall.
    const t = performance.now();
    joined.orders.push(b);
    joined.customers.advanceTo(round + 2);
    joined.orders.advanceTo(round + 2);
    drain(joined.worker);
    ms.push(performance.now() - t);
  });
  const total = cpuMs() - start;
  ms.sort((a, b) => a - b);
  return {
    p50: ms[ms.length >> 1]!,
    p99: ms[Math.floor(ms.length * 0.99)]!,
    perSecond: Math.round((batches.length * 100_000) / total),
  };
}

const n = Number(process.argv[2] ?? 1_000_000);
const orders = makeOrders(n, 200_000);
const data = orderBatches(orders, CHUNK);
const updates = makeChanges(orders, 1000).map(({ rows, diffs }, round) =>
  ordersBatch(rows, { from: 0, to: rows.length, diffs, time: round + 1 }),
);
const customers = customersBatch(makeRegions());
const print = (what: string, value: string): void => console.log(`${what.padEnd(28)}${value}`);
if (process.argv[3] !== 'w3') {
  for (const run of ['cold', 'warm', 'warm']) {
    const { ms, bytesPerRow } = w1(data);
    print(`W1 ${run}`, `${ms.toFixed(1)} ms, ${bytesPerRow.toFixed(1)} bytes a row, ${takeLongest()}`);
  }
}
for (const run of ['first', 'warm']) {
  const { ms, joined } = w3(data, customers);
  print(`W3 ${run}`, `${ms.toFixed(1)} ms, ${takeLongest()}`);
  const r = w4(joined, updates);
  print(
    'W4',
    `${r.perSecond} updates/s, p50 ${r.p50.toFixed(3)} ms, p99 ${r.p99.toFixed(3)} ms, ${takeLongest()}`,
  );
}
