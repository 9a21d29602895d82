/** One stream out of what workers of several replicas tell, in orders that a seed decides. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SqlError } from '../base/error.ts';
import type { GlobalId, ReplicaId } from '../base/ids.ts';
import type { DataflowDescription, SubscribeResponse, SubscribeSink } from '../compute/protocol.ts';
import { batchOf, updatesOf } from '../operators/test-cluster.ts';
import { SeededRandom } from '../testkit/random.ts';
import { EMPTY } from '../time/timestamp.ts';
import { type SubscribeStream, Subscribes } from './subscribes.ts';

const ID = 't1' as GlobalId;
const R1 = 'u1' as ReplicaId;
const R2 = 'u2' as ReplicaId;
const r1 = (workers: number) => ({ id: R1, workers });
const r2 = (workers: number) => ({ id: R2, workers });
const SEED = Number(process.env['SEED'] ?? 1);
const RUNS = Number(process.env['RUNS'] ?? 300);

type Cells = readonly (readonly [value: number, time: number, diff: number])[];

const rowsOf = (cells: Cells) =>
  batchOf(
    ['i32'],
    cells.map(([value, time, diff]) => ({ row: [value], time, diff })),
  );

function rows(
  worker: number,
  [lower, upper]: readonly [number, number],
  cells: Cells = [],
  more = false,
): SubscribeResponse {
  const batch = cells.length === 0 ? null : rowsOf(cells);
  return { kind: 'subscribeResponse', id: ID, worker, lower, upper, result: { kind: 'rows', batch, more } };
}

const failing = (
  worker: number,
  [lower, upper]: readonly [number, number],
  message: string,
): SubscribeResponse => ({
  kind: 'subscribeResponse',
  id: ID,
  worker,
  lower,
  upper,
  result: { kind: 'error', code: 'division_by_zero', message },
});

/** What is there now: intervals as text, then how it ended. */
function said(stream: SubscribeStream): string[] {
  const out: string[] = [];
  for (;;) {
    let b: ReturnType<SubscribeStream['poll']>;
    try {
      b = stream.poll();
    } catch (error) {
      return [...out, (error as SqlError).message];
    }
    if (b === undefined) return out;
    if (b === null) return [...out, 'end'];
    const updates = b.parts
      .flatMap(updatesOf)
      .map((u) => `${u.row[0]}@${u.time}${u.diff < 0 ? u.diff : `+${u.diff}`}`);
    out.push(`[${b.lower}, ${b.upper === EMPTY ? 'empty' : b.upper}) ${updates.sort().join(' ')}`.trimEnd());
  }
}

function newStream(
  options: {
    readonly replicaId?: ReplicaId;
    readonly backlogBytes?: number;
    readonly maxResultSize?: () => number;
  } = {},
): {
  subscribes: Subscribes;
  stream: SubscribeStream;
  members: Set<ReplicaId>;
  ended: () => number;
} {
  const { replicaId, ...limits } = options;
  let ends = 0;
  const members = new Set([R1, R2]);
  const subscribes = new Subscribes({
    members,
    replicas: new Map(),
    backlogBytes: 1 << 20,
    maxResultSize: () => 1 << 20,
    ...limits,
    create: () => undefined,
    drop: () => undefined,
  });
  const sink = { kind: 'subscribe', id: ID } as SubscribeSink;
  const dataflow = { name: 'test', sinkExports: [sink] } as unknown as DataflowDescription;
  const stream = subscribes.start(dataflow, { replicaId, onEnd: () => ends++ });
  return { subscribes, stream, members, ended: () => ends };
}

test('an interval is handed on once every worker of one replica has it', () => {
  const { subscribes, stream, ended } = newStream();
  subscribes.receive(r1(2), rows(0, [0, 11], [[1, 10, 1]]));
  assert.deepEqual(said(stream), []);
  subscribes.receive(
    r1(2),
    rows(
      1,
      [0, 13],
      [
        [2, 10, 1],
        [3, 12, 1],
      ],
      true,
    ),
  );
  assert.deepEqual(said(stream), [], 'the rest of the part is missing');
  subscribes.receive(r1(2), rows(1, [0, 13], [[4, 11, 1]]));
  assert.deepEqual(said(stream), ['[0, 11) 1@10+1 2@10+1']);
  subscribes.receive(r1(2), rows(0, [11, EMPTY]));
  assert.deepEqual(said(stream), ['[11, 13) 3@12+1 4@11+1']);
  subscribes.receive(r1(2), rows(1, [13, EMPTY]));
  assert.deepEqual(said(stream), ['[13, empty)', 'end']);
  assert.equal(ended(), 1);
});

test('of several replicas the first that is ahead gives an interval, and none is given twice', () => {
  const { subscribes, stream } = newStream();
  subscribes.receive(r1(1), rows(0, [0, 11], [[1, 10, 1]]));
  subscribes.receive(
    r2(1),
    rows(
      0,
      [0, 15],
      [
        [1, 10, 1],
        [2, 14, 1],
      ],
    ),
  );
  subscribes.receive(r1(1), rows(0, [11, 15], [[2, 14, 1]]));
  subscribes.receive(r1(1), rows(0, [15, 20], [[3, 15, 1]]));
  assert.deepEqual(said(stream), ['[0, 11) 1@10+1', '[11, 15) 2@14+1', '[15, 20) 3@15+1']);
  // R1 goes; a new one begins again, further back.
  subscribes.replicaGone(R1, () => new Error('lost') as SqlError);
  subscribes.receive(r1(1), rows(0, [0, 18], [[9, 17, 1]]));
  subscribes.receive(
    r2(1),
    rows(
      0,
      [15, 25],
      [
        [3, 15, 1],
        [4, 22, -1],
      ],
    ),
  );
  assert.deepEqual(said(stream), ['[20, 25) 4@22-1']);
});

test('an error ends it at its time: what came before is told', () => {
  const { subscribes, stream, ended } = newStream();
  subscribes.receive(
    r1(2),
    rows(
      0,
      [0, 20],
      [
        [1, 10, 1],
        [2, 16, 1],
      ],
    ),
  );
  subscribes.receive(r1(2), rows(1, [0, 15], [[3, 14, 1]]));
  subscribes.receive(r1(2), failing(1, [15, 20], 'division by zero'));
  assert.deepEqual(said(stream), ['[0, 15) 1@10+1 3@14+1', 'division by zero']);
  assert.equal(ended(), 1);
  assert.deepEqual(said(stream), ['division by zero'], 'and stays');
});

test('quiet intervals are laid together; a reader that falls too far behind is told so', () => {
  const { subscribes, stream, ended } = newStream({ backlogBytes: 100 });
  const many = (time: number): Cells => Array.from({ length: 20 }, (_, i) => [i, time, 1] as const);
  subscribes.receive(r1(1), rows(0, [0, 11], many(10)));
  for (let t = 11; t < 1000; t++) subscribes.receive(r1(1), rows(0, [t, t + 1]));
  assert.equal(ended(), 0, 'what its reader takes next may be large');
  const first = stream.poll();
  assert.equal(first!.upper, 1000);
  subscribes.receive(r1(1), rows(0, [1000, 1001], many(1000)));
  subscribes.receive(r1(1), rows(0, [1001, 1002], many(1001)));
  subscribes.receive(r1(1), rows(0, [1002, 1003], many(1002)));
  assert.equal(ended(), 1);
  assert.deepEqual(said(stream), ['the reader of a subscribe fell too far behind']);
});

test('a snapshot larger than a result may be ends it', () => {
  const { subscribes, stream } = newStream({ maxResultSize: () => 40 });
  subscribes.receive(
    r1(1),
    rows(
      0,
      [0, 11],
      Array.from({ length: 20 }, (_, i) => [i, 10, 1] as const),
      true,
    ),
  );
  assert.match(said(stream)[0]!, /^result exceeds max size/);
});

test('aimed at one replica it ends with that one, otherwise with the last', () => {
  const gone = () => new Error('gone') as SqlError;
  const aimed = newStream({ replicaId: R1 });
  aimed.subscribes.replicaGone(R2, gone);
  assert.equal(aimed.ended(), 0);
  aimed.subscribes.replicaGone(R1, gone);
  assert.equal(aimed.ended(), 1);
  const any = newStream();
  any.members.delete(R1);
  any.subscribes.replicaGone(R1, gone);
  any.subscribes.replicaGone(R2, gone);
  assert.equal(any.ended(), 0, 'R2 is lost, and will be back');
  any.members.delete(R2);
  any.subscribes.replicaGone(R2, gone);
  assert.equal(any.ended(), 1);
});

test('a reader that waits is woken by rows, by an error and by the end', async () => {
  for (const wake of ['rows', 'close', 'gone'] as const) {
    const { subscribes, stream, ended } = newStream({ replicaId: R1 });
    const woken = stream.ready();
    if (wake === 'rows') subscribes.receive(r1(1), rows(0, [0, 11]));
    else if (wake === 'close') stream.close();
    else subscribes.replicaGone(R1, () => new Error('gone') as SqlError);
    await woken;
    stream.close();
    assert.equal(ended(), 1);
    assert.equal(subscribes.size, 0);
  }
});

interface Told {
  readonly upper: number;
  readonly response: SubscribeResponse;
}

/** One worker's share of a history, cut into batches and parts at random. */
function batchesOf(worker: number, mine: Cells, end: number, random: SeededRandom): Told[] {
  const out: Told[] = [];
  for (let lower = 0; lower < end; ) {
    const upper = Math.min(end, Math.max(lower, 10) + 1 + random.below(6));
    const due = mine.filter(([, t]) => t >= lower && t < upper);
    const cut = random.below(due.length + 1);
    if (cut > 0) out.push({ upper: lower, response: rows(worker, [lower, upper], due.slice(0, cut), true) });
    out.push({ upper, response: rows(worker, [lower, upper], due.slice(cut)) });
    lower = upper;
  }
  return out;
}

test('whatever the replicas, workers and batches, the stream is contiguous and its sum is the history', () => {
  for (let run = 0; run < RUNS; run++) {
    const random = new SeededRandom(SEED + run);
    const end = 40;
    const history: Cells = Array.from({ length: 30 }, (_, i) => [i, 10 + random.below(30), 1] as const);
    const { subscribes, stream } = newStream();
    const queues = [R1, R2].flatMap((replica) => {
      const workers = 1 + random.below(3);
      return Array.from({ length: workers }, (_, w) => ({
        replica,
        workers,
        told: batchesOf(
          w,
          history.filter(([v]) => v % workers === w),
          end,
          random,
        ),
      }));
    });
    let at = 0;
    const seen: string[] = [];
    for (let open = queues; open.length > 0; open = open.filter((q) => q.told.length > 0)) {
      const q = open[random.below(open.length)]!;
      subscribes.receive({ id: q.replica, workers: q.workers }, q.told.shift()!.response);
      if (random.below(3) > 0) at = drain(stream, at, seen);
    }
    assert.equal(drain(stream, at, seen), end, `seed ${SEED + run}`);
    const wanted = history.map(([v, t]) => `${v}@${t}`);
    assert.deepEqual(seen.sort(), wanted.sort(), `seed ${SEED + run}`);
  }
});

/** Reads what is there; gives how far it goes. */
function drain(stream: SubscribeStream, from: number, seen: string[]): number {
  let at = from;
  for (let b = stream.poll(); b; b = stream.poll()) {
    assert.equal(b.lower, at);
    at = b.upper;
    for (const u of b.parts.flatMap(updatesOf)) {
      assert.ok(u.time >= b.lower && u.time < b.upper);
      seen.push(`${u.row[0]}@${u.time}`);
    }
  }
  return at;
}
