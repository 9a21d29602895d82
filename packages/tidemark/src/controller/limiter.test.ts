/**
 * The limiter by itself: its rules one by one, and random histories against a model that looks at the whole queue after
 * every step. What it cannot see: whether workers report what they should.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { GlobalId } from '../base/ids.ts';
import type { Command } from '../compute/protocol.ts';
import type { LifecycleStage } from '../introspection/lifecycle.ts';
import { EMPTY } from '../time/timestamp.ts';
import { dataflow, gid } from './instance.fixture.ts';
import { HydrationLimiter } from './limiter.ts';

class Fixture {
  readonly limiter: HydrationLimiter;
  readonly workers: number;
  slots: number;
  nowMs = 0;
  #sent: Command[] = [];

  constructor(slots: number, workers = 1) {
    this.slots = slots;
    this.workers = workers;
    this.limiter = new HydrationLimiter({
      workers,
      capacity: () => this.slots,
      nowMs: () => this.nowMs,
      send: (c) => this.#sent.push(c),
    });
  }
  create(id: string, imports: readonly string[] = []): void {
    this.limiter.send({ kind: 'createDataflow', dataflow: dataflow(id, imports) });
  }
  schedule(id: string): void {
    this.limiter.send({ kind: 'schedule', id: gid(id), waitedOn: 'inputs_available' });
  }
  drop(id: string): void {
    this.limiter.send({ kind: 'allowCompaction', id: gid(id), frontier: EMPTY });
  }
  stage(id: string, stage: LifecycleStage, worker: number): void {
    this.limiter.receive({
      kind: 'lifecycle',
      worker,
      id: gid(id),
      stage,
      occurredAt: 0,
      reason: null,
      asOf: 1,
      life: 0,
    });
  }
  hydrated(id: string): void {
    for (let w = 0; w < this.workers; w++) this.stage(id, 'hydrated', w);
  }
  fail(id: string): void {
    this.limiter.receive({ kind: 'failed', worker: 0, id: gid(id), code: 'io_error', message: '' });
  }
  /** Schedules that left since the last call, those that waited for a slot with a star. */
  left(): string[] {
    return this.#sent
      .splice(0)
      .flatMap((c) =>
        c.kind === 'schedule' ? [`${c.id}${c.waitedOn === 'hydration_limit' ? '*' : ''}`] : [],
      );
  }
}

test('as many objects as there are slots go, the next when one is hydrated on every worker', () => {
  const f = new Fixture(2, 2);
  for (const id of ['u1', 'u2', 'u3', 'u4']) f.create(id);
  for (const id of ['u1', 'u2', 'u3', 'u4']) f.schedule(id);
  assert.deepEqual(f.left(), ['u1', 'u2']);
  f.stage('u2', 'hydrated', 0);
  assert.deepEqual(f.left(), [], 'one worker has not');
  f.stage('u2', 'hydrated', 0);
  assert.deepEqual(f.left(), [], 'and a repetition is not the other one');
  f.stage('u2', 'hydrated', 1);
  assert.deepEqual(f.left(), ['u3*']);
});

test('a view that holds the only place in the queue does not keep out the index that it waits for', () => {
  const f = new Fixture(1);
  f.create('i1');
  f.create('u2', ['i1']);
  f.create('u3');
  f.schedule('u2');
  assert.deepEqual(f.left(), []);
  assert.equal(f.limiter.queued(gid('u2'))?.waitsFor, 'i1');
  f.schedule('i1');
  f.schedule('u3');
  assert.deepEqual(f.left(), ['i1']);
  f.hydrated('i1');
  assert.deepEqual(f.left(), ['u2'], 'first in the queue; it waited for its index, not for a slot');
  f.hydrated('u2');
  assert.deepEqual(f.left(), ['u3*']);
});

test('queries pass, and a log index keeps nobody waiting', () => {
  const f = new Fixture(0);
  f.create('t9');
  f.schedule('t9');
  assert.deepEqual(f.left(), ['t9']);
  f.slots = 1;
  f.create('u1', ['si1']);
  f.schedule('u1');
  assert.deepEqual(f.left(), ['u1']);
});

test('no slots pause what has not started; what waits says since when, and for whom', () => {
  const f = new Fixture(0);
  f.create('u1');
  f.create('u2');
  f.nowMs = 5;
  f.schedule('u1');
  f.nowMs = 7;
  f.schedule('u2');
  assert.deepEqual(f.limiter.queued(gid('u1')), {
    sinceMs: 5,
    waitsFor: null,
    longestHolder: null,
    capacity: 0,
  });
  f.slots = 1;
  f.limiter.step();
  assert.deepEqual(f.left(), ['u1*']);
  assert.equal(f.limiter.queued(gid('u1')), undefined);
  assert.deepEqual(f.limiter.queued(gid('u2')), {
    sinceMs: 7,
    waitsFor: null,
    longestHolder: 'u1',
    capacity: 1,
  });
});

for (const [name, end] of [
  ['dropped', (f: Fixture) => f.drop('u1')],
  ['failed', (f: Fixture) => f.fail('u1')],
] as const)
  test(`an object that is ${name} gives its slot back`, () => {
    const f = new Fixture(1);
    f.create('u1');
    f.create('u2');
    f.schedule('u1');
    f.schedule('u2');
    f.left();
    end(f);
    assert.deepEqual(f.left(), ['u2*']);
    f.drop('u1');
    f.drop('u2');
    f.limiter.assertEmpty();
  });

test('an object that is created again takes its turn like a new one', () => {
  const f = new Fixture(1);
  f.create('u1');
  f.create('u2');
  f.schedule('u1');
  f.schedule('u2');
  f.fail('u1');
  f.left();
  f.drop('u1');
  f.create('u1');
  f.schedule('u1');
  assert.deepEqual(f.left(), []);
  f.hydrated('u2');
  assert.deepEqual(f.left(), ['u1*']);
});

test('what the replica kept over a reconnect is scheduled at once, and holds a slot until it is hydrated', () => {
  const f = new Fixture(1);
  for (const id of ['u1', 'u2', 'u3']) f.create(id);
  for (const id of ['u1', 'u2', 'u3']) f.schedule(id);
  assert.deepEqual(f.left(), ['u1']);
  f.stage('u2', 'started', 0);
  assert.deepEqual(f.left(), ['u2*']);
  assert.equal(f.limiter.held, 2);
  f.hydrated('u1');
  assert.deepEqual(f.left(), [], 'its slot is taken already');
  f.hydrated('u2');
  assert.deepEqual(f.left(), ['u3*']);
});

test('an object that is hydrated before its Schedule left gets it all the same, and takes no slot', () => {
  const f = new Fixture(1);
  f.create('i1');
  f.create('u2');
  f.schedule('u2');
  f.schedule('i1');
  assert.deepEqual(f.left(), ['u2']);
  f.stage('i1', 'started', 0);
  f.hydrated('i1');
  assert.deepEqual(f.left(), ['i1*']);
  assert.equal(f.limiter.held, 1);
});

test('the exports of a dataflow share a slot until all of them are hydrated', () => {
  const f = new Fixture(1);
  const one = dataflow('u1', []);
  const exports = [...one.indexExports, { ...one.indexExports[0]!, id: gid('u2') }];
  f.limiter.send({ kind: 'createDataflow', dataflow: { ...one, indexExports: exports } });
  f.create('u3');
  for (const id of ['u1', 'u2', 'u3']) f.schedule(id);
  assert.deepEqual(f.left(), ['u1', 'u2']);
  f.hydrated('u1');
  assert.deepEqual(f.left(), []);
  f.drop('u2');
  assert.deepEqual(f.left(), ['u3*'], 'the one that is left is hydrated');
});

// ---- Random histories

type Step =
  | { readonly kind: 'create'; readonly imports: readonly number[] }
  | { readonly kind: 'capacity'; readonly n: number }
  | { readonly kind: 'schedule' | 'drop' | 'fail' | 'started' | 'recreate'; readonly at: number }
  | { readonly kind: 'hydrated'; readonly at: number; readonly worker: number };

const at = fc.nat(9);
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('create' as const), imports: fc.array(at, { maxLength: 2 }) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('schedule' as const), at }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('hydrated' as const), at, worker: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('drop', 'fail', 'started', 'recreate'), at }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('capacity' as const), n: fc.nat(3) }) },
);

interface ModelObject {
  readonly id: string;
  readonly imports: readonly string[];
  readonly hydrated: Set<number>;
  place: number | null;
  isOpen: boolean;
  holds: boolean;
  waited: boolean;
  wasScheduled: boolean;
}

/** Looks at everything after every step. */
class Model {
  readonly objects = new Map<string, ModelObject>();
  slots = 0;
  #places = 0;
  left: string[] = [];

  create(id: string, imports: readonly string[]): void {
    this.objects.set(id, {
      id,
      imports,
      hydrated: new Set(),
      place: null,
      isOpen: false,
      holds: false,
      waited: false,
      wasScheduled: false,
    });
  }
  schedule(o: ModelObject): void {
    o.wasScheduled = true;
    if (o.isOpen) this.left.push(o.id);
    else o.place ??= this.#places++;
  }
  open(o: ModelObject, holds: boolean): void {
    o.isOpen = true;
    o.holds = holds;
    if (o.place !== null) this.left.push(o.waited ? `${o.id}*` : o.id);
    o.place = null;
  }
  settle(): void {
    const queue = [...this.objects.values()]
      .filter((o) => o.place !== null)
      .sort((a, b) => a.place! - b.place!);
    for (const o of queue) {
      if (o.imports.some((i) => (this.objects.get(i)?.hydrated.size ?? 2) < 2)) continue;
      if ([...this.objects.values()].filter((h) => h.holds).length < this.slots) this.open(o, true);
      else o.waited = true;
    }
  }
}

function run(history: readonly Step[], seen: { passed: number; waited: number; forIndex: number }): void {
  const f = new Fixture(1, 2);
  const m = new Model();
  m.slots = 1;
  let ids = 0;
  for (const s of history) {
    const live = [...m.objects.values()];
    const o = 'at' in s ? live[s.at % Math.max(live.length, 1)] : undefined;
    if ('at' in s && o === undefined) continue;
    switch (s.kind) {
      case 'create': {
        const id = `i${ids++}`;
        const imports = live.length === 0 ? [] : s.imports.map((i) => live[i % live.length]!.id);
        f.create(id, imports);
        m.create(id, imports);
        break;
      }
      case 'capacity':
        f.slots = m.slots = s.n;
        f.limiter.step();
        break;
      case 'schedule':
        if (o!.wasScheduled) continue;
        f.schedule(o!.id);
        m.schedule(o!);
        break;
      case 'drop':
      case 'recreate': {
        // What others import is not dropped before them.
        if (live.some((d) => d.imports.includes(o!.id))) continue;
        f.drop(o!.id);
        m.objects.delete(o!.id);
        if (s.kind === 'drop') break;
        m.settle();
        f.create(o!.id, o!.imports);
        m.create(o!.id, o!.imports);
        break;
      }
      case 'fail':
        f.fail(o!.id);
        m.open(o!, false);
        break;
      case 'started':
        f.stage(o!.id, 'started', 0);
        if (!o!.isOpen) m.open(o!, o!.hydrated.size < 2);
        break;
      case 'hydrated':
        f.stage(o!.id, 'hydrated', s.worker);
        o!.hydrated.add(s.worker);
        if (o!.hydrated.size === 2) m.open(o!, false);
        break;
    }
    m.settle();
    const left = f.left();
    assert.deepEqual(left, m.left.splice(0), `after ${JSON.stringify(s)}`);
    for (const l of left)
      if (l.endsWith('*')) seen.waited++;
      else seen.passed++;
    for (const x of m.objects.values()) {
      const queued = f.limiter.queued(x.id as GlobalId);
      assert.equal(queued !== undefined, x.place !== null, `${x.id} is in the queue`);
      if (queued !== undefined && queued.waitsFor !== null) seen.forIndex++;
    }
    assert.equal(f.limiter.held, [...m.objects.values()].filter((x) => x.holds).length);
  }
  for (const x of [...m.objects.values()].reverse()) f.drop(x.id);
  f.limiter.assertEmpty();
}

test('random histories do what a model does that looks at the whole queue after every step', () => {
  const seen = { passed: 0, waited: 0, forIndex: 0 };
  fc.assert(
    fc.property(fc.array(steps, { minLength: 20, maxLength: 80 }), (history) => run(history, seen)),
    { numRuns: 500 },
  );
  for (const [what, n] of Object.entries(seen)) assert.ok(n > 50, `${what}: ${n}`);
});
