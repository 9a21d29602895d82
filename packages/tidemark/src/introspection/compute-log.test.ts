import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { diffAt, timeAt } from '../repr/batch.ts';
import { EMPTY, type Frontier } from '../time/timestamp.ts';
import { ComputeLog, EventClock, logTime } from './compute-log.ts';
import { MetricsRegistry } from './metrics-registry.ts';

class Clock {
  ms = 10_000;
  ns = 5_000_000_000;
  nowMs(): number {
    return this.ms;
  }
  monotonicNs(): number {
    return this.ns;
  }
}

test('the log time of an event is the next multiple of the interval, strictly later', () => {
  assert.deepEqual(
    [0, 1, 999, 1000, 1000.5, 1999].map((ms) => logTime(ms, 1000)),
    [1000, 1000, 1000, 2000, 2000, 2000],
  );
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: 4e12, noNaN: true }),
      fc.integer({ min: 1, max: 60_000 }),
      (ms, interval) => {
        const t = logTime(ms, interval);
        assert.ok(t > ms && t - ms <= interval && t % interval === 0);
      },
    ),
  );
});

test('one anchor: the wall clock is read once, steps move nothing, and rounding keeps the order', () => {
  const clock = new Clock();
  const events = new EventClock(clock);
  clock.ms = 99;
  clock.ns += 1_499.6;
  assert.equal(events.ns(), 1500, 'whole nanoseconds, also of a clock that reads fractions');
  assert.equal(events.micros(1500), 10_000_002);
  fc.assert(
    fc.property(fc.nat(1e9), fc.nat(1e9), (a, b) => {
      if (a <= b) assert.ok(events.micros(a) <= events.micros(b));
    }),
  );
});

function newLog(keptUpTo: () => Frontier = () => EMPTY): { readonly log: ComputeLog; readonly clock: Clock } {
  const clock = new Clock();
  return {
    clock,
    log: new ComputeLog({
      worker: 0,
      peers: 1,
      clock: new EventClock(clock),
      intervalMs: 1000,
      metrics: new MetricsRegistry(),
      keptUpTo,
    }),
  };
}

const create = (log: ComputeLog, id: string): ReturnType<ComputeLog['exportCreated']> =>
  log.exportCreated({ id, ns: log.clock.ns(), dataflow: 1, asOf: 5, reason: 'commanded', imports: ['t1'] });

test('rows stand at the time of their event, and the frontier follows the clock', () => {
  const { log, clock } = newLog();
  create(log, 'u1');
  const first = log.drain();
  assert.equal(first.frontier, 11_000);
  for (const b of first.batches.values())
    for (let i = 0; i < b.length; i++) assert.equal(timeAt(b, i), 11_000);
  clock.ns += 1e9;
  const e = create(log, 'u2');
  e.frontier(3);
  const second = log.drain();
  assert.equal(second.frontier, 12_000);
  for (const b of second.batches.values())
    for (let i = 0; i < b.length; i++)
      assert.ok(timeAt(b, i) >= first.frontier, 'nothing at a time that was complete');
});

test('a frontier is logged when it changes, and the empty one has no row', () => {
  const { log } = newLog();
  const e = create(log, 'u1');
  log.drain();
  e.frontier(0);
  e.importFrontier('t1', 0);
  assert.equal(log.live.events, 0);
  e.frontier(7);
  e.frontier(7);
  assert.equal(log.live.events, 1);
  e.frontier(EMPTY);
  assert.deepEqual([...log.drain().batches.keys()], ['mz_compute_frontiers_per_worker']);
});

test('dropping leaves no owner, no text and no event, and a late error count reaches nobody', () => {
  const { log } = newLog();
  const e = create(log, 'u1');
  log.drain();
  e.errors(1);
  e.drop();
  const f = create(log, 'u2');
  e.errors(5);
  log.drain();
  assert.equal(log.live.owners, 1);
  f.drop();
  log.peekInstalled({
    uuid: '00000000-0000-4000-8000-000000000001',
    objectId: 'u2',
    type: 'index',
    time: 1,
  })();
  log.drain();
  assert.deepEqual(log.live, { owners: 0, events: 0, slots: 0 });
});

test('counts wait for what is kept from them, add up meanwhile, and keep no other row waiting', () => {
  let kept: Frontier = 0;
  const { log, clock } = newLog(() => kept);
  const peeks = (): number[] => {
    const b = log.drain().batches.get('mz_peek_durations_histogram_raw');
    return b === undefined ? [] : Array.from({ length: b.length }, (_, i) => diffAt(b, i));
  };
  const peek = (): void =>
    log.peekInstalled({
      uuid: '00000000-0000-4000-8000-000000000001',
      objectId: 'u1',
      type: 'index',
      time: 1,
    })();
  peek();
  assert.deepEqual(peeks(), [1]);
  for (let interval = 1; interval <= 5; interval++) {
    clock.ns += 1e9;
    peek();
    assert.ok(log.due, 'an interval is over');
    const e = create(log, `u${interval}`);
    assert.deepEqual(peeks(), []);
    assert.equal(log.live.events, 0);
    assert.ok(!log.due && log.nextTurnMs > 0, 'no turn before the next interval is over');
    e.drop();
  }
  kept = 11_001;
  assert.ok(log.due, 'what was told last has arrived');
  assert.deepEqual(peeks(), [5]);
});
