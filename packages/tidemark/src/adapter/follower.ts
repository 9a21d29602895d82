/**
 * The catalog of a generation that stands by: follows what the leader makes durable, in order, and brings about here what it says.
 * Objects that the leader creates are maintained here too, without the permission to write; objects that it drops end.
 *
 * The read time follows the leader only when everything before it was applied, so a strict read here sees the catalog of its time.
 */
import type { GlobalId } from '../base/ids.ts';
import { compareIds } from '../base/ids.ts';
import type { CatalogItem } from '../catalog/catalog-reader.ts';
import { type EntityChanges, readChanges } from '../catalog/durable-catalog.ts';
import {
  type ClusterEntity,
  type Entity,
  entityKey,
  type ItemEntity,
  type ReplicaEntity,
} from '../catalog/entities.ts';
import type { Frontier, Timestamp } from '../time/timestamp.ts';
import { scratch } from './ddl/alter.ts';
import type { Environment } from './environment.ts';
import { loadItem } from './items.ts';
import type { CatalogFollower } from './leadership.ts';
import { recreateDataflow } from './recreate.ts';

/** Pause after an error before the catalog is read on. */
const RETRY_MS = 1000;

export class Follower implements CatalogFollower {
  readonly #env: Environment;
  readonly #ended = new AbortController();
  readonly #waiting = new Set<() => void>();
  /** Objects whose dataflow could not be created yet: tried again when the leader moves. */
  readonly #pending = new Map<GlobalId, ItemEntity>();
  #applied: Timestamp;
  #running: Promise<void> = Promise.resolve();

  /** Everything at and before `asOf` is there already, but for the dataflows of `pending`. */
  constructor(env: Environment, asOf: Timestamp, pending: readonly ItemEntity[]) {
    this.#env = env;
    this.#applied = asOf + 1;
    for (const e of pending) this.#pending.set(e.id, e);
  }

  start(): void {
    this.#running = this.#run();
  }

  get applied(): Frontier {
    return this.#applied;
  }

  get pending(): ReadonlySet<GlobalId> {
    return new Set(this.#pending.keys());
  }

  async reach(upper: Frontier): Promise<void> {
    while (this.#applied < upper && !this.#ended.signal.aborted)
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  #wake(): void {
    for (const f of this.#waiting) f();
    this.#waiting.clear();
  }

  async #run(): Promise<void> {
    const { options } = this.#env;
    while (!this.#ended.signal.aborted)
      try {
        await this.#follow();
      } catch (error) {
        if (this.#ended.signal.aborted || this.#env.leadership.role === 'fenced') return this.#wake();
        options.logger.warn({ error }, 'the catalog of the leader is read again');
        await this.#pause();
      }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#env.options.timers.after(RETRY_MS, resolve);
      this.#ended.signal.addEventListener('abort', () => {
        cancel();
        resolve();
      });
    });
  }

  async #follow(): Promise<void> {
    const { catalogHistory, catalogShard, leadership, oracle, options } = this.#env;
    // The leader also leaves replaced parts lying for a while where another process holds the shard.
    await catalogHistory.follow(catalogShard, this.#applied - 1).catch((error: unknown) => {
      if (catalogShard.since < this.#applied) throw error;
      const detail = 'the catalog has forgotten what happened since it was read last';
      throw leadership.end('this process slept too long to stand by', detail, 'start it again');
    });
    const listen = await catalogShard.listen(this.#applied - 1);
    try {
      while (!this.#ended.signal.aborted) {
        const step = await listen.next(this.#ended.signal);
        if (step === null) return;
        leadership.check();
        for (const change of await readChanges(options.stores.durable, step)) await this.#apply(change);
        await this.createPending();
        this.#applied = step.upper;
        oracle.follow(step.upper - 1);
        catalogHistory.hasRead(step.upper - 1);
        this.#wake();
      }
    } finally {
      listen.close();
    }
  }

  /** One transaction of the leader, as one here: what it says is true at once, and then brought about. */
  async #apply({ remove, put }: EntityChanges): Promise<void> {
    const env = this.#env;
    const kept = new Set(put.map(entityKey));
    const gone = remove.filter((e) => !kept.has(entityKey(e)));
    const before = storedLike(env, put);
    const old = new Map(before.map((e) => [entityKey(e), e]));
    const doomed = gone.flatMap((e) =>
      e.kind === 'cluster' ? [{ id: e.id, replicas: env.catalog.replicasOf(e.id) }] : [],
    );
    for (const e of put) if (e.kind === 'item') await followShard(env, e);
    const { items, loaded } = this.#load([...storedLike(env, gone), ...before], put);
    const others = put.filter((e) => e.kind !== 'item');
    await env.transact(
      { remove: [...storedLike(env, gone), ...before], put: [...others, ...loaded], items },
      { durable: false },
    );
    for (const e of gone) if (e.kind === 'item') this.#drop(e);
    for (const e of gone) if (e.kind === 'replica') await env.clusters.stopReplica(e.id);
    for (const c of doomed) await env.clusters.stopCluster(c.id, c.replicas);
    for (const e of others) if (e.kind === 'cluster') await putCluster(env, e, old.get(entityKey(e)));
    for (const e of others) if (e.kind === 'replica') await putReplica(env, e, old.get(entityKey(e)));
    if ([...gone, ...others].some((e) => e.kind === 'setting')) env.clusters.settingsChanged();
    for (const e of loaded) this.#maintain(e, old.get(entityKey(e)));
  }

  /** What the statements of put items derive to, in a catalog of their time: a name may have gone from one object to another. */
  #load(
    remove: readonly Entity[],
    put: readonly Entity[],
  ): { readonly items: Map<GlobalId, CatalogItem>; readonly loaded: readonly ItemEntity[] } {
    const now = scratch(this.#env.catalog);
    now.apply({ remove, put: put.filter((e) => e.kind !== 'item'), items: new Map() });
    const items = new Map<GlobalId, CatalogItem>();
    const loaded = put.filter((e) => e.kind === 'item').sort((a, b) => compareIds(a.id, b.id));
    for (const e of loaded)
      try {
        const item = loadItem(now, e);
        items.set(e.id, item);
        this.#env.unloaded.delete(e.id);
        now.apply({ remove: [], put: [e], items: new Map([[e.id, item]]) });
      } catch (error) {
        this.#env.leaveOut(e, error);
      }
    return { items, loaded: loaded.filter((e) => items.has(e.id)) };
  }

  #drop(e: ItemEntity): void {
    const env = this.#env;
    this.#pending.delete(e.id);
    env.unloaded.delete(e.id);
    this.#dropExport(e);
    // Its shard is the leader's to remove.
    env.collections.remove(e.id);
  }

  #dropExport({ id, exportId = id, clusterId }: ItemEntity): void {
    this.#env.leadership.heldBack.delete(exportId);
    if (clusterId !== undefined) this.#env.clusters.instances.get(clusterId)?.drop([exportId]);
  }

  /** `old`: as it was before; a change of its name alone does not touch what runs. */
  #maintain(e: ItemEntity, old: Entity | undefined): void {
    if (e.clusterId === undefined) return;
    if (old?.kind === 'item') {
      if (old.shard === e.shard && old.clusterId === e.clusterId && old.exportId === e.exportId) return;
      this.#dropExport(old);
    }
    this.#pending.set(e.id, e);
  }

  async createPending(): Promise<void> {
    for (const [id, e] of this.#pending)
      try {
        await recreateDataflow(this.#env, e);
        this.#pending.delete(id);
      } catch (error) {
        this.#env.options.logger.warn({ id, error }, 'an object of the leader is not maintained yet');
      }
  }

  /** Ends at once; waiters are let go. */
  async stop(): Promise<void> {
    this.#ended.abort();
    this.#wake();
    await this.#running;
    this.#wake();
  }
}

const storedLike = (env: Environment, put: readonly Entity[]): Entity[] =>
  put.flatMap((e) => env.catalog.get(e.kind, e.id) ?? []);

async function putCluster(env: Environment, e: ClusterEntity, old: Entity | undefined): Promise<void> {
  if (!env.clusters.instances.has(e.id)) env.clusters.startCluster(e.id);
  else if (old?.kind === 'cluster') await env.clusters.clusterChanged(old, e);
}

async function putReplica(env: Environment, e: ReplicaEntity, old: Entity | undefined): Promise<void> {
  if (old !== undefined) await env.clusters.stopReplica(e.id);
  env.clusters.startReplica(e.clusterId, e);
}

/** Begins to read an object's shard, which the leader made before it committed the object. */
export async function followShard(env: Environment, e: ItemEntity): Promise<void> {
  if (e.shard === undefined) return;
  if (env.collections.has(e.id)) {
    if (env.collections.shardOf(e.id) === e.shard) return;
    env.collections.remove(e.id);
  }
  const { durable } = env.options.stores;
  const shard = await durable.open(e.shard);
  // Dropped again already: its end follows.
  if (shard === null)
    env.options.logger.warn({ id: e.id, shard: e.shard }, 'the shard of an object is missing');
  else await env.collections.add(e.id, shard, durable.stores.watch);
}
