/** The operators in dataflows of several workers on a seeded schedule, against naive collections. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlError } from '../../base/error.ts';
import type { DataflowEvents } from '../../dataflow/events.ts';
import { noEvents } from '../../dataflow/events.ts';
import type { Batch } from '../../repr/batch.ts';
import { comparator } from '../../repr/compare.ts';
import { type Kind, type } from '../../repr/types.ts';
import { capture } from '../capture.ts';
import { distinct } from '../distinct.ts';
import { flatMap } from '../flat-map.ts';
import { reduce } from '../reduce.ts';
import { type InputHandle, source } from '../source.ts';
import { batchOf, contents, TestCluster, type Update, updatesOf } from '../test-cluster.ts';
import { threshold } from '../threshold.ts';
import { topK } from '../topk.ts';
import { maxOf } from './accumulators/by-type.ts';
import { count } from './accumulators/count.ts';
import { sumInteger } from './accumulators/sum-integer.ts';
import type { OksErrs } from './stateful-operator.ts';
import { column, encodeError, forSeeds } from './test-support.ts';

const KINDS: readonly Kind[] = ['i32', 'bytes', 'i32'];
const NAMES = ['reduce', 'distinct', 'threshold', 'topk', 'flatMap'] as const;
type Name = (typeof NAMES)[number];

/** Sums of what arrangements announced, by worker and operator. */
class Tally {
  readonly sums = new Map<string, number>();
  /** Greatest number of records seen. */
  mostRecords = 0;

  events(worker: number): DataflowEvents {
    const add = (operatorId: number, what: string, diff: number): void => {
      const key = `${worker} ${operatorId} ${what}`;
      const sum = (this.sums.get(key) ?? 0) + diff;
      if (sum === 0) this.sums.delete(key);
      else this.sums.set(key, sum);
      if (what === 'records') this.mostRecords = Math.max(this.mostRecords, sum);
      assert.ok(sum >= 0, `${key} is never negative`);
    };
    return {
      ...noEvents,
      batchAdded(id, records) {
        add(id, 'batches', 1);
        add(id, 'records', records);
      },
      batchDropped(id, records) {
        add(id, 'batches', -1);
        add(id, 'records', -records);
      },
      traceShared: (id, diff) => add(id, 'shared', diff),
      heap(id, used, allocated, buffers) {
        add(id, 'used', used);
        add(id, 'allocated', allocated);
        add(id, 'buffers', buffers);
      },
      batcher(id, records, used, allocated, buffers) {
        add(id, 'waiting', records);
        add(id, 'waiting used', used);
        add(id, 'waiting allocated', allocated);
        add(id, 'waiting buffers', buffers);
      },
    };
  }
}

interface Seen {
  readonly oks: Update[];
  readonly errs: Update[];
}

function buildAll(cluster: TestCluster): { inputs: InputHandle[]; seen: Record<Name, Seen> } {
  const seen = Object.fromEntries(NAMES.map((n) => [n, { oks: [], errs: [] }])) as unknown as Record<
    Name,
    Seen
  >;
  const common = { collection: 'v', encodeError };
  const inputs = cluster.workers.map((worker) => {
    let handle!: InputHandle;
    worker.buildDataflow('test', (scope) => {
      const { handle: h, stream } = source(scope);
      handle = h;
      const results: Record<Name, OksErrs> = {
        reduce: reduce(scope, stream, {
          ...common,
          keys: [0],
          keyKinds: ['i32'],
          aggregates: [
            { accumulator: count, args: [] },
            { accumulator: () => sumInteger('i32', 'int8'), args: [2] },
          ],
        }),
        distinct: distinct(scope, stream, { ...common, kinds: KINDS }),
        threshold: threshold(scope, stream, { ...common, kinds: KINDS }),
        topk: topK(scope, stream, {
          ...common,
          kinds: KINDS,
          keys: [0],
          order: [{ column: 2, compare: comparator(type('int4')), desc: true, nullsFirst: true }],
          offset: 0,
          limit: 2,
        }),
        flatMap: flatMap(scope, stream, { encodeError, expand: expandRow }),
      };
      for (const name of NAMES)
        for (const side of ['oks', 'errs'] as const) {
          let floor = 0;
          capture<Batch>(scope, results[name][side], {
            batch(b) {
              for (const u of updatesOf(b)) {
                assert.ok(u.time >= floor, `${name} emits at ${u.time} after ${floor}`);
                seen[name][side].push(u);
              }
            },
            frontier(f) {
              floor = f;
            },
          });
        }
    });
    return handle;
  });
  return { inputs, seen };
}

/** Row (k, s, n) gives n rows 0..n-1 in pieces of two; n = 3 fails after its first piece. */
function* expandRow(
  columns: Batch['columns'],
  i: number,
): Generator<{ length: number; columns: Batch['columns'] }> {
  const n = columns[2]!.values[i]!;
  for (let from = 0; from < n; from += 2) {
    if (n === 3 && from > 0) throw new SqlError('division_by_zero', 'division by zero');
    const values = Array.from({ length: Math.min(2, n - from) }, (_, k) => from + k);
    yield { length: values.length, columns: [column('i32', values)] };
  }
}

function naive(input: readonly Update[], time: number): Record<Name, { oks: Update[]; errs: Update[] }> {
  const rows = contents(input, time).map(([k, diff]) => ({
    row: JSON.parse(k) as Update['row'],
    time,
    diff,
  }));
  const groups = new Map<unknown, Update[]>();
  for (const u of rows) groups.set(u.row[0], [...(groups.get(u.row[0]) ?? []), u]);
  const one = (row: Update['row'], diff = 1): Update => ({ row, time, diff });
  const top = [...groups.values()].flatMap((g) =>
    g
      .flatMap((u) => Array.from({ length: u.diff }, () => u.row))
      .sort((a, b) => (b[2] as number) - (a[2] as number) || ((a[1] as string) < (b[1] as string) ? -1 : 1))
      .slice(0, 2)
      .map((r) => one(r)),
  );
  const flat = rows.flatMap((u) =>
    Array.from({ length: Math.min(u.row[2] as number, u.row[2] === 3 ? 2 : 99) }, (_, k) =>
      one([...u.row, k], u.diff),
    ),
  );
  return {
    reduce: {
      oks: [...groups].map(([k, g]) =>
        one([
          k as number,
          g.reduce((s, u) => s + u.diff, 0),
          g.reduce((s, u) => s + u.diff * (u.row[2] as number), 0),
        ]),
      ),
      errs: [],
    },
    distinct: { oks: rows.map((u) => one(u.row)), errs: [] },
    threshold: { oks: rows, errs: [] },
    topk: { oks: top, errs: [] },
    flatMap: {
      oks: flat,
      errs: rows
        .filter((u) => u.row[2] === 3)
        .map((u) => one(['division_by_zero: division by zero'], u.diff)),
    },
  };
}

function run(seed: number): void {
  const tally = new Tally();
  const peers = 1 + (seed % 3);
  const fuel = [1, 7, 5000][seed % 3]!;
  const cluster = new TestCluster({ peers, seed, fuel, events: (w) => tally.events(w) });
  const { random } = cluster;
  const { inputs, seen } = buildAll(cluster);
  const input: Update[] = [];
  const live: Update['row'][] = [];
  const last = 6;
  for (let now = 1; now <= last; now++) {
    for (const h of inputs) h.advanceTo(now);
    for (let k = random.below(12); k >= 0; k--) {
      const time = now + (random.below(4) === 0 ? random.below(3) : 0);
      const gone = time === now && live.length > 0 && random.below(3) === 0;
      const row = gone
        ? live.splice(random.below(live.length), 1)[0]!
        : [random.below(3), ['a', 'b', ''][random.below(3)]!, random.below(5)];
      if (!gone && time === now) live.push(row);
      const u: Update = { row, time, diff: gone ? -1 : 1 };
      input.push(u);
      inputs[random.below(peers)]!.push(batchOf(KINDS, [u]));
    }
    if (random.below(2) === 0) for (let k = random.below(200); k > 0; k--) cluster.tick();
  }
  for (const h of inputs) h.advanceTo(last + 1);
  cluster.settle();
  for (let t = 1; t <= last; t++) {
    const want = naive(input, t);
    for (const name of NAMES)
      for (const side of ['oks', 'errs'] as const)
        assert.deepEqual(
          contents(seen[name][side], t),
          contents(want[name][side], t),
          `${name} ${side} at ${t}`,
        );
  }
  for (let w = 0; w < peers; w++)
    assert.equal(
      [...tally.sums].filter(([k, n]) => k.startsWith(`${w} `) && k.endsWith('batches') && n === 1).length,
      4,
    );
  assert.ok(tally.mostRecords > 0, 'states report their records');
  if (seed % 2 === 0) for (const h of inputs) h.close();
  else for (const w of cluster.workers) w.dataflow(0)!.drop();
  cluster.settle();
  assert.deepEqual([...tally.sums], [], 'nothing is left of the arrangements');
  for (const w of cluster.workers) assert.deepEqual({ ...w.runtimeCounts }, { ...ZERO }, 'nothing is left');
}

test('the group whose aggregate is greatest changes as rows change', () => {
  for (const peers of [1, 2]) {
    const cluster = new TestCluster({ peers, seed: peers, fuel: 3 });
    const seen: Update[] = [];
    const inputs = cluster.workers.map((worker) => {
      let handle!: InputHandle;
      worker.buildDataflow('test', (scope) => {
        const { handle: h, stream } = source(scope);
        handle = h;
        const latest = reduce(scope, stream, {
          collection: 'v',
          encodeError,
          keys: [1],
          keyKinds: ['bytes'],
          aggregates: [{ accumulator: () => maxOf(type('int4')), args: [2] }],
        });
        const winner = topK(scope, latest.oks, {
          collection: 'v',
          encodeError,
          kinds: ['bytes', 'i32'],
          keys: [],
          order: [{ column: 1, compare: comparator(type('int4')), desc: true, nullsFirst: true }],
          offset: 0,
          limit: 1,
        });
        capture<Batch>(scope, winner.oks, { batch: (b) => void seen.push(...updatesOf(b)), frontier() {} });
      });
      return handle;
    });
    const put = (time: number, ...rows: [vin: string, updated: number, diff: number][]): void => {
      for (const h of inputs) h.advanceTo(time);
      for (const [vin, updated, diff] of rows)
        inputs[cluster.random.below(peers)]!.push(batchOf(KINDS, [{ row: [0, vin, updated], time, diff }]));
    };
    put(1, ['a', 10, 1], ['a', 30, 1], ['b', 20, 1]);
    put(2, ['b', 20, -1], ['b', 40, 1]);
    put(3, ['b', 40, -1], ['a', 5, 1]);
    put(4, ['a', 30, -1], ['a', 10, -1], ['a', 5, -1]);
    for (const h of inputs) h.close();
    cluster.settle();
    assert.deepEqual(
      [1, 2, 3, 4].map((t) => contents(seen, t).map(([row]) => row)),
      [['["a",30]'], ['["b",40]'], ['["a",30]'], []],
    );
  }
});

const ZERO = { operators: 0, channels: 0, capabilities: 0, traceHandles: 0, importers: 0 };

test('every stateful operator agrees with naive collections on one to three workers', () => {
  forSeeds(process.env, (_, seed) => run(seed), 45);
});
