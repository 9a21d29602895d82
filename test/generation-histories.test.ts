/**
 * Random histories of generations on virtual time: writes, DDL, restarts, crashes of replicas, leaders that hang, candidates that come and
 * go, promotions with statements under way. Whatever happens, a row that was acknowledged is there once, one whose statement failed at
 * most once, views agree with their tables, and nothing of what was dropped is left.
 *
 * It cannot see what real processes share: locks, files, clocks that differ.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeededRandom } from '../packages/tidemark/src/testkit/random.ts';
import { openTest, type Started, type TestEnvironment } from '../packages/tidemark/src/testkit/simulator.ts';

const RUNS = Number(process.env['RUNS'] ?? 6);
const FIRST = Number(process.env['SEED'] ?? 1);
const STEPS = 30;

interface View {
  readonly name: string;
  readonly statement: Started;
}

interface Write {
  readonly value: number;
  readonly statement: Started;
}

class History {
  readonly random: SeededRandom;
  readonly done: string[] = [];
  promotions = 0;
  #leader!: TestEnvironment;
  #candidate: TestEnvironment | null = null;
  /** Of generations that are over: closed at the end. */
  readonly #old: TestEnvironment[] = [];
  readonly #asleep = new Map<TestEnvironment, () => void>();
  readonly #writes: Write[] = [];
  readonly #views: View[] = [];
  #value = 0;
  #names = 0;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
  }

  async run(seed: number): Promise<void> {
    this.#leader = await openTest({ seed, workers: 1 + this.random.below(2) });
    await this.#leader.exec(
      'CREATE TABLE t (a int); CREATE MATERIALIZED VIEW total AS SELECT count(*) AS n FROM t',
    );
    for (let i = 0; i < STEPS; i++) {
      const [name, step] = this.#steps()[this.random.below(this.#steps().length)]!;
      this.done.push(name);
      await step();
    }
    await this.#end();
  }

  #steps(): readonly (readonly [string, () => Promise<void>])[] {
    const write = ['write', () => this.#write()] as const;
    const wait = ['wait', () => this.#leader.advance(this.random.below(1500))] as const;
    const always = [write, write, write, wait, wait, ['ddl', () => this.#ddl()] as const];
    if (this.#candidate === null)
      return [
        ...always,
        ['candidate', () => this.#open()],
        ['candidate', () => this.#open()],
        ['restart', () => this.#restart()],
        ['crash', () => this.#crash(this.#leader)],
      ];
    return [
      ...always,
      ['promote', () => this.#promote()],
      ['promote', () => this.#promote()],
      ['hang, promote', () => this.#hang().then(() => this.#promote())],
      ['crash of the candidate', () => this.#crash(this.#candidate!)],
      ['candidate leaves', () => this.#leave()],
      ['restart', () => this.#restart()],
    ];
  }

  /** Under way or done, as chance has it. */
  async #write(): Promise<void> {
    const value = ++this.#value;
    this.#writes.push({ value, statement: this.#leader.start(`INSERT INTO t VALUES (${value})`) });
    if (this.random.below(2) === 0) await this.#leader.run();
  }

  /** Creations may be under way when the next step comes, a promotion too. */
  async #ddl(): Promise<void> {
    const done = this.#views.filter((v) => v.statement.isDone);
    if (done.length > 2) {
      const { name } = done[0]!;
      this.#views.splice(this.#views.indexOf(done[0]!), 1);
      await this.#leader.exec(`DROP MATERIALIZED VIEW IF EXISTS ${name}`);
      return;
    }
    const name = `v${++this.#names}`;
    const statement = this.#leader.start(`CREATE MATERIALIZED VIEW ${name} AS SELECT a + 1 AS b FROM t`);
    this.#views.push({ name, statement });
    if (this.random.below(2) === 0) await this.#leader.run();
  }

  async #open(): Promise<void> {
    this.#candidate = await this.#leader.standby({ workers: 1 + this.random.below(2) });
  }

  async #leave(): Promise<void> {
    await this.#candidate!.close();
    this.#candidate = null;
  }

  async #restart(): Promise<void> {
    await this.#answers();
    await this.#leader.restart();
  }

  async #crash(t: TestEnvironment): Promise<void> {
    await t.connected();
    await t.crash();
  }

  async #hang(): Promise<void> {
    this.#asleep.set(this.#leader, this.#leader.stop());
  }

  async #promote(): Promise<void> {
    const old = this.#leader;
    const next = this.#candidate!;
    const force = this.random.below(4) === 0;
    if (!force) await next.caughtUp();
    await next.promote({ force });
    this.promotions++;
    this.#leader = next;
    this.#candidate = null;
    this.#old.push(old);
    if (this.random.below(2) === 0) this.#wake(old);
  }

  #wake(t: TestEnvironment): void {
    this.#asleep.get(t)?.();
    this.#asleep.delete(t);
  }

  /** Waits for every statement: each ends, well or not. */
  async #answers(): Promise<void> {
    for (const t of this.#asleep.keys()) this.#wake(t);
    for (const { statement } of [...this.#writes, ...this.#views])
      await statement.result().catch(() => undefined);
  }

  async #end(): Promise<void> {
    await this.#answers();
    const acknowledged: number[] = [];
    for (const { value, statement } of this.#writes)
      await statement.result().then(
        () => acknowledged.push(value),
        () => undefined,
      );
    const leader = this.#leader;
    await leader.connected();
    const rows = await leader.query('SELECT a, count(*) AS n FROM t GROUP BY a');
    const found = new Map(rows.map((r) => [r['a'] as number, r['n']]));
    assert.deepEqual(
      [...found].filter(([, n]) => n !== 1n),
      [],
      'no row is there twice',
    );
    assert.deepEqual(
      acknowledged.filter((v) => !found.has(v)),
      [],
      'no acknowledged row is lost',
    );
    assert.deepEqual(await leader.query('SELECT n FROM total'), [{ n: BigInt(found.size) }]);
    const there = (await leader.query("SELECT name FROM mz_materialized_views WHERE name LIKE 'v%'")).map(
      (r) => r['name'] as string,
    );
    for (const { name, statement } of this.#views)
      await statement.result().then(
        () => assert.ok(there.includes(name), `view ${name} was created, and is there`),
        () => undefined,
      );
    for (const v of there)
      assert.deepEqual(await leader.query(`SELECT count(*) AS n FROM ${v}`), [{ n: BigInt(found.size) }], v);
    for (const t of this.#old) {
      await leader.until(() => t.fenced !== null, 'an old leader was told to stop');
      await t.close();
    }
    if (this.#candidate !== null) await this.#candidate.close();
    await leader.exec('DROP TABLE t CASCADE');
    await leader.advance(5000);
    assert.deepEqual(await leader.orphans(), [], 'nothing of what was dropped is left');
    await leader.close();
  }
}

test(`random histories of generations, seeds ${FIRST} to ${FIRST + RUNS - 1}`, async () => {
  let promotions = 0;
  for (let seed = FIRST; seed < FIRST + RUNS; seed++) {
    const history = new History(seed);
    try {
      await history.run(seed);
    } catch (error) {
      throw new Error(
        `${(error as Error).message}\nreplay: SEED=${seed} RUNS=1, after ${history.done.join(', ')}`,
        {
          cause: error,
        },
      );
    }
    promotions += history.promotions;
  }
  assert.ok(promotions > 0 || RUNS < 4, 'some histories had promotions');
});
