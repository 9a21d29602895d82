/**
 * The engine's own figures: W1, W3 without its last reduce, and W4 (docs: the goals of the project). One process,
 * one worker, data in memory as batches of 16 K rows, output consumed. Run: `node bench/src/engine.ts [rows]`.
 */

import { LocalMesh } from '../../packages/tidemark/src/dataflow/local-mesh.ts';
import { Worker } from '../../packages/tidemark/src/dataflow/worker.ts';
import { arrange } from '../../packages/tidemark/src/operators/arrange.ts';
import { capture } from '../../packages/tidemark/src/operators/capture.ts';
import { join } from '../../packages/tidemark/src/operators/join.ts';
import { type InputHandle, source } from '../../packages/tidemark/src/operators/source.ts';
import type { Batch } from '../../packages/tidemark/src/repr/batch.ts';
import { ColumnBuilder, NO_OFFSETS } from '../../packages/tidemark/src/repr/column.ts';
import { hashRows } from '../../packages/tidemark/src/repr/hash.ts';
import type { Kind } from '../../packages/tidemark/src/repr/types.ts';
import { arrangementSpec } from '../../packages/tidemark/src/trace/arranged-batch.ts';
import type { TraceReader } from '../../packages/tidemark/src/trace/trace.ts';
import { scanTrace } from '../../packages/tidemark/src/trace/trace-scan.ts';

const ORDERS: Kind[] = ['i32', 'i32', 'i32', 'bytes'];
const CUSTOMERS: Kind[] = ['i32', 'bytes'];
const STATUS = ['new', 'paid', 'shipped', 'returned'].map((s) => new TextEncoder().encode(s));
const CHUNK = 16_384;

const clock = { nowMs: () => Date.now(), monotonicNs: () => performance.now() * 1e6 };

function generator(seed: number): (n: number) => number {
  let s = seed;
  return (n) => {
    s ^= s << 13;
    s ^= s >>> 17;
    s ^= s << 5;
    return Math.floor(((s >>> 0) * n) / 4294967296);
  };
}

const ints = (v: Int32Array<ArrayBuffer>) => ({
  kind: 'i32' as const,
  length: v.length,
  validity: null,
  values: v,
  offsets: NO_OFFSETS,
});

interface Order {
  readonly id: number;
  readonly customer: number;
  readonly amount: number;
  readonly status: number;
}

function ordersBatch(rows: readonly Order[], diffs: number | Float64Array<ArrayBuffer>, time: number): Batch {
  const status = new ColumnBuilder('bytes', rows.length);
  for (const r of rows) status.pushBytes(STATUS[r.status]!);
  return {
    length: rows.length,
    columns: [
      ints(Int32Array.from(rows, (r) => r.id)),
      ints(Int32Array.from(rows, (r) => r.customer)),
      ints(Int32Array.from(rows, (r) => r.amount)),
      status.finish(),
    ],
    times: time,
    diffs,
  };
}

function makeOrders(n: number): Order[] {
  const below = generator(0x9e3779b9);
  return Array.from({ length: n }, (_, id) => ({
    id,
    customer: below(10_000),
    amount: 1 + below(100_000),
    status: below(4),
  }));
}

function chunks(orders: readonly Order[]): Batch[] {
  const out: Batch[] = [];
  for (let i = 0; i < orders.length; i += CHUNK) out.push(ordersBatch(orders.slice(i, i + CHUNK), 1, 0));
  return out;
}

function customersBatch(): Batch {
  const below = generator(0x1234567);
  const region = new ColumnBuilder('bytes', 10_000);
  for (let i = 0; i < 10_000; i++)
    region.pushBytes(new TextEncoder().encode(`region-${String(below(20)).padStart(2, '0')}`));
  return {
    length: 10_000,
    columns: [ints(Int32Array.from({ length: 10_000 }, (_, i) => i)), region.finish()],
    times: 0,
    diffs: 1,
  };
}

function newWorker(): Worker {
  return new Worker({ index: 0, peers: 1, mesh: new LocalMesh(1).end(0), clock });
}

let longestSlice = 0;
function drain(w: Worker): void {
  for (;;) {
    const t = performance.now();
    const r = w.step({ budgetNs: 1 });
    longestSlice = Math.max(longestSlice, performance.now() - t);
    if (r === 'idle') return;
  }
}

function w1(data: readonly Batch[]): number {
  const w = newWorker();
  let input!: InputHandle;
  let trace!: TraceReader;
  w.buildDataflow('w1', (scope) => {
    const s = source(scope);
    input = s.handle;
    trace = arrange(scope, s.stream, { spec: arrangementSpec(ORDERS, [1], hashRows) }).trace.clone();
  });
  const t = performance.now();
  for (const b of data) input.push(b);
  input.advanceTo(1);
  drain(w);
  const ms = performance.now() - t;
  if (trace.upper !== 1 || trace.batches()[0]?.keyCount !== 10_000) throw new Error('W1 is wrong');
  scanTrace(trace, 0);
  return ms;
}

interface Joined {
  readonly worker: Worker;
  readonly orders: InputHandle;
  readonly customers: InputHandle;
  readonly seen: { rows: number };
}

function buildJoin(): Joined {
  const worker = newWorker();
  const seen = { rows: 0 };
  let orders!: InputHandle;
  let customers!: InputHandle;
  worker.buildDataflow('w3', (scope) => {
    const o = source(scope);
    const c = source(scope);
    orders = o.handle;
    customers = c.handle;
    const ao = arrange(scope, o.stream, { spec: arrangementSpec(ORDERS, [1], hashRows) });
    const ac = arrange(scope, c.stream, { spec: arrangementSpec(CUSTOMERS, [0], hashRows) });
    const out = join(scope, ao, ac, {
      output: [
        { from: 'right', column: 0 },
        { from: 'left', column: 1 },
      ],
    });
    capture(scope, out, {
      batch: (b) => {
        seen.rows += b.length;
      },
      frontier() {},
    });
  });
  return { worker, orders, customers, seen };
}

function w3(data: readonly Batch[], customers: Batch): { ms: number; joined: Joined } {
  const joined = buildJoin();
  const t = performance.now();
  joined.customers.push(customers);
  for (const b of data) joined.orders.push(b);
  joined.customers.advanceTo(1);
  joined.orders.advanceTo(1);
  drain(joined.worker);
  const ms = performance.now() - t;
  if (joined.seen.rows !== data.reduce((n, b) => n + b.length, 0)) throw new Error('W3 is wrong');
  return { ms, joined };
}

function w4(
  joined: Joined,
  orders: Order[],
  rounds: number,
): { p50: number; p99: number; perSecond: number } {
  const below = generator(0xc0ffee);
  const live = [...orders];
  let nextId = orders.length;
  const batches: Batch[] = [];
  for (let round = 0; round < rounds; round++) {
    const rows: Order[] = [];
    const diffs: number[] = [];
    for (let i = 0; i < 100; i++) {
      const kind = below(3);
      if (kind === 0) {
        const o = { id: nextId++, customer: below(10_000), amount: 1 + below(100_000), status: below(4) };
        live.push(o);
        rows.push(o);
        diffs.push(1);
        continue;
      }
      const at = below(live.length);
      const old = live[at]!;
      rows.push(old);
      diffs.push(-1);
      if (kind === 1) {
        live[at] = live[live.length - 1]!;
        live.pop();
        continue;
      }
      const customer = below(4) === 0 ? below(10_000) : old.customer;
      const o = { id: old.id, customer, amount: 1 + below(100_000), status: below(4) };
      live[at] = o;
      rows.push(o);
      diffs.push(1);
    }
    batches.push(ordersBatch(rows, Float64Array.from(diffs), round + 1));
  }
  const ms: number[] = [];
  let total = 0;
  batches.forEach((b, round) => {
    const t = performance.now();
    joined.orders.push(b);
    joined.customers.advanceTo(round + 2);
    joined.orders.advanceTo(round + 2);
    drain(joined.worker);
    const d = performance.now() - t;
    ms.push(d);
    total += d;
  });
  ms.sort((a, b) => a - b);
  return {
    p50: ms[ms.length >> 1]!,
    p99: ms[Math.floor(ms.length * 0.99)]!,
    perSecond: Math.round((rounds * 100_000) / total),
  };
}

const n = Number(process.argv[2] ?? 1_000_000);
const orders = makeOrders(n);
const data = chunks(orders);
const customers = customersBatch();
const print = (what: string, value: string): void => console.log(`${what.padEnd(28)}${value}`);
if (process.argv[3] !== 'w3') {
  for (const run of ['cold', 'warm', 'warm']) {
    longestSlice = 0;
    print(`W1 ${run}`, `${w1(data).toFixed(1)} ms, longest slice ${longestSlice.toFixed(1)} ms`);
  }
}
for (const run of ['first', 'warm']) {
  longestSlice = 0;
  const { ms, joined } = w3(data, customers);
  print(`arrange, join ${run}`, `${ms.toFixed(1)} ms, longest slice ${longestSlice.toFixed(1)} ms`);
  const r = w4(joined, orders, 1000);
  print(
    'W4',
    `${r.perSecond} updates/s, p50 ${r.p50.toFixed(3)} ms, p99 ${r.p99.toFixed(3)} ms, longest slice ${longestSlice.toFixed(1)} ms`,
  );
}
