/**
 * The test kit as users have it: the library's `Database` over a whole environment on virtual time, faults that a test injects by name,
 * and a look at what is left. This file is the public face of the simulator, and adds nothing to what it does.
 *
 *     const t = await openTest({ seed: 7, workers: 2, skewMs: [0, 5000] });
 *     await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
 *     const release = t.holdReads('t');
 *     await t.exec('CREATE INDEX i ON t (a)');
 *     await t.advance(1000);
 *     const { rows } = await t.query('SELECT reason FROM mz_internal.mz_hydration_blockers');
 *     release();
 *     await t.exec('DROP TABLE t CASCADE');
 *     await t.assertNothingLeft();
 *     await t.close();
 */
import type { LeaderStatus } from '../adapter/promotion.ts';
import { Database, type QueryResult } from '../server/database.ts';
import { openTest as openSimulation, type TestEnvironment as Simulation } from './simulator.ts';
import type { Started } from './statements.ts';
import type { CrashPoint, OpenTestOptions } from './test-options.ts';

/** Ends a fault. Calling it again does nothing. */
export type Release = () => void;

/** A new environment, in memory, without data, on a clock that stands still unless the test moves it. */
export async function openTest(options: OpenTestOptions = {}): Promise<TestEnvironment> {
  return new TestEnvironment(await openSimulation(options));
}

export class TestEnvironment {
  readonly #simulation: Simulation;
  #db: Database | null = null;

  /** `openTest` makes it. */
  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  /** Run again with the same seed, the same test sees the same, to the microsecond. */
  get seed(): number {
    return this.#simulation.seed;
  }

  /**
   * The library over this environment; another one after `restart` and `kill`. What it promises comes as time passes, and nothing but the
   * test lets it pass: `await t.settle(t.db.ready())`.
   */
  get db(): Database {
    const { env } = this.#simulation;
    this.#db ??= new Database({ env, close: () => Promise.resolve() });
    return this.#db;
  }

  /** What the environment and its replicas told each other, with the time: equal in two runs of a seed. */
  get trace(): readonly string[] {
    return this.#simulation.trace;
  }

  /** The id of a table, view or index by its name, `schema.name` outside the search path: `u3`. */
  id(name: string): string {
    return this.#simulation.id(name);
  }

  // ---- SQL

  /** Runs statements one after another and lets time pass until they are answered; gives the last one's result. */
  exec(sql: string): Promise<QueryResult> {
    return this.settle(this.db.exec(sql));
  }

  /** One statement, as `Database.query` runs it, letting time pass until it is answered. */
  query(sql: string, params: readonly unknown[] = []): Promise<QueryResult> {
    return this.settle(this.db.query(sql, params));
  }

  /** Leaves statements under way, in a session of their own. Its `result` rejects with what they failed with. */
  start(sql: string): Started<QueryResult> {
    const db = new Database({ env: this.#simulation.env, close: () => Promise.resolve() });
    let done = false;
    const promise = db.exec(sql).finally(() => {
      done = true;
      return db.close();
    });
    promise.catch(() => undefined);
    return {
      get isDone() {
        return done;
      },
      result: () => this.settle(promise),
      cancel: () => void db.close(),
    };
  }

  // ---- Time

  /** Milliseconds since the Unix epoch by the environment's clock; 2026-01-01 when it is new. */
  get nowMs(): number {
    return this.#simulation.time.nowMs();
  }

  /** Does what is to do at this instant, until nothing is. */
  run(): Promise<void> {
    return this.#simulation.run();
  }

  /** Lets that much time pass, in milliseconds, and everything in it happen. */
  advance(ms: number): Promise<void> {
    return this.#simulation.advance(ms);
  }

  /** Lets time pass until the condition holds; throws, naming `what`, if it does not within two minutes of virtual time. */
  until(condition: () => boolean, what: string): Promise<void> {
    return this.#simulation.until(condition, what);
  }

  /** The value of a promise, letting time pass until it is there; throws if it is not within two minutes of virtual time. */
  settle<T>(promise: Promise<T>): Promise<T> {
    return this.#simulation.settle(promise);
  }

  // ---- Faults

  /** Nothing is read from the table or view, but for as many parts as are let through. What is built on it waits. */
  holdReads(name: string, options: { readonly letThrough?: number } = {}): Release {
    return this.#simulation.holdReads(name, options);
  }

  /** Reading the table or view fails as on a broken disk. What is built on it is tried again, with pauses. */
  failReads(name: string): Release {
    return this.#simulation.breakReads(name);
  }

  /** Nothing is written to the table or view: an INSERT waits, a view is computed and not written. */
  holdAppends(name: string): Release {
    return this.#simulation.holdAppends(name);
  }

  /** Each write to the table or view takes that much longer, in milliseconds. */
  slowAppends(name: string, ms: number): Release {
    return this.#simulation.slowAppends(name, ms);
  }

  /** A worker of a cluster's first replica stands still; what it is sent waits. */
  stallWorker(index: number, options: { readonly cluster?: string } = {}): Release {
    return this.#simulation.stallWorker(index, options.cluster);
  }

  /** The wall clock of this machine jumps by that many milliseconds, back if it is negative; intervals go on as they were. */
  stepClock(ms: number): void {
    this.#simulation.time.step(ms);
  }

  /** The first replica of a cluster (`quickstart` if none is named) dies with all its state. It is connected anew after a pause. */
  crash(options: { readonly cluster?: string } = {}): Promise<void> {
    return this.#simulation.crash(options.cluster);
  }

  /** A replica dies later, once, at that point of an object's life. */
  crashAt(point: CrashPoint): void {
    this.#simulation.crashAt(point);
  }

  /** Points given to `crashAt` that nothing has reached yet. */
  get crashesToCome(): number {
    return this.#simulation.armed;
  }

  /** The connection to a cluster's first replica is cut; needs `outlive`. It is made again after a pause, and finds its dataflows. */
  cut(options: { readonly cluster?: string } = {}): void {
    this.#simulation.cut(options.cluster);
  }

  /** Lets time pass until the replicas of a cluster (`quickstart` if none is named) are connected. */
  connected(cluster?: string): Promise<void> {
    return this.#simulation.connected(cluster);
  }

  // ---- Processes

  /** Ends the environment in good order and starts another one over the same data. Statements under way end. */
  async restart(): Promise<void> {
    await this.#endSession();
    await this.#simulation.restart();
  }

  /** The environment dies as by `kill -9` and another one starts over the same data. Nothing under way is ever answered. */
  async kill(): Promise<void> {
    this.#db = null;
    await this.#simulation.kill();
  }

  /** Another process over the same data, on the same clock, which stands by for this one. */
  async standby(options: Omit<OpenTestOptions, 'seed'> = {}): Promise<TestEnvironment> {
    return new TestEnvironment(await this.#simulation.standby(options));
  }

  /** Whether this process leads or stands by, and what it still lacks to be promoted. */
  get leaderStatus(): LeaderStatus {
    return this.#simulation.status;
  }

  /** Lets time pass until a process that stands by is caught up. */
  caughtUp(): Promise<void> {
    return this.#simulation.caughtUp();
  }

  /** A process that stands by takes over and fences the other; rejects while it is not caught up, unless forced. */
  promote(options: { readonly force?: boolean } = {}): Promise<void> {
    return this.#simulation.promote(options);
  }

  /** Why another process has taken over from this one, which then answers no more; null while none has. */
  get fenced(): Error | null {
    return this.#simulation.fenced;
  }

  /** The process hangs as one that was stopped does: what it asks of the stores waits. */
  hang(): Release {
    return this.#simulation.stop();
  }

  // ---- The end

  /**
   * Throws unless everything that lives is what lived when the environment was new: dataflows, operators, arrangements, holds, peeks,
   * commands kept for a reconnect, timers, parts of dropped shards. First drop what you made and end what you started.
   */
  assertNothingLeft(): Promise<void> {
    return this.#simulation.assertNothingLeft();
  }

  /** Ends the environment; throws if a timer is left when the last process over the data is closed. */
  async close(): Promise<void> {
    await this.#endSession();
    await this.#simulation.close();
  }

  async #endSession(): Promise<void> {
    if (this.#db !== null) await this.settle(this.#db.close());
    this.#db = null;
  }
}
