/** The worker: routing, order of shutdown, running sums of events, budget, and what a capability permits. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Arranged, arrange } from '../operators/arrange.ts';
import { asRows } from '../operators/as-rows.ts';
import { capture } from '../operators/capture.ts';
import { exchangeRows } from '../operators/exchange.ts';
import { join } from '../operators/join.ts';
import { negate } from '../operators/negate.ts';
import { probe } from '../operators/probe.ts';
import { reduce } from '../operators/reduce.ts';
import { type InputHandle, source } from '../operators/source.ts';
import { batchOf, contents, TestCluster, type Update, updatesOf } from '../operators/test-cluster.ts';
import { union } from '../operators/union.ts';
import type { Batch } from '../repr/batch.ts';
import { hashRows } from '../repr/hash.ts';
import type { Kind } from '../repr/types.ts';
import { SeededRandom } from '../testkit/random.ts';
import { EMPTY } from '../time/timestamp.ts';
import { arrangementSpec } from '../trace/arranged-batch.ts';
import type { Scope } from './builder.ts';
import { broadcast, exchange, toWorker } from './channel.ts';
import { type ChannelDescription, type DataflowEvents, noEvents } from './events.ts';
import { LocalMesh } from './local-mesh.ts';
import { Worker } from './worker.ts';

const KINDS: Kind[] = ['i32', 'i32'];
const SPEC = arrangementSpec(KINDS, [0]);

/** Everything as a running sum keyed by what the relations are keyed by. */
class Ledger implements DataflowEvents {
  readonly sums = new Map<string, number>();
  readonly log: string[] = [];
  readonly channels: ChannelDescription[] = [];
  #running: number | undefined;
  readonly #live = new Set<number>();

  #add(key: string, diff: number): void {
    const n = (this.sums.get(key) ?? 0) + diff;
    assert.ok(n >= 0, `${key} is ${n}`);
    if (n === 0) this.sums.delete(key);
    else this.sums.set(key, n);
  }
  operatorCreated(id: number, address: readonly number[], name: string): void {
    this.log.push(`+${address.join('.')} ${name}`);
    this.#live.add(id);
    this.#add(`operator ${id}`, 1);
  }
  operatorShutdown(id: number): void {
    assert.ok(this.#live.delete(id));
    this.log.push(`-${id}`);
    this.#add(`operator ${id}`, -1);
  }
  channelCreated(c: ChannelDescription): void {
    this.channels.push(c);
  }
  dataflowShutdown(index: number): void {
    this.log.push(`end ${index}`);
  }
  scheduleStart(id: number): void {
    assert.equal(this.#running, undefined);
    assert.ok(this.#live.has(id), 'only what lives is scheduled');
    this.#running = id;
  }
  scheduleStop(id: number, elapsedNs: number): void {
    assert.equal(this.#running, id);
    assert.ok(this.#live.has(id), 'an operator lives until its run is over');
    assert.ok(elapsedNs >= 0);
    this.#running = undefined;
  }
  frontierPassed(id: number): void {
    assert.ok(this.#live.has(id), 'frontiers pass through what lives');
  }
  messageSent(channel: number, to: number, records: number): void {
    this.#add(`sent ${channel} ${to}`, records);
  }
  messageReceived(channel: number, from: number, records: number): void {
    this.#add(`received ${channel} ${from}`, records);
  }
  park(): void {}
  unpark(): void {}
  batchAdded(id: number, records: number): void {
    this.#add(`batches ${id}`, 1);
    this.#add(`records ${id}`, records);
  }
  batchesMerged(id: number, older: number, newer: number, merged: number): void {
    this.#add(`batches ${id}`, -1);
    this.#add(`records ${id}`, merged - older - newer);
  }
  batchDropped(id: number, records: number): void {
    this.#add(`batches ${id}`, -1);
    this.#add(`records ${id}`, -records);
  }
  traceShared(id: number, diff: number): void {
    this.#add(`shared ${id}`, diff);
  }
  heap(id: number, size: number, capacity: number, allocations: number): void {
    this.#add(`size ${id}`, size);
    this.#add(`capacity ${id}`, capacity);
    this.#add(`allocations ${id}`, allocations);
  }
  batcher(id: number, records: number, size: number, capacity: number, allocations: number): void {
    this.#add(`batcher records ${id}`, records);
    this.#add(`batcher size ${id}`, size);
    this.#add(`batcher capacity ${id}`, capacity);
    this.#add(`batcher allocations ${id}`, allocations);
  }
  /** What is left but the counts of messages, which go with their channels. */
  get left(): string[] {
    return [...this.sums.keys()].filter((k) => !k.startsWith('sent') && !k.startsWith('received'));
  }
}

function buildDiamond(scope: Scope, seen: Update[]): InputHandle {
  const s = source(scope);
  const a: Arranged = arrange(scope, s.stream, { spec: SPEC });
  scope.region('twice', (inner) => {
    const rows = asRows(inner, a);
    const joined = join(inner, a, a, {
      output: [
        { from: 'key', column: 0 },
        { from: 'left', column: 0 },
      ],
    });
    const sum = union(inner, [rows, joined, negate(inner, rows)]);
    probe(inner, sum);
    capture(inner, sum, { batch: (b) => seen.push(...updatesOf(b)), frontier() {} });
  });
  return s.handle;
}

const someRows = (t: number, n: number): Batch =>
  batchOf(
    KINDS,
    Array.from({ length: n }, (_, i) => ({ row: [i % 7, i], time: t, diff: 1 })),
  );

describe('worker', () => {
  for (const how of ['complete', 'drop'] as const)
    it(`tells everything it created to an end: ${how}`, () => {
      for (let seed = 1; seed < 12; seed++) {
        const ledgers = [new Ledger(), new Ledger()];
        const cluster = new TestCluster({ peers: 2, seed, fuel: 9, events: (w) => ledgers[w]! });
        const seen: Update[] = [];
        const inputs: InputHandle[] = [];
        for (const w of cluster.workers)
          w.buildDataflow('d', (scope) => {
            inputs.push(buildDiamond(scope, seen));
          });
        for (let t = 0; t < 5; t++) {
          for (const i of inputs) i.push(someRows(t, 20));
          for (const i of inputs) i.advanceTo(t + 1);
          for (let n = 0; n < 200; n++) cluster.tick();
        }
        if (how === 'complete') for (const i of inputs) i.close();
        else for (const w of cluster.workers) w.dataflow(0)!.drop();
        cluster.settle();
        for (const [i, l] of ledgers.entries()) {
          assert.deepEqual(l.left, []);
          assert.equal(l.log[0], '+0 d');
          assert.ok(l.log.includes('+0.3 twice') && l.log.includes('+0.3.1 AsRows'));
          assert.equal(l.log.at(-1), 'end 0');
          assert.equal(l.log.at(-2), '-0', 'the root goes last');
          for (const [what, n] of Object.entries(cluster.workers[i]!.debugCounts())) assert.equal(n, 0, what);
        }
        // The arrangement is read inside the region: that channel stands in the dataflow's own scope.
        const into = ledgers[0]!.channels.find((c) => c.type === 'arranged')!;
        assert.deepEqual([into.scopeAddress, into.fromIndex, into.toIndex], [[0], 2, 3]);
      }
    });

  it('lets an operator drop its own dataflow', () => {
    const ledger = new Ledger();
    const cluster = new TestCluster({ peers: 1, seed: 1, events: () => ledger });
    const w = cluster.workers[0]!;
    let input!: InputHandle;
    let ended = 0;
    const dataflow = w.buildDataflow('d', (scope) => {
      const s = source(scope);
      input = s.handle;
      arrange(scope, s.stream, { spec: SPEC });
      capture(scope, s.stream, {
        batch: () => dataflow.drop(),
        frontier() {},
        end: () => ended++,
      });
    });
    input.push(someRows(0, 10));
    input.advanceTo(1);
    cluster.settle();
    assert.equal(ended, 1);
    assert.equal(dataflow.state, 'dropped');
    assert.ok(input.closed);
    assert.deepEqual(ledger.left, []);
    for (const [what, n] of Object.entries(w.debugCounts())) assert.equal(n, 0, what);
  });

  it('keeps what comes for a dataflow that is not built yet, and ignores it for one that is gone', () => {
    const mesh = new LocalMesh(2);
    const clock = { nowMs: () => 0, monotonicNs: () => 0 };
    const workers = [0, 1].map((index) => new Worker({ index, peers: 2, mesh: mesh.end(index), clock }));
    for (const [i, w] of workers.entries()) mesh.attach(i, w);
    const seen: Update[] = [];
    const build = (w: Worker): InputHandle => {
      let input!: InputHandle;
      w.buildDataflow('d', (scope) => {
        const s = source(scope);
        input = s.handle;
        const moved = exchangeRows(scope, s.stream, exchange([0], hashRows));
        capture(scope, moved, { batch: (b) => seen.push(...updatesOf(b)), frontier() {} });
      });
      return input;
    };
    const first = build(workers[0]!);
    first.push(someRows(0, 50));
    first.close();
    workers[0]!.step({ budgetNs: 1 });
    mesh.deliver();
    assert.ok(workers[1]!.debugCounts().bufferedMessages > 0);
    build(workers[1]!).close();
    for (let n = 0; n < 5; n++) {
      for (const w of workers) w.step({ budgetNs: 1 });
      mesh.deliver();
    }
    assert.deepEqual(contents(seen, 0), contents(updatesOf(someRows(0, 50)), 0));
    for (const w of workers)
      for (const [what, n] of Object.entries(w.debugCounts())) assert.equal(n, 0, what);
    workers[1]!.receive(0, { kind: 'frontier', dataflow: 0, channel: 0, frontier: EMPTY });
    assert.equal(workers[1]!.debugCounts().bufferedMessages, 0);
  });

  it('routes by pact', () => {
    for (const [pact, copies, places] of [
      [toWorker(1), 1, [1]],
      [broadcast, 3, [0, 1, 2]],
    ] as const) {
      const cluster = new TestCluster({ peers: 3, seed: 4 });
      const seen: Update[][] = [[], [], []];
      const inputs: InputHandle[] = [];
      for (const w of cluster.workers)
        w.buildDataflow('d', (scope) => {
          const s = source(scope);
          inputs.push(s.handle);
          capture(scope, exchangeRows(scope, s.stream, pact), {
            batch: (b) => seen[w.index]!.push(...updatesOf(b)),
            frontier() {},
          });
        });
      inputs[0]!.push(someRows(0, 10));
      for (const i of inputs) i.close();
      cluster.settle();
      assert.equal(seen.flat().length, 10 * copies);
      assert.deepEqual(
        [0, 1, 2].filter((w) => seen[w]!.length > 0),
        [...places],
      );
    }
  });

  it('sends nothing before the time of a capability', () => {
    const cluster = new TestCluster({ peers: 1, seed: 1 });
    let input!: InputHandle;
    cluster.workers[0]!.buildDataflow('d', (scope) => {
      const s = source(scope);
      input = s.handle;
      probe(scope, s.stream);
    });
    input.advanceTo(5);
    input.push(someRows(4, 1));
    assert.throws(() => cluster.settle(), /time 4 is sent with a capability at 5/);
  });

  it('wakes its host once, and stops at its budget', () => {
    let woken = 0;
    let now = 0;
    const worker = new Worker({
      index: 0,
      peers: 1,
      mesh: new LocalMesh(1).end(0),
      clock: { nowMs: () => 0, monotonicNs: () => now++ },
      onWake: () => woken++,
    });
    let input!: InputHandle;
    worker.buildDataflow('d', (scope) => {
      const s = source(scope);
      input = s.handle;
      probe(scope, negate(scope, s.stream));
    });
    while (worker.step({ budgetNs: 1 }) === 'more');
    woken = 0;
    input.push(someRows(0, 1));
    input.advanceTo(1);
    assert.equal(woken, 1);
    assert.equal(worker.step({ budgetNs: 1 }), 'more');
    assert.equal(worker.step({ budgetNs: 1_000 }), 'idle');
    assert.equal(woken, 1);
  });

  /** Dataflows of one operator each that always has more to do; what ran, in order. The clock ticks a millisecond a look. */
  function restless(flows: readonly { readonly name: string; readonly urgent: boolean }[]) {
    let now = 0;
    const ran: string[] = [];
    const worker = new Worker({
      index: 0,
      peers: 1,
      mesh: new LocalMesh(1).end(0),
      clock: { nowMs: () => 0, monotonicNs: () => (now += 1e6) },
    });
    for (const { name, urgent } of flows)
      worker.buildDataflow(
        name,
        (scope) => {
          const op = scope.operator(name);
          op.output('o');
          op.build((ctx) => {
            // Held, or it would have reached its end.
            ctx.initialCapability();
            return {
              run() {
                ran.push(name);
                ctx.reactivate();
              },
            };
          });
        },
        { urgent },
      );
    return { worker, ran };
  }

  it('runs urgent dataflows first, and no more than half of the time', () => {
    const { worker, ran } = restless([
      { name: 'a', urgent: false },
      { name: 'b', urgent: false },
      { name: 'query', urgent: true },
    ]);
    worker.step({ budgetNs: 16e6 });
    assert.deepEqual(new Set(ran), new Set(['query']));
    ran.length = 0;
    worker.step({ budgetNs: 400e6 });
    const count = (name: string): number => ran.filter((r) => r === name).length;
    assert.ok(Math.abs(count('query') - count('a') - count('b')) <= 1, ran.join(' '));
    assert.ok(Math.abs(count('a') - count('b')) <= 1, ran.join(' '));
  });

  it('does not hold against urgent dataflows the time that nobody waited for', () => {
    const { worker, ran } = restless([{ name: 'query', urgent: true }]);
    worker.step({ budgetNs: 100e6 });
    ran.length = 0;
    worker.buildDataflow('late', (scope) => {
      const s = source(scope);
      probe(scope, s.stream);
    });
    worker.step({ budgetNs: 1e6 });
    assert.deepEqual(ran, ['query']);
  });

  it('passes frontiers through what has nothing to say to them, without a run of each', () => {
    const runs: string[] = [];
    const names = new Map<number, string>();
    const passed: string[] = [];
    const events: DataflowEvents = {
      ...noEvents,
      operatorCreated: (id, _address, name) => names.set(id, name),
      scheduleStart: (id) => runs.push(names.get(id)!),
      frontierPassed: (id) => passed.push(names.get(id)!),
    };
    const worker = new Worker({
      index: 0,
      peers: 1,
      mesh: new LocalMesh(1).end(0),
      clock: { nowMs: () => 0, monotonicNs: () => 0 },
      events,
    });
    const frontiers: number[] = [];
    const rows: Update[] = [];
    let input!: InputHandle;
    worker.buildDataflow('d', (scope) => {
      const s = source(scope);
      input = s.handle;
      const sum = union(scope, [negate(scope, s.stream), negate(scope, s.stream)]);
      capture(scope, sum, { batch: (b) => rows.push(...updatesOf(b)), frontier: (f) => frontiers.push(f) });
    });
    const settle = (): void => {
      while (worker.step({ budgetNs: 1 }) === 'more');
    };
    settle();
    runs.length = 0;
    input.advanceTo(5);
    settle();
    assert.deepEqual(runs, ['Source', 'Capture']);
    assert.deepEqual([...new Set(passed)].sort(), ['Negate', 'Union']);
    assert.equal(frontiers.at(-1), 5);
    // A batch is run for, and its frontier stays behind it.
    input.push(someRows(5, 3));
    input.advanceTo(6);
    passed.length = 0;
    settle();
    assert.equal(rows.length, 6);
    assert.equal(frontiers.at(-1), 6);
    input.close();
    settle();
    for (const [what, n] of Object.entries(worker.debugCounts())) assert.equal(n, 0, what);
  });

  it('runs one operator of an idle dataflow for a tick, and says which dataflows it went through', () => {
    const runs: string[] = [];
    const names = new Map<number, string>();
    const mesh = new LocalMesh(2);
    const random = new SeededRandom(1);
    let woken = 0;
    const workers = [0, 1].map((index) => {
      const worker = new Worker({
        index,
        peers: 2,
        mesh: mesh.end(index),
        clock: { nowMs: () => 0, monotonicNs: () => 0 },
        events: {
          ...noEvents,
          operatorCreated: (id, _address, name) => names.set(id, name),
          scheduleStart: (id) => runs.push(names.get(id)!),
        },
        onWake: () => {
          if (index === 0) woken++;
        },
      });
      mesh.attach(index, worker);
      return worker;
    });
    const inputs = workers.map((worker) => {
      let input!: InputHandle;
      worker.buildDataflow('d', (scope) => {
        const s = source(scope);
        input = s.handle;
        const kept = exchangeRows(scope, s.stream, exchange([0], hashRows));
        const groups = reduce(scope, kept, {
          collection: 'groups',
          keys: [0],
          keyKinds: ['i32'],
          aggregates: [],
          encodeError: () => new Uint8Array(0),
        });
        arrange(scope, groups.oks, { spec: arrangementSpec(['i32'], [0]) });
        probe(scope, groups.errs).onChange(() => undefined);
      });
      return input;
    });
    const settle = (): void => {
      do {
        while (mesh.pending > 0) mesh.deliverOne(random);
        for (const w of workers) while (w.step({ budgetNs: 1 }) === 'more');
      } while (mesh.pending > 0);
    };
    settle();
    for (const w of workers) w.takeRan();
    runs.length = 0;
    // The other worker's frontier does not move: nothing goes through the exchange yet.
    inputs[0]!.advanceTo(5);
    settle();
    assert.deepEqual(runs, ['Source']);
    runs.length = 0;
    inputs[1]!.advanceTo(5);
    workers[1]!.step({ budgetNs: 1 });
    for (const w of workers) w.takeRan();
    woken = 0;
    assert.ok(mesh.pending > 0);
    settle();
    // Worker 0 ran nothing: the frontier came from outside and went through, and its host gives it a step to tell so.
    assert.deepEqual(runs, ['Source']);
    assert.ok(woken > 0);
    assert.deepEqual([...workers[0]!.takeRan()], [0]);
    for (const input of inputs) input.close();
    settle();
    for (const w of workers) assert.equal(w.debugCounts().operators, 0);
  });

  it('frees what a failing description had made', () => {
    const cluster = new TestCluster({ peers: 1, seed: 1 });
    const w = cluster.workers[0]!;
    assert.throws(() =>
      w.buildDataflow('d', (scope) => {
        arrange(scope, source(scope).stream, { spec: SPEC });
        throw new Error('no');
      }),
    );
    cluster.settle();
    for (const [what, n] of Object.entries(w.debugCounts())) assert.equal(n, 0, what);
  });
});
