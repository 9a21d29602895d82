/**
 * The sink alone, on random schedules of one to three workers and any fuel: what all workers tell adds up to the input, batch by batch.
 * Cannot see: batches that only come late.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GlobalId } from '../../base/ids.ts';
import { encodeEvalError } from '../../expr/eval-error.ts';
import { type InputHandle, source } from '../../operators/source.ts';
import { batchOf, contents, TestCluster, type Update, updatesOf } from '../../operators/test-cluster.ts';
import type { Batch } from '../../repr/batch.ts';
import { ColumnBuilder } from '../../repr/column.ts';
import type { Kind } from '../../repr/types.ts';
import { type } from '../../repr/types.ts';
import { SeededRandom } from '../../testkit/random.ts';
import { EMPTY } from '../../time/timestamp.ts';
import type { Response, SubscribeResponse } from '../protocol.ts';
import type { Sink, SinkContext } from './sink.ts';
import { subscribeSink } from './subscribe.ts';

const SEED = Number(process.env['SEED'] ?? 1);
const RUNS = Number(process.env['RUNS'] ?? 60);
const KINDS: readonly Kind[] = ['i32', 'bytes'];
const AS_OF = 10;

interface Setup {
  readonly peers?: number;
  readonly seed?: number;
  readonly fuel?: number;
  readonly withSnapshot?: boolean;
  readonly upTo?: number;
}

class Fixture {
  readonly cluster: TestCluster;
  readonly sent: SubscribeResponse[][];
  readonly oks: InputHandle[] = [];
  readonly errs: InputHandle[] = [];
  readonly sinks: Sink[] = [];

  constructor({ peers = 1, seed = 1, fuel, withSnapshot = true, upTo = EMPTY }: Setup) {
    this.cluster = new TestCluster({ peers, seed, ...(fuel !== undefined && { fuel }) });
    this.sent = Array.from({ length: peers }, () => []);
    const desc = {
      columns: [
        { name: 'a', type: type('int4'), nullable: true },
        { name: 'b', type: type('text'), nullable: true },
      ],
      keys: [],
    };
    const id = 't1' as GlobalId;
    for (const [w, worker] of this.cluster.workers.entries())
      worker.buildDataflow('subscribe', (scope) => {
        const oks = source(scope, { name: 'oks' });
        const errs = source(scope, { name: 'errs' });
        this.oks.push(oks.handle);
        this.errs.push(errs.handle);
        const context = {
          asOf: AS_OF,
          send: (r: Response) => void this.sent[w]!.push(r as SubscribeResponse),
        } as SinkContext;
        this.sinks.push(
          subscribeSink(
            scope,
            { oks: oks.stream, errs: errs.stream },
            { kind: 'subscribe', id, fromId: id, desc, withSnapshot, upTo },
            context,
          ),
        );
      });
  }

  push(updates: readonly Update[], worker = 0): void {
    this.oks[worker]!.push(batchOf(KINDS, updates));
  }

  fail(message: string, time: number, diff = 1, worker = 0): void {
    const b = new ColumnBuilder('bytes');
    b.pushBytes(encodeEvalError({ code: 'division_by_zero', message }));
    this.errs[worker]!.push({ length: 1, columns: [b.finish()], times: time, diffs: diff });
  }

  /** Everywhere. Infinity ends. */
  advance(to: number): void {
    for (const handle of [...this.oks, ...this.errs])
      if (to === EMPTY) handle.close();
      else handle.advanceTo(to);
    this.cluster.settle();
  }

  /** What worker 0 told since the last call, as text. */
  said(): string[] {
    return this.sent[0]!.splice(0).map(({ lower, upper, result }) => {
      const bounds = `[${lower}, ${upper === EMPTY ? 'empty' : upper})`;
      if (result.kind === 'rows') return `${bounds}${rowsText(result.batch)}${result.more ? ' …' : ''}`;
      return `${bounds} ${result.kind === 'error' ? result.message : 'dropped'}`;
    });
  }
}

const rowsText = (b: Batch | null): string =>
  b === null
    ? ''
    : updatesOf(b)
        .map((u) => ` ${u.row.join('')}@${u.time}${u.diff < 0 ? u.diff : `+${u.diff}`}`)
        .sort()
        .join('');

const one = (a: number, time: number, diff = 1): Update => ({ row: [a, 'x'], time, diff });

test('batches begin when the frontier is past the as-of, are contiguous, and end with the empty upper', () => {
  const f = new Fixture({});
  f.push([one(1, 10), one(1, 10), one(2, 11), one(2, 11, -1), one(3, 12)]);
  f.advance(10);
  assert.deepEqual(f.said(), []);
  assert.equal(f.sinks[0]!.progress, 0);
  f.advance(12);
  assert.deepEqual(f.said(), ['[0, 12) 1x@10+2']);
  assert.equal(f.sinks[0]!.writeFrontier, 12);
  f.advance(20);
  f.advance(21);
  assert.deepEqual(f.said(), ['[12, 20) 3x@12+1', '[20, 21)']);
  f.advance(EMPTY);
  assert.deepEqual(f.said(), ['[21, empty)']);
  f.sinks[0]!.answers!.dropped();
  assert.deepEqual(f.said(), [], 'nothing is said after the end');
});

test('without a snapshot what is there at the as-of is not told; nothing at or past up to ever is', () => {
  const f = new Fixture({ withSnapshot: false, upTo: 13 });
  f.push([one(1, 10), one(2, 12), one(3, 13)]);
  f.advance(12);
  assert.deepEqual(f.said(), ['[0, 12)']);
  f.advance(15);
  assert.deepEqual(f.said(), ['[12, empty) 2x@12+1']);
  f.push([one(4, 16)]);
  f.advance(20);
  assert.deepEqual(f.said(), []);
});

test('the lesser of rows and errors is complete', () => {
  const f = new Fixture({});
  f.push([one(1, 10)]);
  f.oks[0]!.advanceTo(20);
  f.cluster.settle();
  assert.deepEqual(f.said(), []);
  f.errs[0]!.advanceTo(12);
  f.cluster.settle();
  assert.deepEqual(f.said(), ['[0, 12) 1x@10+1']);
});

test('rows end at the first error, and every later batch carries it', () => {
  const f = new Fixture({});
  f.push([one(1, 10), one(2, 12), one(3, 14)]);
  f.fail('b', 13);
  f.fail('a', 13);
  f.fail('gone', 11);
  f.fail('gone', 11, -1);
  f.advance(20);
  assert.deepEqual(f.said(), ['[0, 13) 1x@10+1 2x@12+1', '[13, 20) a']);
  f.push([one(4, 21)]);
  f.fail('a', 22, -1);
  f.advance(30);
  assert.deepEqual(f.said(), ['[20, 30) a']);
});

test('an error at the as-of counts without a snapshot too', () => {
  const f = new Fixture({ withSnapshot: false });
  f.fail('a', 10);
  f.advance(12);
  assert.deepEqual(f.said(), ['[0, 12) a']);
});

test('a drop before the end is said once, from where it stood', () => {
  const f = new Fixture({});
  f.advance(12);
  f.said();
  f.sinks[0]!.answers!.dropped();
  assert.deepEqual(f.said(), ['[12, empty) dropped']);
});

test('what all workers tell adds up to the input at every time', () => {
  for (let run = 0; run < RUNS; run++) {
    const seed = SEED + run;
    const random = new SeededRandom(seed);
    const peers = 1 + random.below(3);
    const f = new Fixture({ peers, seed, fuel: [1, 7, 100, 32_768][random.below(4)]! });
    const history: Update[] = [];
    let now = AS_OF;
    for (let round = 0; round < 6; round++) {
      for (let n = random.below(40); n > 0; n--) {
        const back =
          history.length > 0 && random.below(2) === 0 ? history[random.below(history.length)]! : null;
        const time = now + random.below(3);
        const update: Update =
          back === null
            ? one(random.below(9), time)
            : { row: back.row, time: Math.max(time, back.time), diff: -back.diff };
        history.push(update);
        f.push([update], random.below(peers));
      }
      now += 1 + random.below(4);
      f.advance(round === 5 ? EMPTY : now);
    }
    const told: Update[] = [];
    for (const worker of f.sent) {
      let at = 0;
      for (const { lower, upper, result } of worker) {
        assert.ok(result.kind === 'rows', `seed ${seed}`);
        assert.equal(lower, at, `batches are contiguous, seed ${seed}`);
        for (const u of result.batch === null ? [] : updatesOf(result.batch)) {
          assert.ok(u.time >= lower && u.time < upper && u.diff !== 0, `seed ${seed}`);
          told.push(u);
        }
        if (!result.more) at = upper;
      }
      assert.equal(at, EMPTY, `seed ${seed}`);
    }
    const keys = told.map((u) => `${u.row.join()} ${u.time}`);
    assert.equal(new Set(keys).size, keys.length, `equal rows of one time meet on one worker, seed ${seed}`);
    for (let t = AS_OF; t < now + 4; t++)
      assert.deepEqual(contents(told, t), contents(history, t), `seed ${seed}`);
  }
});
