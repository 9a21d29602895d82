/**
 * A whole environment in one thread on virtual time: what happens, and in which order, is drawn from a seed.
 *
 *     const t = await openTest({ seed: 1, workers: 2 });
 *     await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
 *     await t.advance(1000);
 *     const rows = await t.query('SELECT * FROM mz_introspection.mz_compute_lifecycle_events_per_worker');
 *     await t.close();
 *
 * A statement runs until it is answered, leaping over quiet time; `start` leaves it under way. Shards, workers and clocks can be held
 * up, replicas crash. `assertNothingLeft` compares what lives with what lived when the environment was new.
 */
import { startEnvironment } from '../adapter/boot.ts';
import type { Environment } from '../adapter/environment.ts';
import { type LeaderStatus, leaderStatus, promote } from '../adapter/promotion.ts';
import { Session } from '../adapter/session.ts';
import { AssertionError, assert } from '../base/assert.ts';
import { silentLogger, type Timers } from '../base/clock.ts';
import { type SqlError, unsupported } from '../base/error.ts';
import type { GlobalId, ReplicaId } from '../base/ids.ts';
import type { Command, ReplicaConnection, Response } from '../compute/protocol.ts';
import { InProcessReplica } from '../host/in-process-replica.ts';
import type { StoreSet } from '../host/shard-access.ts';
import { MemoryBlob } from '../persist/blob.ts';
import { MemoryConsensus } from '../persist/consensus.ts';
import { consensusKey } from '../persist/log.ts';
import { MemoryPins } from '../persist/pins.ts';
import { Shards } from '../persist/shards.ts';
import { observed } from './observed-connection.ts';
import { knowOfReplicasElsewhere, OutlivingReplicas, ProcessTimers } from './outliving-replicas.ts';
import type { SeededRandom } from './random.ts';
import { Door, SharedData } from './shared-data.ts';
import { runStatements, type Started, type TestRow } from './statements.ts';
import { type CrashPoint, isReached, type TestOptions } from './test-options.ts';
import type { VirtualTime } from './virtual-time.ts';
import { living, orphans } from './what-lives.ts';

export type { Started, TestRow } from './statements.ts';

interface Connected {
  readonly replica: InProcessReplica;
  readonly life: number;
}

/** Virtual time after which a statement that gives no answer is a fault. */
const PATIENCE_MS = 120_000;

export async function openTest(options: TestOptions = {}): Promise<TestEnvironment> {
  const t = new TestEnvironment(options);
  await t.open();
  return t;
}

export class TestEnvironment {
  readonly seed: number;
  readonly random: SeededRandom;
  readonly time: VirtualTime;
  env!: Environment;
  /** What was said between the environment and its replicas, with its time: two runs of a seed are equal in it. */
  readonly trace: string[] = [];
  readonly #o: TestOptions;
  /** The process that reached the data last was fenced: why. */
  fenced: Error | null = null;
  readonly #data: SharedData;
  #door: Door;
  #timers!: ProcessTimers;
  #elsewhere: OutlivingReplicas | null = null;
  readonly #pins = new MemoryPins();
  readonly #shardsElsewhere: Shards[] = [];
  #standsBy: boolean;
  readonly #replicas = new Map<ReplicaId, Connected>();
  #connections = 0;
  readonly #lives = new Map<ReplicaId, number>();
  readonly #memoryLimits = new Map<ReplicaId, number | undefined>();
  readonly #stalled = new Set<string>();
  readonly #armed = new Set<CrashPoint>();
  #session!: Session;
  #stores!: StoreSet;
  #sessions = 0;
  #baseline: string;

  /** `leader`: another process over the same data, for which this one stands by. */
  constructor(options: TestOptions, leader?: TestEnvironment) {
    this.#o = options;
    this.seed = options.seed ?? 1;
    this.#data = leader === undefined ? new SharedData(this.seed) : leader.#data;
    this.#door = new Door(this.#data);
    this.#standsBy = leader !== undefined;
    this.random = this.#data.random;
    this.time = this.#data.time;
    this.#baseline = leader === undefined ? '' : leader.#baseline;
  }

  async open(): Promise<void> {
    const { time, random } = this;
    const logger = this.#o.logger ?? silentLogger;
    const data = this.#data;
    const generation = data.generation + (this.#standsBy ? 1 : 0);
    this.#timers = new ProcessTimers(time);
    const door = this.#door;
    const process = { timers: this.#timers, logger, processTag: `test-${generation}` };
    const memory = { blob: new MemoryBlob(), consensus: new MemoryConsensus() };
    const stores: StoreSet = {
      durable: data.shards(door, { ...process, pins: this.#pins }),
      memory: new Shards({ ...process, ...memory, clock: time, random }),
    };
    if (this.#o.outlive === true) knowOfReplicasElsewhere(stores.durable, this.#pins);
    this.#stores = stores;
    const refuse = (): Promise<never> => Promise.reject(unsupported('a file in a simulation'));
    this.env = await this.settle(
      startEnvironment({
        stores,
        generation,
        start: this.#standsBy ? 1 : ++data.starts,
        clock: time,
        timers: this.#timers,
        random,
        logger,
        files: this.#o.files ?? { describe: refuse, read: refuse },
        createReplica: ({ replicaId, workers, memoryLimitBytes }) => {
          this.#memoryLimits.set(replicaId, memoryLimitBytes);
          return this.#connection(replicaId, workers);
        },
        defaultWorkers: this.#o.workers ?? 1,
        ...(this.#o.catalogHistoryMs !== undefined && { catalogHistoryMs: this.#o.catalogHistoryMs }),
        onFenced: (error) => {
          this.fenced = error;
        },
        ...(this.#standsBy && { standby: { claim: () => door.claim(generation) } }),
      }),
    );
    data.open++;
    this.#session = this.session();
    await this.settle(this.env.group.write({}));
    await this.run();
    if (generation === 1 && data.starts === 1) this.#baseline = this.#living();
  }

  /** Another process over the same data, which stands by. */
  async standby(options: Omit<TestOptions, 'seed'> = {}): Promise<TestEnvironment> {
    const t = new TestEnvironment({ ...options, seed: this.seed }, this);
    await t.open();
    return t;
  }

  get status(): LeaderStatus {
    return leaderStatus(this.env);
  }

  /** Lets time pass until a process that stands by is caught up. */
  async caughtUp(): Promise<void> {
    await this.until(() => this.status.caughtUp, 'the process that stands by is caught up');
  }

  async promote(options: { readonly force?: boolean } = {}): Promise<void> {
    await this.settle(promote(this.env, options));
    this.#standsBy = false;
  }

  /**
   * Promotes by force, and lets this process get no further than so many of the promotion's writes to consensus: `kill` comes next. False
   * if it is the leader before that.
   */
  async promoteUntil(writes: number): Promise<boolean> {
    const shut = this.#door.shutAfter(writes).then(() => true);
    const led = promote(this.env, { force: true }).then(() => false);
    const cut = await this.settle(Promise.race([shut, led]));
    await this.run();
    return cut;
  }

  /** The statements run here between the last look that a promotion takes at this leader and its first act. */
  beforePromotion(sql: string): void {
    this.#data.beforeClaim = async () => {
      const statement = this.start(sql);
      while (!statement.isDone) await new Promise<void>((resolve) => this.time.schedule(resolve));
    };
  }

  /** What this process asks of the stores waits until the returned function is called: as stopped, it holds everything it has. */
  stop(): () => void {
    return this.#door.shut();
  }

  /** Ends the environment in good order, and starts another one over the same data. */
  async restart(): Promise<void> {
    this.#session.close();
    await this.settle(this.env.close());
    this.#data.open--;
    await this.open();
  }

  /**
   * The environment dies as by kill -9 and another one starts over the same data. Its own workers die with it; replicas that outlive it
   * find their connection cut. One that stands by is started to do so again, or to lead.
   */
  async kill(next: 'stands by' | 'leads' = this.#standsBy ? 'stands by' : 'leads'): Promise<void> {
    this.#timers.kill();
    this.#door.shut();
    for (const [id, { replica }] of this.#replicas) if (!this.#outlives(id)) await replica.close();
    this.#elsewhere?.cutAll();
    this.#timers.kill();
    this.#door = new Door(this.#data);
    this.#data.open--;
    this.#standsBy = next === 'stands by';
    this.fenced = null;
    await this.open();
  }

  #outlives(replicaId: ReplicaId): boolean {
    return this.#o.outlive === true && replicaId.startsWith('u');
  }

  #connection(replicaId: ReplicaId, workers: number): ReplicaConnection {
    if (!this.#outlives(replicaId))
      return this.#observed(replicaId, this.#start(replicaId, workers, this.#stores, this.#timers));
    this.#elsewhere ??= new OutlivingReplicas({
      startLife: (id, n) => this.#start(id, n, this.#storesElsewhere(), this.time),
      leadingGeneration: () => this.#data.generation,
    });
    return this.#observed(replicaId, this.#elsewhere.connect(replicaId, workers));
  }

  /** Of another process: the same data, and whatever environment is connected serves the shards in its memory. */
  #storesElsewhere(): StoreSet {
    const logger = this.#o.logger ?? silentLogger;
    const process = { timers: this.time, logger, processTag: 'elsewhere', pins: this.#pins };
    const memory = (): Shards => this.#stores.memory;
    const durable = this.#data.shards(this.#data, process);
    this.#shardsElsewhere.push(durable);
    return {
      durable,
      get memory() {
        return memory();
      },
    };
  }

  #start(replicaId: ReplicaId, workers: number, stores: StoreSet, timers: Timers): InProcessReplica {
    const { time, random } = this;
    const life = (this.#lives.get(replicaId) ?? 0) + 1;
    this.#lives.set(replicaId, life);
    const onLog = this.#o.onLogUpdates;
    const replica = new InProcessReplica({
      workers,
      memoryLimitBytes: this.#memoryLimits.get(replicaId),
      stores,
      clock: time,
      workerClock: (i) => time.skewed(this.#o.skewMs?.[i] ?? 0),
      timers,
      logger: this.#o.logger ?? silentLogger,
      incarnation: this.#data.nextIncarnation(),
      schedule: time.schedule,
      openFile: time.openFile,
      random,
      runs: (i) => !this.#stalled.has(`${replicaId} ${i}`),
      ...(onLog && { onLogUpdates: (worker, u) => onLog({ replicaId, life, worker, workers }, u) }),
    });
    this.#replicas.set(replicaId, { replica, life });
    return replica;
  }

  #observed(replicaId: ReplicaId, replica: ReplicaConnection): ReplicaConnection {
    const connection = ++this.#connections;
    return observed(replica, {
      note: (what) => this.trace.push(`${this.time.nowMs()} ${replicaId} ${what}`),
      onCommand: this.#o.onCommand ?? ((command) => command),
      onHeard: (response) => {
        const life = this.#lives.get(replicaId)!;
        this.#o.onHeard?.({ replicaId, life, connection, workers: replica.workers }, response);
        this.#crashIfArmed(replicaId, response);
      },
    });
  }

  // ---- Time

  /** Until nothing is left to do at this instant. */
  async run(): Promise<void> {
    await this.time.pump(() => false);
  }

  async advance(ms: number): Promise<void> {
    await this.time.passUntil(ms, () => false);
  }

  /** Lets time pass until the condition holds; a fault if it never does. */
  async until(condition: () => boolean, what: string): Promise<void> {
    if (await this.time.passUntil(PATIENCE_MS, condition)) return;
    throw new AssertionError(`${what}: not within ${PATIENCE_MS} ms of virtual time (seed ${this.seed})`);
  }

  /** The value of a promise, letting time pass until it is there. */
  async settle<T>(promise: Promise<T>): Promise<T> {
    let done = false;
    const end = (): void => {
      done = true;
    };
    promise.then(end, end);
    await this.until(() => done, 'a promise settles');
    return promise;
  }

  session(): Session {
    return new Session({
      env: this.env,
      user: 'tidemark',
      database: 'tidemark',
      sessionId: ++this.#sessions,
      notice: () => undefined,
    });
  }

  /** Runs statements one after another in the session; gives the last one's rows. */
  exec(sql: string): Promise<readonly TestRow[]> {
    return this.settle(runStatements(this.env, this.#session, sql));
  }

  query(sql: string): Promise<readonly TestRow[]> {
    return this.exec(sql);
  }

  /** Leaves statements under way, in a session of their own unless one is given. */
  start(sql: string, session: Session = this.session()): Started {
    let done = false;
    const promise = runStatements(this.env, session, sql).finally(() => {
      done = true;
    });
    promise.catch(() => undefined);
    return {
      get isDone() {
        return done;
      },
      result: () => this.settle(promise),
      cancel: () => session.cancel(),
    };
  }

  /** The error that a statement ends with. */
  async failure(sql: string): Promise<SqlError> {
    try {
      await this.exec(sql);
    } catch (error) {
      return error as SqlError;
    }
    throw new AssertionError(`${sql}: it succeeded`);
  }

  id(name: string): GlobalId {
    const item = this.env.catalog.resolve(name.split('.'), { database: 'tidemark', searchPath: ['public'] });
    assert(item !== undefined, `object ${name} exists`);
    return item.id;
  }

  // ---- Faults

  #shardOf(name: string): string {
    return this.env.collections.shardOf(this.id(name));
  }

  /** Nothing is written to the object's shard until the returned function is called. */
  holdAppends(name: string): () => void {
    return this.#data.consensus.hold(consensusKey(this.#shardOf(name)));
  }

  /** Each write to the object's shard takes so long, until the returned function is called. */
  slowAppends(name: string, ms: number): () => void {
    return this.#data.consensus.slow(consensusKey(this.#shardOf(name)), (f) => this.time.after(ms, f));
  }

  /** Nothing is read from the object's shard, but for as many parts as are let through, until the returned function is called. */
  holdReads(name: string, o: { readonly letThrough?: number } = {}): () => void {
    return this.#data.blob.hold(`${this.#shardOf(name)}/`, o.letThrough);
  }

  /** Reads from the object's shard fail until the returned function is called. */
  breakReads(name: string): () => void {
    return this.#data.blob.break(`${this.#shardOf(name)}/`);
  }

  /** The first replica of a cluster. */
  replicaOf(cluster = 'quickstart'): { readonly id: ReplicaId; readonly workers: number } {
    const [replica] = this.env.catalog.cluster(cluster)?.replicas ?? [];
    assert(replica !== undefined, `cluster ${cluster} has a replica`);
    return replica;
  }

  /** One more replica of a cluster, past the catalog: both maintain everything, and race to write it. */
  addReplica(workers: number, cluster = 'quickstart'): ReplicaId {
    const id = `extra${this.#replicas.size}` as ReplicaId;
    const instance = this.env.instance(this.env.catalog.cluster(cluster)!.id);
    instance.addReplica(id, this.#connection(id, workers));
    return id;
  }

  /** A worker stands still until the returned function is called. */
  stallWorker(index: number, cluster?: string, id: ReplicaId = this.replicaOf(cluster).id): () => void {
    const key = `${id} ${index}`;
    this.#stalled.add(key);
    return () => {
      this.#stalled.delete(key);
      this.#replicas.get(id)?.replica.wake();
    };
  }

  /** A replica dies as by a failed assertion. The environment connects it anew after a pause. */
  async crash(cluster?: string, id: ReplicaId = this.replicaOf(cluster).id): Promise<void> {
    const { replica } = this.#replicas.get(id)!;
    await replica.close();
    replica.onLost('crashed by the test');
  }

  /**
   * The replica of a cluster that is first to tell that one of its workers reached the stage, with the object of that name if one is
   * given, dies right after. Once.
   */
  crashAt(at: CrashPoint): void {
    this.#armed.add(at);
  }

  /** Points that `crashAt` named and nothing has reached. */
  get armed(): number {
    return this.#armed.size;
  }

  #crashIfArmed(replicaId: ReplicaId, r: Response): void {
    const { catalog } = this.env;
    const isThere = (at: CrashPoint): boolean =>
      catalog.cluster(at.cluster ?? 'quickstart')?.replicas.some(({ id }) => id === replicaId) === true;
    const name = 'id' in r ? catalog.item(r.id)?.name.item : undefined;
    const point = [...this.#armed].find((at) => isThere(at) && isReached(at, r, name));
    if (point === undefined) return;
    this.#armed.delete(point);
    void this.crash(undefined, replicaId);
  }

  /** The connection to a replica that outlives it is cut. The environment connects again after a pause. */
  cut(cluster?: string): void {
    this.#elsewhere?.cut(this.replicaOf(cluster).id);
  }

  /** Lets time pass until the cluster's replicas are connected, after a crash for instance. */
  async connected(cluster = 'quickstart'): Promise<void> {
    const { id: clusterId, replicas } = this.env.catalog.cluster(cluster)!;
    const instance = this.env.instance(clusterId);
    const isConnected = (id: ReplicaId): boolean => instance.replicas.some((r) => r.id === id);
    for (const { id } of replicas) await this.until(() => isConnected(id), `replica ${id} is connected`);
  }

  /** A command past the controller, for what no statement brings about. */
  sendTo(cluster: string, command: Command): void {
    for (const { id } of this.env.catalog.cluster(cluster)!.replicas)
      this.#replicas.get(id)!.replica.send(command);
  }

  /** Samples of the replica's registries as text, `name{label=value,…} number`. */
  metrics(cluster?: string): readonly string[] {
    const { replica } = this.#replicas.get(this.replicaOf(cluster).id)!;
    return replica.metrics.flatMap((registry) =>
      Array.from(registry.samples(), (s) => {
        const labels = s.labels.map(([name, value]) => `${name}=${value}`);
        return `${s.name}{${labels.join()}} ${s.value}`;
      }),
    );
  }

  // ---- What is left

  #living(): string {
    return living(this.env, (id) => this.#replicas.get(id)!.replica.debugCounts());
  }

  /** Shards that have parts and that no object has. */
  orphans(): Promise<readonly string[]> {
    return orphans(this.env, this.#data.blob);
  }

  /** After everything that users created was dropped, what lives is what lived at the start. */
  async assertNothingLeft(afterMs = 2500): Promise<void> {
    await this.advance(afterMs);
    const orphans = await this.orphans();
    assert(orphans.length === 0, `parts of dropped shards are gone (seed ${this.seed}): ${orphans.join()}`);
    const now = this.#living();
    const both = `\n  now   ${now}\n  first ${this.#baseline}`;
    assert(now === this.#baseline, `nothing is left (seed ${this.seed}):${both}`);
  }

  async close(): Promise<void> {
    this.#session.close();
    await this.settle(this.env.close());
    await this.#elsewhere?.close();
    for (const s of this.#shardsElsewhere) await this.settle(s.close());
    await this.run();
    this.#data.open--;
    assert(
      this.#data.open > 0 || this.time.waiting === 0,
      `no timer is left after the end, but ${this.time.waiting} (seed ${this.seed})`,
    );
  }
}
