/**
 * A writer over stores that fail at every point: before the effect, after it with the answer lost, and with the
 * process dying either way. Checked against what was acknowledged. It cannot see torn writes of the stores
 * themselves: their own tests, and the kill test, are about those.
 *
 * Replay: SEED=<n> RUNS=1 node --test crash.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlError } from '../base/error.ts';
import { SeededRandom } from '../testkit/random.ts';
import { type Blob, MemoryBlob } from './blob.ts';
import { type Consensus, MemoryConsensus } from './consensus.ts';
import { accumulate, readAll, realTimers, rows, SCHEMA, TestClock, type Update } from './fixtures.ts';
import { MemoryPins } from './pins.ts';
import type { Shard } from './shard.ts';
import { Shards } from './shards.ts';

class Crash extends Error {}

/** Decides, call by call, what becomes of it. Dead: nothing has an effect any more. */
class Faults {
  readonly #random: SeededRandom;
  readonly #rate: number;
  readonly #crashRate: number;
  dead = false;
  /** How often each kind of fault struck. */
  readonly struck = { before: 0, after: 0, crash: 0 };

  constructor(random: SeededRandom, rate: number, crashRate: number) {
    this.#random = random;
    this.#rate = rate;
    this.#crashRate = crashRate;
  }

  async run<T>(effect: () => Promise<T>): Promise<T> {
    if (this.dead) throw new Crash('dead');
    const before = this.#random.next() < 0.5;
    if (this.#random.next() < this.#crashRate) {
      this.dead = true;
      this.struck.crash++;
      if (!before) await effect();
      throw new Crash('crash');
    }
    if (this.#random.next() >= this.#rate) return effect();
    this.struck[before ? 'before' : 'after']++;
    if (!before) await effect();
    throw new SqlError('io_error', before ? 'it failed' : 'the answer was lost');
  }
}

const faultyBlob = (inner: Blob, f: Faults): Blob => ({
  get: (k) => f.run(() => inner.get(k)),
  put: (k, b) => f.run(() => inner.put(k, b)),
  delete: (k) => f.run(() => inner.delete(k)),
  list: (p) => f.run(() => inner.list(p)),
});

const faultyConsensus = (inner: Consensus, f: Faults): Consensus => ({
  head: (k) => f.run(() => inner.head(k)),
  read: (k, a) => f.run(() => inner.read(k, a)),
  compareAndSet: (ops, mode) => f.run(() => inner.compareAndSet(ops, mode)),
  remove: (k) => f.run(() => inner.remove(k)),
  list: (p) => f.run(() => inner.list(p)),
});

interface World {
  readonly blob: MemoryBlob;
  readonly consensus: MemoryConsensus;
  readonly clock: TestClock;
  readonly random: SeededRandom;
  /** What was appended for certain, by shard. */
  readonly contents: Map<string, Update[]>;
  start: number;
  value: number;
  upper: number;
}

const IDS = ['u1', 'u2'];

function shardsOver(w: World, blob: Blob, consensus: Consensus): Shards {
  return new Shards({
    blob,
    consensus,
    clock: w.clock,
    timers: realTimers,
    random: w.random,
    inlineMaxBytes: 300,
    compaction: { inlineParts: 3, fanOut: 2, slackRows: 5 },
  });
}

/** What the shards hold, read without faults: the model must agree at every readable time. */
async function check(w: World): Promise<void> {
  const shards = shardsOver(w, w.blob, w.consensus);
  for (const id of IDS) {
    const shard = (await shards.open(id))!;
    assert.ok(shard.upper >= w.upper, `the upper of ${id} is ${shard.upper} and was ${w.upper}`);
    w.upper = Math.max(w.upper, shard.upper);
    for (let t = shard.since; t < shard.upper; t += 1 + w.random.below(3)) {
      const listing = await shard.snapshot(t);
      const sum = accumulate(await readAll(shards, listing.parts));
      listing.release();
      assert.deepEqual(sum, accumulate(w.contents.get(id)!, t), `contents of ${id} at ${t}`);
    }
    // Who takes the hold over knows that nobody else reads by it.
    if (shard.info().holds.length > 0) await shard.hold({ durableName: 'controller' });
    await shard.collectGarbage(0);
    const named = shard.info().batches.flatMap((b) => b.parts.flatMap((p) => p.key ?? []));
    assert.deepEqual(new Set(await w.blob.list(`${id}/`)), new Set(named), 'no orphans, nothing missing');
  }
}

/** One transaction over both shards; says what the caller was told. */
async function commit(w: World, shards: Shards, open: readonly Shard[]): Promise<void> {
  const lower = w.upper;
  const newUpper = lower + 1 + w.random.below(3);
  const updates = open.map((): Update[] => {
    const out: Update[] = [];
    for (let n = w.random.below(4); n > 0; n--) out.push([w.value++, lower, 1]);
    // A retraction of what is there, so that compaction has something to cancel.
    const old = w.contents.get(IDS[0]!)!.find(() => w.random.below(3) === 0);
    if (old !== undefined && open.length === 1) out.push([old[0], newUpper - 1, -1]);
    return out;
  });
  const appends = open.map((shard, i) => ({
    shard,
    ...(updates[i]!.length > 0 && { updates: [rows(updates[i]!)] }),
    expectedUpper: lower,
    newUpper,
  }));
  let told: 'ok' | 'refused' | 'unknown';
  try {
    const result = await shards.appendAll({ generation: 1, start: w.start }, appends);
    assert.notEqual(result.kind, 'fenced');
    told = result.kind === 'ok' ? 'ok' : 'refused';
  } catch (e) {
    if (!(e instanceof Crash) && !(e instanceof SqlError)) throw e;
    told = 'unknown';
  }
  // The one writer, so the upper tells whether it was applied.
  const fresh = shardsOver(w, w.blob, w.consensus);
  const applied = await Promise.all(IDS.map(async (id) => (await fresh.open(id))!.upper === newUpper));
  assert.ok(applied[0] === applied[1], 'a transaction applies to all or none');
  if (told === 'ok') assert.ok(applied[0], 'an acknowledged append is there');
  assert.notEqual(told, 'refused', 'the one writer is never told that another was first');
  if (!applied[0]) return;
  w.upper = newUpper;
  for (const [i, id] of IDS.entries()) w.contents.get(id)!.push(...updates[i]!);
}

async function life(w: World, faults: Faults, steps: number): Promise<void> {
  const shards = shardsOver(w, faultyBlob(w.blob, faults), faultyConsensus(w.consensus, faults));
  const writer = { generation: 1, start: ++w.start };
  const open: Shard[] = [];
  const tolerate = async <T>(f: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await f();
    } catch (e) {
      if (e instanceof Crash || (e instanceof SqlError && e.code === 'io_error')) return undefined;
      throw e;
    }
  };
  for (const id of IDS) {
    for (let taken = false; !taken && !faults.dead; )
      taken =
        (await tolerate(async () => {
          const shard = await shards.create(id, { schema: SCHEMA, since: 0, fence: writer });
          assert.equal(await shard.takeOver(writer), null);
          open.push(shard);
          return true;
        })) ?? false;
  }
  for (let step = 0; step < steps && !faults.dead; step++) {
    w.clock.now += 10;
    const shard = open[w.random.below(2)]!;
    switch (w.random.below(6)) {
      case 0:
        await tolerate(() => shard.maintain());
        break;
      case 1: {
        const since = Math.max(shard.since, w.upper - 1 - w.random.below(8));
        const hold = await tolerate(() => shard.hold({ durableName: 'controller' }));
        await tolerate(async () => hold?.downgrade(since));
        break;
      }
      case 2:
        await tolerate(() => shard.collectGarbage(0));
        break;
      default:
        await commit(w, shards, open);
    }
  }
  await shards.close();
  await check(w);
  // A writer that was only thought dead is fenced.
  if (!faults.dead) return;
  faults.dead = false;
  w.start++;
  const clean = shardsOver(w, w.blob, w.consensus);
  const next = { generation: 1, start: w.start };
  for (const id of IDS) assert.equal(await (await clean.open(id))!.takeOver(next), null);
  if (open.length < 2) return;
  const late = await tolerate(() =>
    shards.appendAll(writer, [{ shard: open[0]!, expectedUpper: w.upper, newUpper: w.upper + 1 }]),
  );
  if (late !== undefined) assert.equal(late.kind, 'fenced');
}

test('whatever fails, acknowledged appends are there exactly once', async () => {
  const first = Number(process.env['SEED'] ?? 1);
  const runs = Number(process.env['RUNS'] ?? 25);
  const struck = { before: 0, after: 0, crash: 0 };
  for (let seed = first; seed < first + runs; seed++) {
    const random = new SeededRandom(seed * 7919);
    const w: World = {
      blob: new MemoryBlob(),
      consensus: new MemoryConsensus(),
      clock: new TestClock(),
      random,
      contents: new Map(IDS.map((id) => [id, []])),
      start: 0,
      value: 1,
      upper: 0,
    };
    // They exist from the start, so that `check` always has something to open.
    const setUp = shardsOver(w, w.blob, w.consensus);
    for (const id of IDS)
      await setUp.create(id, { schema: SCHEMA, since: 0, fence: { generation: 1, start: 0 } });
    try {
      for (let n = 0; n < 4; n++) {
        const faults = new Faults(random, [0, 0.05, 0.2, 0.5][n]!, [0.02, 0.01, 0.01, 0][n]!);
        await life(w, faults, 30);
        for (const k of ['before', 'after', 'crash'] as const) struck[k] += faults.struck[k];
      }
    } catch (e) {
      throw new Error(`replay with SEED=${seed} RUNS=1`, { cause: e });
    }
  }
  assert.ok(Math.min(struck.before, struck.after, struck.crash) > 0, JSON.stringify(struck));
});

/** What every replica computes for [lower, upper). */
const computed = (lower: number, upper: number): Update[] =>
  Array.from({ length: upper - lower }, (_, i) => [lower + i, lower + i, 1]);

test('replicas that race over failing stores append each time exactly once', async () => {
  const first = Number(process.env['SEED'] ?? 1);
  const runs = Number(process.env['RUNS'] ?? 20);
  for (let seed = first; seed < first + runs; seed++) {
    const random = new SeededRandom(seed * 15_485_863);
    const stores = { blob: new MemoryBlob(), consensus: new MemoryConsensus() };
    const sink = { generation: 1, exportId: 'u9' };
    const faults = new Faults(random, 0.15, 0);
    const pins = new MemoryPins();
    const open = (blob: Blob, consensus: Consensus) =>
      new Shards({
        blob,
        consensus,
        pins,
        clock: new TestClock(),
        timers: realTimers,
        random: new SeededRandom(1 + random.below(1e9)),
        inlineMaxBytes: seed % 2 === 0 ? 0 : 300,
        compaction: { inlineParts: 3, fanOut: 2 },
      });
    const clean = open(stores.blob, stores.consensus);
    await clean.create('u9', { schema: SCHEMA, since: 0, fence: sink });
    const replica = async () => {
      const shards = open(faultyBlob(stores.blob, faults), faultyConsensus(stores.consensus, faults));
      for (let n = 0; n < 60; n++) {
        try {
          const shard = (await shards.open('u9'))!;
          const lower = (await shard.refresh()).upper;
          const upper = lower + 1 + random.below(3);
          // Sometimes the parts come from elsewhere, as a worker's do.
          const staged = random.below(2) === 0 ? await shard.stageParts(rows(computed(lower, upper))) : null;
          const result = await shard.compareAndAppend(sink, {
            ...(staged === null ? { updates: [rows(computed(lower, upper))] } : { parts: staged }),
            expectedUpper: lower,
            newUpper: upper,
          });
          if (result.kind === 'mismatch' && staged !== null) await shard.discardParts(staged);
          assert.notEqual(result.kind, 'fenced');
        } catch (e) {
          if (!(e instanceof SqlError) || e.code !== 'io_error') throw e;
        }
      }
      await shards.close();
    };
    try {
      await Promise.all([replica(), replica(), replica()]);
      const shard = (await open(stores.blob, stores.consensus).open('u9'))!;
      assert.ok(shard.upper > 60, `the upper is ${shard.upper}`);
      const { parts } = await shard.snapshot(shard.upper - 1);
      assert.deepEqual(accumulate(await readAll(clean, parts)), accumulate(computed(0, shard.upper)));
    } catch (e) {
      throw new Error(`replay with SEED=${seed} RUNS=1`, { cause: e });
    }
  }
});
