/**
 * What introspection costs: the same dataflow (map, arrangement, count by key) on a worker that logs and on one that does not, round
 * by round in turn, in time of the processor: `node log-cost.bench.ts`. A batch a timestamp, of a few rows and of many.
 *
 * 2026-11-29, two busy cores, Node 24, medians of 31 pairs: 10 rows a batch (32 µs) 1.1 %, 1,000 rows (220 µs) 0.3 %, 16,384 rows
 * (1.6 ms) 1.6 %. The first was 3.1 % while an interval without updates was sealed as a batch.
 */
import { logIndexId } from '../base/ids.ts';
import { noEvents } from '../dataflow/events.ts';
import { Worker } from '../dataflow/worker.ts';
import { nodeClock } from '../host/node-clock.ts';
import { ComputeLog, EventClock } from '../introspection/compute-log.ts';
import { MetricsRegistry } from '../introspection/metrics-registry.ts';
import { LOG_NAMES } from '../introspection/relations.ts';
import { arrange } from '../operators/arrange.ts';
import { distinct } from '../operators/distinct.ts';
import { map } from '../operators/map.ts';
import { type InputHandle, source } from '../operators/source.ts';
import type { Batch } from '../repr/batch.ts';
import { NO_OFFSETS } from '../repr/column.ts';
import { arrangementSpec } from '../trace/arranged-batch.ts';
import { ArrangementBytes } from './arrangement-bytes.ts';
import { LoggingDataflow } from './logging-dataflow.ts';
import { WorkerEvents } from './worker-events.ts';

const ROUNDS = 31;
const KEYS = 1000;

function batch(n: number, time: number): Batch {
  const values = Int32Array.from({ length: n }, (_, i) => (i * 7919 + time) % KEYS);
  const column = { kind: 'i32' as const, length: n, validity: null, values, offsets: NO_OFFSETS };
  return { length: n, columns: [column, column], times: time, diffs: 1 };
}

class Contestant {
  readonly #worker: Worker;
  readonly #logging: LoggingDataflow;
  #input!: InputHandle;
  #compact!: (to: number) => void;
  #time = 1;

  constructor(logs: boolean) {
    const events = new WorkerEvents(new ArrangementBytes());
    const worker = new Worker({ index: 0, peers: 1, mesh: { send() {} }, clock: nodeClock, events });
    const clock = new EventClock(nodeClock);
    const metrics = new MetricsRegistry();
    const log = logs ? new ComputeLog({ worker: 0, peers: 1, clock, intervalMs: 1000, metrics }) : null;
    events.log = log?.runtime ?? noEvents;
    log?.runtime.hide(worker.nextDataflowIndex);
    const indexes = LOG_NAMES.map((name, i) => ({ log: name, id: logIndexId(i + 1) }));
    this.#logging = new LoggingDataflow(worker, { intervalMs: 1000, debugging: false, indexes }, log);
    worker.buildDataflow('measured', (scope) => {
      const { handle, stream } = source(scope);
      this.#input = handle;
      const same = map(scope, stream, { name: 'Map', apply: (b) => ({ oks: b, errs: undefined }) });
      const index = arrange(scope, same.oks, { spec: arrangementSpec(['i32', 'i32'], [0]) }).trace.clone();
      this.#compact = (to) => index.setLogicalCompaction(to);
      distinct(scope, same.oks, {
        collection: 'measured',
        kinds: ['i32', 'i32'],
        encodeError: () => new Uint8Array(0),
      });
    });
    this.#worker = worker;
  }

  /** Microseconds of the processor. */
  round(batches: number, rows: number): number {
    const before = process.threadCpuUsage();
    for (let i = 0; i < batches; i++) {
      this.#input.push(batch(rows, this.#time));
      this.#input.advanceTo(++this.#time);
      this.#compact(this.#time - 1);
      this.#logging.drain();
      while (this.#worker.step({ budgetNs: 8e6 }) === 'more') this.#logging.drain();
    }
    while (this.#worker.idle() === 'more');
    const { user, system } = process.threadCpuUsage(before);
    return user + system;
  }
}

const median = (xs: readonly number[]): number => [...xs].sort((a, b) => a - b)[xs.length >> 1]!;

for (const [batches, rows] of [
  [2000, 10],
  [500, 1000],
  [60, 16_384],
] as const) {
  const [on, off] = [new Contestant(true), new Contestant(false)];
  const ratios: number[] = [];
  const times: number[] = [];
  for (let r = -5; r < ROUNDS; r++) {
    // In turn, so that neither always goes first.
    const [a, b] = r % 2 === 0 ? [on.round(batches, rows), off.round(batches, rows)] : [];
    const [d, c] = a === undefined ? [off.round(batches, rows), on.round(batches, rows)] : [b!, a];
    if (r < 0) continue;
    ratios.push(c / d);
    times.push(d / batches);
  }
  const cost = (100 * (median(ratios) - 1)).toFixed(1);
  console.log(`${rows} rows a batch: ${median(times).toFixed(1)} µs a batch, logging costs ${cost} %`);
}
