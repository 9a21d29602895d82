/**
 * Random histories in the simulator: objects come and go, also while they are built, workers stand still, replicas crash, shards
 * are slow, queries are cancelled, permission to write comes late. At every timestamp of every log the invariants hold,
 * and when all is dropped nothing is left anywhere.
 *
 * It cannot see wrong contents of views (other oracles do) and what cancels out within one interval.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GlobalId } from '../packages/tidemark/src/base/ids.ts';
import type { Command } from '../packages/tidemark/src/compute/protocol.ts';
import { STAGE_NAMES } from '../packages/tidemark/src/introspection/lifecycle.ts';
import { SeededRandom } from '../packages/tidemark/src/testkit/random.ts';
import type { Started, TestEnvironment } from '../packages/tidemark/src/testkit/simulator.ts';
import { openWatched, type Watched } from './support/watched.ts';

const SEED = Number(process.env['SEED'] ?? 1);
const RUNS = Number(process.env['RUNS'] ?? 12);
const STEPS = 40;

class History {
  readonly #w: Watched;
  readonly #t: TestEnvironment;
  readonly #workers: number;
  readonly #blocked: Set<GlobalId>;
  readonly #random: SeededRandom;
  readonly #queries: Started[] = [];
  readonly #holds: (() => void)[] = [];
  #names = 0;

  constructor(w: Watched, options: { seed: number; workers: number; blocked: Set<GlobalId> }) {
    this.#w = w;
    this.#t = w.t;
    this.#workers = options.workers;
    this.#blocked = options.blocked;
    this.#random = new SeededRandom(options.seed * 7919);
  }

  #items(...kinds: string[]): string[] {
    return [...this.#t.env.catalog.loadedItems()]
      .filter(({ item, entity }) => entity !== null && kinds.includes(item.kind))
      .map(({ item }) => item.name.item);
  }

  async run(): Promise<void> {
    await this.#t.exec('CREATE TABLE t0 (a int, b int)');
    for (let i = 0; i < STEPS; i++) await this.#step();
    for (const release of this.#holds.splice(0)) release();
    await this.#t.connected();
    await this.#t.advance(1000);
    this.#unblock();
    for (const q of this.#queries) await q.result().catch(expected);
    await this.#t.advance(4000);
    assert.deepEqual(this.#w.complaints, []);
    await this.#w.finish();
  }

  async #step(): Promise<void> {
    const r = this.#random;
    const t = this.#t;
    const relations = this.#items('table', 'materialized-view');
    const views = this.#items('materialized-view');
    const indexes = this.#items('index').filter((i) => !i.includes('primary_idx'));
    const name = `o${this.#names++}`;
    switch (r.below(15)) {
      case 0:
        return void (await t.exec(`CREATE TABLE ${name} (a int, b int)`));
      case 1:
      case 2: {
        const rows = Array.from({ length: 1 + r.below(40) }, (_, i) => `(${i}, ${r.below(7)})`);
        return void (await t.exec(`INSERT INTO ${r.pick(this.#items('table'))} VALUES ${rows.join()}`));
      }
      case 3:
      case 4:
        return void (await t.exec(`CREATE INDEX ${name} ON ${r.pick(relations)} (a)`));
      case 5:
      case 6:
        return void (await t.exec(`CREATE MATERIALIZED VIEW ${name} AS ${this.#select(r.pick(relations))}`));
      case 7:
        if (views.length > 0) await t.exec(`DROP MATERIALIZED VIEW ${r.pick(views)} CASCADE`);
        return;
      case 8:
        if (indexes.length > 0) await t.exec(`DROP INDEX ${r.pick(indexes)}`);
        return;
      case 9:
        return t.crash();
      case 10: {
        const logs = 'mz_introspection.mz_compute_exports_per_worker';
        const q = t.start(`SELECT count(*) FROM ${r.pick(relations)}, ${logs}`);
        this.#queries.push(q);
        if (r.below(2) === 0) q.cancel();
        return;
      }
      case 11:
        return t.advance(r.below(1500));
      case 12:
        return void this.#holds.push(t.stallWorker(r.below(this.#workers)));
      case 13: {
        if (views.length === 0) return;
        const view = r.pick(views);
        return void this.#holds.push(r.below(2) === 0 ? t.holdAppends(view) : t.holdReads(view));
      }
      case 14:
        for (const release of this.#holds.splice(0)) release();
        return this.#unblock();
    }
  }

  #select(from: string): string {
    return this.#random.pick([
      `SELECT a, count(*) AS b FROM ${from} GROUP BY a`,
      'SELECT 1 AS a, 2 AS b',
      `SELECT a, 10 / (a - 3) AS b FROM ${from}`,
      `SELECT x.a, y.a AS b FROM ${from} x, ${from} y WHERE x.a = y.a`,
      `SELECT a, 1 AS b FROM ${from}`,
    ]);
  }

  #unblock(): void {
    for (const id of this.#blocked) this.#t.sendTo('quickstart', { kind: 'allowWrites', id });
    this.#blocked.clear();
  }
}

/** What may end a query in these histories: it was cancelled, its replica or its relation went, a row fails. */
const ENDS = [
  'query_canceled',
  'system_error',
  'object_not_in_prerequisite_state',
  'undefined_table',
  'division_by_zero',
];

function expected(error: { code?: string }): void {
  assert.ok(ENDS.includes(String(error.code)), String(error));
}

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
        await new History(w, { seed, workers, blocked }).run();
      } catch (error) {
        throw new Error(`replay: SEED=${seed} RUNS=1 (on ${workers} workers): ${String(error)}`, {
          cause: error,
        });
      }
      for (const c of w.checkers.values()) for (const s of c.stagesSeen) seen.add(s);
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
