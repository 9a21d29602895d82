/**
 * One random history, all of it from its seed: how many workers and replicas there are, whether clocks differ and replicas outlive the
 * environment, and what happens step by step. After every step everything that is promised about the lifecycle is checked; at
 * the end all is let go and compared with what it should be, dropped, and nothing is left.
 */
import assert from 'node:assert/strict';
import type { ReplicaId } from '../../../packages/tidemark/src/base/ids.ts';
import { SeededRandom } from '../../../packages/tidemark/src/testkit/random.ts';
import type { Started } from '../../../packages/tidemark/src/testkit/simulator.ts';
import { Subscribed } from '../../../packages/tidemark/src/testkit/subscribed.ts';
import type { ToldLife } from '../../../packages/tidemark/src/testkit/told-lives.ts';
import { isEmpty } from '../../../packages/tidemark/src/time/timestamp.ts';
import { checkHydration, checkRollups, notDone } from '../hydration-oracle.ts';
import { checkEpisodes, checkTables, checkViews, type Value } from './at-rest.ts';
import { COMPLAINTS, ENDS } from './ends.ts';
import { checkHistoryRows } from './history-rows.ts';
import { CheckedProcess, type ProcessOptions } from './process.ts';

/** How long before a process died or was fenced what it was told may be gone with it. */
const LOST_MS = 1500;
/** Most that a worker's clock is off, one way or the other. */
const SKEW_MS = 400;
/** An interval of the log is told of that much later at most. */
const LOG_MS = 100;

interface Lost {
  readonly process: CheckedProcess;
  readonly fromMs: number;
  readonly toMs: number;
}

/** What can happen: how often, when it can, and what is done. */
export interface Step {
  readonly weight: number;
  readonly when?: (h: RandomHistory) => boolean;
  readonly run: (h: RandomHistory) => Promise<unknown> | unknown;
}

export class RandomHistory {
  readonly seed: number;
  readonly random: SeededRandom;
  readonly workers: number;
  readonly outlive: boolean;
  /** Names of the steps that were taken. */
  readonly done: string[] = [];
  leader!: CheckedProcess;
  candidate: CheckedProcess | null = null;
  /** By name, the view that it is to replace. */
  readonly replacements = new Map<string, string>();
  /** Those that have led, the present one last. */
  readonly #led: CheckedProcess[] = [];
  readonly #asleep = new Map<CheckedProcess, () => void>();
  readonly #lost: Lost[] = [];
  readonly #options: ProcessOptions;
  readonly #definitions = new Map<string, string>();
  readonly #values = new Map<string, Map<number, Value>>();
  readonly #statements: Started[] = [];
  /** Of them, those that read, with the process that they were asked of. */
  readonly #reading = new Map<Started, CheckedProcess>();
  readonly #subscribed: { readonly close: () => void }[] = [];
  readonly #holds: (() => void)[] = [];
  /** Names of what cannot be read, with the time from when on. */
  readonly #unread = new Map<string, number>();
  #names = 0;

  constructor(seed: number) {
    this.seed = seed;
    this.random = new SeededRandom(seed * 7919);
    this.workers = this.random.pick([1, 2, 2, 4]);
    this.outlive = this.random.below(3) === 0;
    const skewMs = Array.from({ length: this.workers }, () => this.random.below(2 * SKEW_MS) - SKEW_MS);
    this.#options = {
      seed,
      workers: this.workers,
      outlive: this.outlive,
      ...(this.random.below(4) === 0 && { skewMs }),
    };
  }

  async run(steps: Readonly<Record<string, Step>>): Promise<void> {
    this.leader = await CheckedProcess.open(this.#options);
    this.#led.push(this.leader);
    await this.createTable();
    if (this.random.below(3) === 0) await this.exec('ALTER CLUSTER quickstart SET (REPLICATION FACTOR 2)');
    for (let left = 10 + this.random.below(16); left > 0; left--) {
      const [name, step] = this.#draw(Object.entries(steps));
      this.done.push(name);
      await step.run(this);
      this.#check(false);
    }
    await this.#settle();
    await this.#end();
  }

  /** How often each stage was told. */
  get stagesTold(): ReadonlyMap<string, number> {
    const out = new Map<string, number>();
    for (const { told } of this.#led)
      for (const life of told.lives)
        for (const own of life.stages)
          for (const stage of own.keys()) out.set(stage, (out.get(stage) ?? 0) + 1);
    return out;
  }

  /** Lives looked at while nobody could read their input. */
  get starved(): number {
    return this.#led.reduce((sum, { told }) => sum + told.starvedChecked, 0);
  }

  #draw(steps: readonly (readonly [string, Step])[]): readonly [string, Step] {
    const open = steps.filter(([, s]) => s.when?.(this) ?? true);
    let at = this.random.below(open.reduce((sum, [, s]) => sum + s.weight, 0));
    return open.find(([, s]) => {
      at -= s.weight;
      return at < 0;
    })!;
  }

  #check(isAtRest: boolean): void {
    for (const p of this.#led) p.check();
    this.candidate?.check();
    if (!this.#asleep.has(this.leader)) checkHydration(this.leader.t);
    const told = this.#led.map((p) => p.told);
    checkHistoryRows(this.leader.t, { told, isExcused: (life) => this.#isExcused(life) }, isAtRest);
  }

  #isExcused(life: ToldLife): boolean {
    return this.#lost.some(
      ({ process, fromMs, toMs }) =>
        process.told.lives.includes(life) && life.openedAtMs! >= fromMs && life.openedAtMs! <= toMs,
    );
  }

  /** What this process was told lately may be gone with it. */
  #lose(process: CheckedProcess, toMs = Number.POSITIVE_INFINITY): void {
    this.#lost.push({ process, fromMs: process.t.time.nowMs() - LOST_MS, toMs });
  }

  // ---- What there is

  exec(sql: string): Promise<unknown> {
    return this.leader.t.exec(sql);
  }

  /** Names of users' objects, replacements aside. */
  items(...kinds: string[]): string[] {
    return [...this.leader.t.env.catalog.loadedItems()]
      .filter(({ item, entity }) => entity !== null && kinds.includes(item.kind))
      .map(({ item }) => item.name.item)
      .filter((name) => !this.replacements.has(name));
  }

  replicas(): ReplicaId[] {
    return this.leader.t.env.catalog.cluster('quickstart')!.replicas.map((r) => r.id);
  }

  hold(release: () => void): void {
    this.#holds.push(release);
  }

  release(): void {
    for (const release of this.#holds.splice(0)) release();
    this.#unread.clear();
  }

  #relation(): string {
    return this.random.pick(this.items('table', 'materialized-view'));
  }

  // ---- Objects

  async createTable(): Promise<void> {
    const name = `t${this.#names++}`;
    await this.exec(`CREATE TABLE ${name} (a int, b int)`);
    this.#values.set(name, new Map());
  }

  async createOver(sql: (name: string, from: string) => string): Promise<string> {
    const name = `o${this.#names++}`;
    const from = this.#relation();
    await this.exec(sql(name, from));
    this.#starve(name, from);
    return name;
  }

  async createView(): Promise<void> {
    let query = '';
    const name = await this.createOver((n, from) => {
      query = this.#select(from);
      return `CREATE MATERIALIZED VIEW ${n} AS ${query}`;
    });
    this.#definitions.set(name, query);
  }

  #select(from: string): string {
    return this.random.pick([
      `SELECT a, count(*)::int AS b FROM ${from} GROUP BY a`,
      `SELECT a, 10 / (a - 3) AS b FROM ${from}`,
      `SELECT x.a, y.a AS b FROM ${from} x, ${from} y WHERE x.a = y.a`,
      `SELECT a, 1 AS b FROM ${from}`,
    ]);
  }

  /** Over a table that nobody can read from here on. */
  async createStarved(): Promise<void> {
    const table = this.random.pick([...this.#values.keys()]);
    this.holdInput(table);
    const name = `o${this.#names++}`;
    const query = this.#select(table);
    await this.exec(`CREATE MATERIALIZED VIEW ${name} AS ${query}`);
    this.#definitions.set(name, query);
    this.#starve(name, table);
  }

  /** Its sink is held before it has written anything. */
  async createUnwritten(): Promise<void> {
    const { t } = this.leader;
    const name = `o${this.#names++}`;
    const query = this.#select(this.#relation());
    const created = this.#start(`CREATE MATERIALIZED VIEW ${name} AS ${query}`);
    await t.until(() => created.isDone || this.items('materialized-view').includes(name), `${name} is there`);
    this.hold(t.holdAppends(name));
    await this.#ended(created);
    this.#definitions.set(name, query);
  }

  async createConstant(): Promise<void> {
    const name = `o${this.#names++}`;
    await this.exec(`CREATE MATERIALIZED VIEW ${name} AS SELECT 1 AS a, 2 AS b`);
  }

  async createSink(): Promise<void> {
    const from = this.#relation();
    const name = `o${this.#names++}`;
    await this.exec(`CREATE VIEW ${name}_rows AS SELECT 'n' AS name, jsonb_build_object('a', a) AS labels,
      count(*)::float8 AS value, 'gauge' AS type, 'rows' AS help FROM ${from} GROUP BY a`);
    await this.exec(`CREATE SINK ${name} FROM ${name}_rows INTO METRICS`);
  }

  replaceable(): string[] {
    const { t } = this.leader;
    const views = this.items('materialized-view');
    // What is complete for ever cannot be replaced: it is over a view that was refreshed once.
    const goesOn = (view: string): boolean => !isEmpty(t.env.collections.upper(t.id(view)));
    return [...this.#definitions.keys()].filter((v) => views.includes(v) && goesOn(v));
  }

  async replace(): Promise<void> {
    const of = this.random.pick(this.replaceable());
    const name = `o${this.#names++}`;
    const taken = [...this.replacements].find(([, v]) => v === of);
    if (taken !== undefined) {
      this.replacements.delete(taken[0]);
      await this.exec(`DROP MATERIALIZED VIEW ${taken[0]}`);
    }
    const query = this.#definitions.get(of)!;
    await this.exec(`CREATE REPLACEMENT MATERIALIZED VIEW ${name} FOR ${of} AS ${query}`);
    this.replacements.set(name, of);
  }

  /** It waits for the shard, and so for nothing that is held. */
  async applyReplacement(): Promise<void> {
    this.release();
    const [name, of] = this.random.pick([...this.replacements]);
    const statement = this.leader.t.start(`ALTER MATERIALIZED VIEW ${of} APPLY REPLACEMENT ${name}`);
    this.#statements.push(statement);
    await this.#ended(statement);
    this.#forgetReplacements();
  }

  #forgetReplacements(): void {
    const there = new Set([...this.leader.t.env.catalog.loadedItems()].map(({ item }) => item.name.item));
    for (const name of [...this.replacements.keys()]) if (!there.has(name)) this.replacements.delete(name);
  }

  async drop(kind: 'materialized-view' | 'index' | 'sink' | 'table'): Promise<void> {
    const names = this.items(kind);
    if (names.length === 0) return;
    const name = this.random.pick(names);
    await this.exec(`DROP ${kind.replace('-', ' ')} ${name} CASCADE`);
    if (kind === 'table') this.#values.delete(name);
    this.#forgetReplacements();
  }

  // ---- Rows and readers

  /** Under way or done, as chance has it. Every value once. */
  async insert(): Promise<void> {
    const table = this.random.pick([...this.#values.keys()]);
    const values = Array.from({ length: 1 + this.random.below(6) }, () => this.#names++);
    const rows = values.map((v) => `(${v}, ${this.random.below(7)})`);
    const insert = this.#start(`INSERT INTO ${table} VALUES ${rows.join()}`);
    for (const v of values) this.#values.get(table)!.set(v, { insert });
    if (this.random.below(2) === 0) await this.#ended(insert);
    else await this.leader.t.run();
  }

  delete(): void {
    const table = this.random.pick([...this.#values.keys()]);
    const values = [...this.#values.get(table)!].filter(([, v]) => v.insert.isDone && v.delete === undefined);
    if (values.length === 0) return;
    const [value, known] = this.random.pick(values);
    known.delete = this.#start(`DELETE FROM ${table} WHERE a = ${value}`);
    this.#reading.set(known.delete, this.leader);
  }

  query(): void {
    const logs = 'mz_introspection.mz_compute_exports_per_worker';
    const q = this.#start(`SET cluster_replica = r1; SELECT count(*) FROM ${this.#relation()}, ${logs}`);
    this.#reading.set(q, this.leader);
    if (this.random.below(2) === 0) q.cancel();
  }

  async subscribe(): Promise<void> {
    const { t } = this.leader;
    const session = t.session();
    const relation = this.#relation();
    const opened = Subscribed.start(session, `SUBSCRIBE ${relation} WITH (PROGRESS)`);
    opened.catch(() => undefined);
    this.#subscribed.push({
      close: () => {
        session.cancel();
        opened.then(
          (s) => s.close(),
          () => session.close(),
        );
      },
    });
    await t.run();
  }

  #start(sql: string): Started {
    const statement = this.leader.t.start(sql);
    this.#statements.push(statement);
    return statement;
  }

  /** How it ended does not matter here, so long as it is one of the ways that a statement ends. */
  async #ended(statement: Started): Promise<void> {
    try {
      await statement.result();
    } catch (error) {
      const { code } = error as { readonly code?: string };
      assert.ok(ENDS.has(String(code)) || COMPLAINTS.test(String(error)), `${code}: ${String(error)}`);
    }
  }

  // ---- Faults

  holdInput(name: string = this.#relation()): void {
    const { t } = this.leader;
    this.hold(t.holdReads(name));
    this.#unread.set(name, t.env.oracle.readTime);
  }

  /** What is built over a table that has rows, and that nobody can read, is not computed. */
  #starve(name: string, from: string): void {
    const { t, told } = this.leader;
    const values = [...(this.#values.get(from)?.values() ?? [])];
    const indexed = [...t.env.catalog.loadedItems()].some(
      ({ item }) => item.kind === 'index' && item.on === t.id(from),
    );
    const isHeld = this.#unread.has(from) && values.some((v) => v.insert.isDone && v.delete === undefined);
    if (!isHeld || indexed) return;
    this.hold(told.starve(t.id(name), this.#unread.get(from)!));
  }

  breakInput(): void {
    this.hold(this.leader.t.breakReads(this.#relation()));
  }

  async crash(process: CheckedProcess): Promise<void> {
    const { t } = process;
    const cluster = t.env.catalog.cluster('quickstart')!;
    const running = t.env
      .instance(cluster.id)
      .replicas.filter(({ id }) => cluster.replicas.some((r) => r.id === id));
    if (running.length > 0) await t.crash('quickstart', this.random.pick(running).id);
  }

  // ---- Processes

  /** A start writes to every shard: it would wait for those that are held. */
  async restart(): Promise<void> {
    this.release();
    // What reads may wait for a replica that there is not, or for a slot that nobody gets.
    for (const s of this.#reading.keys()) s.cancel();
    await this.#answers();
    await this.leader.t.restart();
  }

  /** Who asked dies with it. */
  async kill(): Promise<void> {
    this.release();
    this.#lose(this.leader, this.leader.t.time.nowMs());
    this.#statements.splice(0);
    this.#reading.clear();
    this.#subscribed.splice(0);
    await this.leader.t.kill();
  }

  async standby(): Promise<void> {
    this.release();
    const { seed: _, ...options } = this.#options;
    this.candidate = await this.leader.standby(options);
  }

  async leave(): Promise<void> {
    this.release();
    await this.candidate!.t.close();
    this.candidate = null;
  }

  async promote(): Promise<void> {
    this.release();
    const old = this.leader;
    const next = this.candidate!;
    this.#lose(old);
    if (this.random.below(3) === 0) this.#asleep.set(old, old.t.stop());
    // With no slot to hydrate in, it never is.
    const waits = this.random.below(4) > 0;
    const caughtUp = waits && (await next.t.time.passUntil(5000, () => next.t.status.caughtUp));
    await next.t.promote({ force: !caughtUp });
    this.leader = next;
    this.candidate = null;
    this.#led.push(next);
    if (this.random.below(2) === 0) this.#wake(old);
  }

  #wake(process: CheckedProcess): void {
    this.#asleep.get(process)?.();
    this.#asleep.delete(process);
  }

  async #answers(): Promise<void> {
    for (const p of [...this.#asleep.keys()]) this.#wake(p);
    for (const s of this.#subscribed.splice(0)) s.close();
    // One that was fenced ends, and with it whoever waits there for a slot that nobody gets.
    for (const [s, process] of this.#reading) if (process !== this.leader) s.cancel();
    for (const s of this.#statements.splice(0)) await this.#ended(s);
    this.#reading.clear();
  }

  // ---- The end

  /** How long an interval of the log may be over when it is complete: what the fastest clock stamped is, once the slowest is past it. */
  get #lateMs(): number {
    return this.#options.skewMs === undefined ? LOG_MS : 2 * SKEW_MS + LOG_MS;
  }

  /** Lets go of everything, and waits until all is done. */
  async #settle(): Promise<void> {
    this.release();
    if (this.candidate !== null) await this.leave();
    const { t } = this.leader;
    await this.exec('ALTER SYSTEM RESET compute_hydration_concurrency');
    await this.exec('ALTER CLUSTER quickstart SET (REPLICATION FACTOR 1)');
    await this.#answers();
    // A replica may die on the last stage that it tells, and again on the next.
    for (let armed = -1; armed !== t.armed; ) {
      armed = t.armed;
      await t.connected();
      // What failed is not done, and is built again after a pause of up to half a minute.
      await t.until(() => notDone(t) === 0, 'every object is done');
      await t.advance(1000);
    }
    this.#check(true);
    this.leader.told.checkAtRest(new Set(this.replicas()));
    await t.advance(this.#lateMs);
    await checkRollups(t);
    await checkEpisodes(t, new Set([...this.replacements.keys()].map((name) => t.id(name))));
    await checkTables(t, this.#values);
    await checkViews(t, this.items('materialized-view'), this.#definitions);
    this.#check(true);
  }

  async #end(): Promise<void> {
    const { t } = this.leader;
    // What one that was fenced complains of concerns nobody.
    const { complaints } = this.leader;
    assert.deepEqual(
      complaints.filter((c) => !COMPLAINTS.test(c)),
      [],
    );
    for (const kind of ['sink', 'index', 'materialized-view', 'table'])
      for (let [name] = this.items(kind); name !== undefined; [name] = this.items(kind))
        await t.exec(`DROP ${kind.replace('-', ' ')} ${name} CASCADE`);
    for (const p of this.#led.slice(0, -1)) {
      await t.until(() => p.t.fenced !== null, 'an old leader was told to stop');
      await p.t.close();
    }
    // An interval of the log.
    await t.advance(1000 + this.#lateMs);
    this.#check(true);
    this.leader.checkNothingLeft();
    await t.assertNothingLeft(0);
    await t.close();
  }
}
