/** What an export reports, from frontiers that the test sets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GlobalId } from '../base/ids.ts';
import { EventClock } from '../introspection/compute-log.ts';
import { EMPTY } from '../time/timestamp.ts';
import { Collection, type Output } from './collection.ts';
import type { Response } from './protocol.ts';

const AS_OF = 10;

class Fixture {
  readonly #sent: Response[] = [];
  #ns = 0;
  readonly upper = { oks: 0, errs: 0 };
  readonly writes = {
    isOwner: true,
    computed: 0,
    firstWrite: 0,
    allowed: true,
    allow() {
      this.allowed = true;
    },
  };
  readonly sink = { progress: 0, writeFrontier: 0, writes: this.writes, answers: null };
  input = 0;
  readonly collection: Collection;

  constructor(kind: 'index' | 'view') {
    const clock = new EventClock({ nowMs: () => 1000, monotonicNs: () => (this.#ns += 1000) });
    this.collection = new Collection({
      id: 'u1' as GlobalId,
      worker: 0,
      asOf: AS_OF,
      installedNs: clock.ns(),
      reason: 'commanded',
      life: 0,
      peakBytes: () => 0,
      clock,
      log: null,
      imports: new Map([['t1' as GlobalId, () => this.input]]),
      send: (r) => this.#sent.push(r),
    });
    const { upper } = this;
    const trace = (of: 'oks' | 'errs') => ({
      get upper() {
        return upper[of];
      },
      dispose: () => undefined,
    });
    const index = { kind: 'index', traces: { oks: trace('oks'), errs: trace('errs') } } as unknown as Output;
    this.collection.attach(kind === 'index' ? index : { kind: 'sink', sink: this.sink });
    this.said();
  }

  /** What was sent since the last call, as text. */
  said(): string[] {
    return this.#sent.splice(0).map((r) => {
      if (r.kind === 'lifecycle') return r.stage;
      assert.equal(r.kind, 'frontiers');
      const { write, input, output } = r as Extract<Response, { kind: 'frontiers' }>;
      return Object.entries({ write, input, output })
        .filter(([, f]) => f !== undefined)
        .map(([k, f]) => `${k} ${f === EMPTY ? 'empty' : f}`)
        .join(', ');
    });
  }

  report(): string[] {
    this.collection.report();
    return this.said();
  }
}

test('an index is as far as the lesser of its two traces', () => {
  const f = new Fixture('index');
  f.collection.started('inputs_available');
  assert.deepEqual(f.said(), ['started']);
  f.upper.oks = 50;
  f.input = 60;
  assert.deepEqual(f.report(), ['input 60'], 'errors are behind: nothing is complete');
  f.upper.errs = 40;
  assert.deepEqual(f.report(), ['write 40, output 40', 'hydrated']);
  assert.deepEqual(f.report(), [], 'each only when it moved');
  f.upper.oks = EMPTY;
  f.upper.errs = EMPTY;
  assert.deepEqual(f.report(), ['write empty, output empty']);
});

test('the first report is past the as-of', () => {
  const f = new Fixture('index');
  f.upper.oks = AS_OF;
  f.upper.errs = AS_OF;
  assert.deepEqual(f.report(), [], 'at the as-of nothing is known yet');
  f.upper.oks = AS_OF + 1;
  f.upper.errs = AS_OF + 1;
  assert.deepEqual(
    f.report(),
    ['write 11, output 11', 'started', 'hydrated'],
    'a missing start is back-filled',
  );
});

test('a view that may write: written once all workers have computed and the shard is past the as-of', () => {
  const f = new Fixture('view');
  f.collection.started('inputs_available');
  f.said();
  f.sink.writeFrontier = 100;
  assert.deepEqual(f.report(), ['write 100'], 'the shard may be ahead from the start');
  f.sink.progress = 20;
  assert.deepEqual(f.report(), ['output 20', 'hydrated']);
  assert.deepEqual(f.report(), [], 'another worker has not computed');
  f.writes.computed = AS_OF;
  assert.deepEqual(f.report(), [], 'nor has it at the as-of');
  f.writes.computed = AS_OF + 1;
  assert.deepEqual(f.report(), ['written']);
  assert.deepEqual(f.report(), []);
});

test('a view that took its shard over waits for the shard to pass that, too', () => {
  const f = new Fixture('view');
  Object.assign(f.sink, { progress: 20, writeFrontier: 100 });
  Object.assign(f.writes, { computed: 20, firstWrite: 100 });
  assert.ok(!f.report().includes('written'));
  f.sink.writeFrontier = 101;
  assert.deepEqual(f.report(), ['write 101', 'written']);
});

test('read-only: blocked on entry, the output leaves the writer out, unblocked the moment permission is applied', () => {
  const f = new Fixture('view');
  f.writes.allowed = false;
  assert.deepEqual(f.report(), [], 'before it is computed nothing is held back');
  f.sink.progress = 20;
  assert.deepEqual(f.report(), ['output 20', 'started', 'hydrated'], 'though the shard is at 0');
  f.writes.computed = 20;
  assert.deepEqual(f.report(), ['write_blocked']);
  f.sink.writeFrontier = 100;
  assert.deepEqual(f.report(), ['write 100'], 'somebody else wrote');
  f.collection.allowWrites();
  assert.deepEqual(f.said(), ['write_unblocked'], 'without waiting for a report');
  f.collection.allowWrites();
  assert.deepEqual(f.report(), ['written']);
});

test('permission that comes before the block leaves no pair', () => {
  const f = new Fixture('view');
  f.writes.allowed = false;
  f.report();
  f.collection.allowWrites();
  f.sink.progress = 20;
  f.writes.computed = 20;
  f.sink.writeFrontier = 20;
  assert.deepEqual(f.report(), ['write 20, output 20', 'started', 'hydrated', 'written']);
});

test('on a worker that does not own the sink, the empty frontier it shares is no progress', () => {
  const f = new Fixture('view');
  Object.assign(f.sink, { isOwner: false, writeFrontier: EMPTY, computed: EMPTY });
  assert.deepEqual(f.report(), ['write empty']);
  f.sink.progress = 20;
  assert.deepEqual(f.report(), ['output 20', 'started', 'hydrated'], 'and no write stage');
});

test('what ends reports the empty frontier as its last word, once', () => {
  const f = new Fixture('index');
  f.upper.oks = f.upper.errs = 50;
  f.input = EMPTY;
  f.report();
  f.collection.drop();
  assert.deepEqual(f.said(), ['write empty, output empty'], 'the input was empty already');
});
