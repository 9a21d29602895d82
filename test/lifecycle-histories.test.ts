/**
 * Random histories in the simulator: objects come and go, also while they are built, workers stand still, replicas crash, shards
 * are slow, queries are cancelled, permission to write comes late. At every timestamp of every log the invariants hold,
 * after every step the relations about hydration say of each object what its replica has reported, and when all is dropped
 * nothing is left anywhere.
 *
 * It cannot see wrong contents of views (other oracles do) and what cancels out within one interval.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GlobalId } from '../packages/tidemark/src/base/ids.ts';
import type { Command } from '../packages/tidemark/src/compute/protocol.ts';
import { STAGE_NAMES } from '../packages/tidemark/src/introspection/lifecycle.ts';
import { SeededRandom } from '../packages/tidemark/src/testkit/random.ts';
import { History } from './support/history.ts';
import { checkHydration, checkRollups } from './support/hydration-oracle.ts';
import { openWatched } from './support/watched.ts';

const SEED = Number(process.env['SEED'] ?? 1);
const RUNS = Number(process.env['RUNS'] ?? 12);
const seen = new Set<string>();
for (const workers of [1, 2, 4])
  test(`histories on ${workers} workers`, async () => {
    for (let seed = SEED; seed < SEED + Math.ceil(RUNS / (workers === 2 ? 1 : 2)); seed++) {
      const blocked = new Set<GlobalId>();
      const drawn = new SeededRandom(seed + 17);
      // Some views may not write until they are told.
      const onCommand = (c: Command): Command => {
        if (c.kind !== 'createDataflow' || c.dataflow.sinkExports.length === 0 || drawn.below(3) > 0)
          return c;
        for (const s of c.dataflow.sinkExports) blocked.add(s.id);
        return { ...c, dataflow: { ...c.dataflow, mayWrite: false } };
      };
      const skew = seed % 3 === 0 ? { skewMs: [5000, -5000, 300, 0] } : {};
      const w = await openWatched({ seed, workers, onCommand, ...skew });
      try {
        const history = new History(w, { seed, workers, blocked });
        history.afterStep = () => checkHydration(w.t);
        history.atRest = () => checkRollups(w.t);
        await history.run();
      } catch (error) {
        throw new Error(`replay: SEED=${seed} RUNS=1 (on ${workers} workers): ${String(error)}`, {
          cause: error,
        });
      }
      for (const c of w.checkers.values()) for (const s of c.stagesSeen) seen.add(s);
    }
  });

test('histories on two replicas, which come and go, with a hydration limit that moves and reads that fail', async () => {
  for (let seed = SEED; seed < SEED + Math.ceil(RUNS / 3); seed++) {
    const w = await openWatched({ seed, workers: 2 });
    try {
      const history = new History(w, { seed, workers: 2, blocked: new Set(), several: true });
      history.afterStep = () => checkHydration(w.t);
      history.atRest = () => checkRollups(w.t);
      await history.run();
    } catch (error) {
      throw new Error(`replay: SEED=${seed} RUNS=1 (on two replicas): ${String(error)}`, { cause: error });
    }
  }
});

test('the histories went through every stage', () => {
  // A replay of one seed need not.
  if (RUNS < 12) return;
  assert.deepEqual([...seen].sort(), [...STAGE_NAMES].sort());
});

test('the same seed says the same, another one something else', async () => {
  const run = async (seed: number): Promise<readonly string[]> => {
    const w = await openWatched({ seed, workers: 2 });
    await new History(w, { seed: 5, workers: 2, blocked: new Set() }).run();
    return w.t.trace;
  };
  const first = await run(5);
  assert.ok(first.length > 500, 'the trace has something to compare');
  assert.deepEqual(await run(5), first);
  assert.notDeepEqual(await run(6), first);
});
