/**
 * Random histories of one shard, seen from several processes' points of view (each with its own `Shards` over
 * shared stores), against a list of updates. Writers race at the same upper, compaction runs while others read.
 * It cannot see faults of the stores: `crash.test.ts` is about those.
 *
 * Replay: SEED=<n> RUNS=1 node --test model.test.ts
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeededRandom } from '../testkit/random.ts';
import { EMPTY } from '../time/timestamp.ts';
import { MemoryBlob } from './blob.ts';
import { MemoryConsensus } from './consensus.ts';
import { accumulate, FENCE, readAll, realTimers, rows, SCHEMA, TestClock, type Update } from './fixtures.ts';
import { MemoryPins } from './pins.ts';
import type { Shard } from './shard.ts';
import type { Listen, ReadHold } from './shard-types.ts';
import { Shards } from './shards.ts';
import { MemoryWatch } from './watch.ts';

interface Process {
  readonly shards: Shards;
  readonly shard: Shard;
}

interface Listener {
  readonly shards: Shards;
  readonly hold: ReadHold;
  readonly listen: Listen;
  /** The snapshot, and all that followed. */
  readonly seen: Update[];
}

interface World {
  readonly random: SeededRandom;
  readonly processes: readonly Process[];
  readonly listeners: Listener[];
  readonly contents: Update[];
  upper: number;
  value: number;
  readonly did: Record<string, number>;
}

async function makeWorld(seed: number): Promise<World> {
  const random = new SeededRandom(seed * 104_729);
  const stores = {
    blob: new MemoryBlob(),
    consensus: new MemoryConsensus(),
    pins: new MemoryPins(),
    watch: new MemoryWatch(),
    clock: new TestClock(),
    timers: realTimers,
    processTag: 'p',
    inlineMaxBytes: [0, 300, 4096][seed % 3]!,
    compaction: { inlineParts: 4, fanOut: 2 + (seed % 3), slackRows: 10, passRows: 15, largeRows: 20 },
  };
  const processes: Process[] = [];
  for (let i = 0; i < 3; i++) {
    const shards = new Shards({ ...stores, random: new SeededRandom(seed * 31 + i) });
    processes.push({ shards, shard: await shards.create('u1', { schema: SCHEMA, since: 0, fence: FENCE }) });
  }
  return { random, processes, listeners: [], contents: [], upper: 0, value: 0, did: {} };
}

const pick = <T>(w: World, from: readonly T[]): T => from[w.random.below(from.length)]!;

/** Some updates with times in [lower, upper): new values, and retractions of old ones. */
function someUpdates(w: World, lower: number, upper: number): Update[] {
  const time = () => lower + w.random.below(upper - lower);
  const out: Update[] = [];
  for (let n = w.random.below(5); n > 0; n--) out.push([w.value++ % 40, time(), 1]);
  const live = [...accumulate(w.contents).keys()];
  for (let n = Math.min(w.random.below(4), live.length); n > 0; n--) out.push([live[n - 1]!, time(), -1]);
  return out;
}

async function race(w: World): Promise<void> {
  const expectedUpper = w.upper;
  const bids = w.processes.slice(0, 1 + w.random.below(3)).map((p) => {
    const newUpper = expectedUpper + 1 + w.random.below(4);
    return { p, newUpper, updates: someUpdates(w, expectedUpper, newUpper) };
  });
  const results = await Promise.all(
    bids.map(({ p, newUpper, updates }) =>
      p.shard.compareAndAppend(FENCE, {
        ...(updates.length > 0 && { updates: [rows(updates)] }),
        expectedUpper,
        newUpper,
      }),
    ),
  );
  const won = bids.filter((_, i) => results[i]!.kind === 'ok');
  assert.equal(won.length, 1, 'one of the racing appends wins');
  w.upper = won[0]!.newUpper;
  w.contents.push(...won[0]!.updates);
  for (const r of results)
    if (r.kind !== 'ok') assert.deepEqual(r, { kind: 'mismatch', shardId: 'u1', upper: w.upper });
}

async function readSnapshot(w: World, { shards, shard }: Process): Promise<void> {
  const { since } = await shard.refresh();
  if (since >= w.upper) return;
  const asOf = since + w.random.below(w.upper - since);
  const listing = await shard.snapshot(asOf);
  // While it is being read, others compact and collect.
  const [updates] = await Promise.all([
    readAll(shards, listing.parts),
    pick(w, w.processes).shard.maintain(),
  ]);
  await pick(w, w.processes).shard.collectGarbage(0);
  assert.deepEqual(await readAll(shards, listing.parts), updates, 'a listing reads the same twice');
  listing.release();
  assert.ok(updates.every(([, t]) => t === asOf));
  assert.deepEqual(accumulate(updates), accumulate(w.contents, asOf), `snapshot at ${asOf}`);
}

async function startListening(w: World, { shards, shard }: Process): Promise<void> {
  const { since } = await shard.refresh();
  if (since >= w.upper || w.listeners.length > 3) return;
  const hold = await shard.hold({ since });
  const asOf = since + w.random.below(w.upper - since);
  const listing = await shard.snapshot(asOf);
  const seen = await readAll(shards, listing.parts);
  listing.release();
  w.listeners.push({ shards, hold, listen: await shard.listen(asOf), seen });
}

async function pull(w: World, l: Listener): Promise<void> {
  if (l.listen.frontier >= w.upper) return;
  let lower = l.listen.frontier;
  const advanced = (frontier: number): void => {
    assert.ok(frontier > lower && frontier === l.listen.frontier && frontier < w.upper);
    lower = frontier;
    assert.deepEqual(accumulate(l.seen), accumulate(w.contents, lower - 1), `quiet up to ${lower}`);
  };
  const quiet = w.random.below(2) === 0 ? undefined : { until: w.upper, advanced };
  const step = (await l.listen.next(undefined, quiet))!;
  assert.equal(step.lower, lower);
  const updates = await readAll(l.shards, step.parts);
  assert.ok(updates.every(([, t]) => t >= step.lower && t < step.upper));
  l.seen.push(...updates);
  assert.deepEqual(accumulate(l.seen), accumulate(w.contents, step.upper - 1), `listened to ${step.upper}`);
  await l.hold.downgrade(step.upper - 1);
}

async function step(w: World): Promise<void> {
  const p = pick(w, w.processes);
  const l = w.listeners.length === 0 ? null : pick(w, w.listeners);
  const actions: Record<string, () => Promise<unknown>> = {
    race: () => race(w),
    raceAgain: () => race(w),
    snapshot: () => readSnapshot(w, p),
    listen: () => startListening(w, p),
    pull: async () => l !== null && (await pull(w, l)),
    maintain: () => Promise.all(w.processes.map(({ shard }) => shard.maintain())),
    collect: () => p.shard.collectGarbage(0),
    downgrade: async () => {
      const hold = await p.shard.hold();
      await hold.downgrade(Math.max(hold.since, w.upper - 1 - w.random.below(10)));
      await hold.release();
    },
    stop: async () => {
      if (l === null) return;
      w.listeners.splice(w.listeners.indexOf(l), 1);
      l.listen.close();
      await l.hold.release();
    },
  };
  const name = pick(w, Object.keys(actions));
  await actions[name]!();
  w.did[name] = (w.did[name] ?? 0) + 1;
}

test('any history of a shard reads as the list of its updates', async () => {
  const first = Number(process.env['SEED'] ?? 1);
  const runs = Number(process.env['RUNS'] ?? 24);
  let compacted = 0;
  let listened = 0;
  for (let seed = first; seed < first + runs; seed++) {
    const w = await makeWorld(seed);
    try {
      for (let n = 0; n < 120; n++) await step(w);
      for (const l of w.listeners) {
        while (l.listen.frontier < w.upper) await pull(w, l);
        listened += l.seen.length;
      }
      const { shard, shards } = w.processes[0]!;
      await shard.refresh();
      await shard.compareAndAppend(FENCE, { expectedUpper: w.upper, newUpper: EMPTY });
      for (const l of w.listeners) {
        assert.equal((await l.listen.next())!.upper, EMPTY);
        assert.equal(await l.listen.next(), null);
        l.listen.close();
        await l.hold.release();
      }
      const last = accumulate(await readAll(shards, (await shard.snapshot(w.upper + 5)).parts));
      assert.deepEqual(last, accumulate(w.contents));
      compacted += w.contents.length - shard.info().rows;
    } catch (e) {
      throw new Error(`replay with SEED=${seed} RUNS=1`, { cause: e });
    }
  }
  assert.ok(compacted > 0 && listened > 0, `${compacted} updates were compacted, ${listened} listened to`);
});
