/** One random history of an environment in the simulator, drawn from a seed. */
import assert from 'node:assert/strict';
import type { GlobalId } from '../../packages/tidemark/src/base/ids.ts';
import { SeededRandom } from '../../packages/tidemark/src/testkit/random.ts';
import type { Started, TestEnvironment } from '../../packages/tidemark/src/testkit/simulator.ts';
import type { Watched } from './watched.ts';

const STEPS = 40;

export class History {
  readonly #w: Watched;
  readonly #t: TestEnvironment;
  readonly #workers: number;
  readonly #blocked: Set<GlobalId>;
  readonly #outlive: boolean;
  readonly #random: SeededRandom;
  readonly #queries: Started[] = [];
  readonly #holds: (() => void)[] = [];
  readonly #definitions = new Map<string, string>();
  #names = 0;
  afterStep: () => void = () => undefined;
  /** Once nothing is held up any more. */
  atRest: () => Promise<void> = async () => undefined;

  /** With several replicas these come and go, the hydration limit moves, and what is read may be broken. */
  readonly #several: boolean;

  /** `outlive`: replicas do, so connections are cut and the environment dies. */
  constructor(
    w: Watched,
    options: {
      seed: number;
      workers: number;
      blocked: Set<GlobalId>;
      outlive?: boolean;
      several?: boolean;
    },
  ) {
    this.#outlive = options.outlive ?? false;
    this.#w = w;
    this.#t = w.t;
    this.#workers = options.workers;
    this.#blocked = options.blocked;
    this.#several = options.several ?? false;
    this.#random = new SeededRandom(options.seed * 7919);
  }

  #items(...kinds: string[]): string[] {
    return [...this.#t.env.catalog.loadedItems()]
      .filter(({ item, entity }) => entity !== null && kinds.includes(item.kind))
      .map(({ item }) => item.name.item);
  }

  async run(): Promise<void> {
    await this.#t.exec('CREATE TABLE t0 (a int, b int)');
    // Logs are asked of a replica by name.
    await this.#t.exec('SET cluster_replica = r1');
    if (this.#several) await this.#t.exec('ALTER CLUSTER quickstart SET (REPLICATION FACTOR 2)');
    for (let i = 0; i < STEPS; i++) {
      await (this.#several && this.#random.below(4) === 0 ? this.#replicaStep() : this.#step());
      this.afterStep();
    }
    for (const release of this.#holds.splice(0)) release();
    if (this.#several) await this.#t.exec('ALTER SYSTEM RESET compute_hydration_concurrency');
    await this.#t.connected();
    await this.#t.advance(1000);
    this.#unblock();
    for (const q of this.#queries) await q.result().catch(expected);
    // Longest of the pauses before what failed is built again.
    await this.#t.advance(this.#several ? 35_000 : 4000);
    await this.atRest();
    // What the test breaks fails, and is told.
    const broken = (c: string): boolean => this.#several && /the disk is broken/.test(c);
    assert.deepEqual(
      this.#w.complaints.filter((c) => !broken(c)),
      [],
    );
    if (this.#several) await this.#t.exec('ALTER CLUSTER quickstart SET (REPLICATION FACTOR 1)');
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
      case 6: {
        const query = this.#select(r.pick(relations));
        this.#definitions.set(name, query);
        return void (await t.exec(`CREATE MATERIALIZED VIEW ${name} AS ${query}`));
      }
      case 7:
        if (views.length > 0) await t.exec(`DROP MATERIALIZED VIEW ${r.pick(views)} CASCADE`);
        return;
      case 8:
        if (indexes.length > 0) await t.exec(`DROP INDEX ${r.pick(indexes)}`);
        return;
      case 9:
        return this.#outlive ? this.#part() : t.crash();
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

  /** A connection is cut, the environment dies, or the replica does. */
  async #part(): Promise<void> {
    const t = this.#t;
    const what = this.#random.below(4);
    // A start writes to every shard: it would wait for those that are held.
    if (what > 1) for (const release of this.#holds.splice(0)) release();
    switch (what) {
      case 0:
        return t.crash();
      case 1:
        return t.cut();
      case 2:
        return t.restart();
      case 3:
        // Who asked dies with it.
        this.#queries.splice(0);
        return t.kill();
    }
  }

  async #replicaStep(): Promise<void> {
    const r = this.#random;
    const t = this.#t;
    switch (r.below(6)) {
      case 0:
      case 1:
        return void (await t.exec(`ALTER SYSTEM SET compute_hydration_concurrency = ${r.below(4)}`));
      case 2:
        return void (await t.exec(`ALTER CLUSTER quickstart SET (REPLICATION FACTOR ${1 + r.below(3)})`));
      case 3: {
        const { replicas } = t.env.catalog.cluster('quickstart')!;
        const instance = t.env.instance(t.env.catalog.cluster('quickstart')!.id);
        const { id } = r.pick(replicas);
        if (instance.replicas.some((x) => x.id === id)) await t.crash('quickstart', id);
        return;
      }
      case 4:
        return void this.#holds.push(
          t.stallWorker(
            r.below(this.#workers),
            'quickstart',
            r.pick(t.env.catalog.cluster('quickstart')!.replicas).id,
          ),
        );
      case 5:
        return void this.#holds.push(t.breakReads(r.pick(this.#items('table', 'materialized-view'))));
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

  /** Each view that is left says what its definition says now, errors included. */
  async checkContents(): Promise<void> {
    for (const view of this.#items('materialized-view')) {
      const ask = (from: string): Promise<unknown> =>
        this.#t
          .query(`SELECT a::text AS a, b::text AS b FROM ${from} ORDER BY 1, 2`)
          .catch((e: { code?: string }) => e.code);
      assert.deepEqual(await ask(view), await ask(`(${this.#definitions.get(view)!})`), view);
    }
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
  assert.ok(ENDS.includes(String(error.code)) || /the disk is broken/.test(String(error)), String(error));
}
