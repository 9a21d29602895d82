/**
 * An environment: the catalog, the clock of its tables, the clusters and their replicas, brought up from what is durable. Sessions and
 * DDL stand on it. Everything that changes the catalog goes through `transact`: one consensus transaction, then the
 * state in memory, then whoever waits.
 */
import { assert } from '../base/assert.ts';
import type { Clock, Logger, Random, Timers } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import { type ClusterId, compareIds, type GlobalId, systemId } from '../base/ids.ts';
import { BuiltinRows, type PreparedRows, rowsOf } from '../catalog/builtin-rows.ts';
import { AUDIT_TABLE } from '../catalog/builtins/audit-table.ts';
import { builtinDocs } from '../catalog/builtins/builtin-docs.ts';
import type { BuiltinTable } from '../catalog/builtins/builtin-table.ts';
import { builtinShard } from '../catalog/builtins/builtins.ts';
import { BUILTIN_TABLES, type BuiltinTableName } from '../catalog/builtins/tables.ts';
import type { CatalogItem } from '../catalog/catalog-reader.ts';
import { CatalogState } from '../catalog/catalog-state.ts';
import {
  CATALOG_SCHEMA,
  CATALOG_SHARD,
  type CatalogSnapshot,
  encodeEntities,
  readEntities,
} from '../catalog/durable-catalog.ts';
import { type Entity, entityKey, type ItemEntity, type LoadedItem } from '../catalog/entities.ts';
import { replicaIndexes, replicaIndexIds } from '../catalog/replica-indexes.ts';
import type { ComputeInstance } from '../controller/instance.ts';
import type { Shard } from '../persist/shard.ts';
import type { Fence } from '../persist/shard-types.ts';
import type { Shards } from '../persist/shards.ts';
import type { Batch } from '../repr/batch.ts';
import { uuidToText } from '../repr/scalars.ts';
import { type Row, TYPES, type TypeName } from '../repr/types.ts';
import { Collections } from '../storage/collections.ts';
import type { FileReader } from '../storage/file-source.ts';
import { GroupCommit, type StoreKind, type WriteRequest } from '../storage/group-commit.ts';
import { TimestampOracle } from '../storage/timestamp-oracle.ts';
import type { Timestamp } from '../time/timestamp.ts';
import { Audit } from './audit.ts';
import { openBuiltinTable } from './builtin-tables.ts';
import { CatalogHistory } from './catalog-history.ts';
import { Clusters, type CreateReplica, SYSTEM_CLUSTER, SYSTEM_REPLICA } from './clusters.ts';
import type { History } from './history.ts';
import { openHistory } from './history-store.ts';
import { Hydration } from './hydration/hydration.ts';
import { type CatalogFollower, Leadership } from './leadership.ts';
import { builtinUpdates, commitAll, type LiveChange, LiveRows } from './live-rows.ts';
import { PlanCache } from './plan-cache.ts';
import { Turns } from './turns.ts';
import { Unified } from './unified.ts';

export interface EnvironmentOptions {
  readonly stores: { readonly durable: Shards; readonly memory: Shards };
  readonly generation: number;
  /** Number of this start. */
  readonly start: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  readonly createReplica: CreateReplica;
  readonly files: FileReader;
  /** Another process writes here now: this one must stop. */
  readonly onFenced: (error: Error) => void;
  /** Stands by for the process that writes here, as the generation after its own. */
  readonly standby?: StandbyOptions;
  readonly tickMs?: number;
  /** How far back the catalog's shard can be read; ten minutes if absent. */
  readonly catalogHistoryMs?: number;
  /** Workers of the default cluster, where it is made now. */
  readonly defaultWorkers: number;
}

export interface StandbyOptions {
  /** Makes the generation this process's, before anything is fenced; rejects when another process has claimed it. */
  claim(): Promise<void>;
  /** Everything durable is written by this process from now on. */
  onLeading?(): void;
  /** Addresses of replicas of this generation, by `cluster.replica`, for those that the catalog gives by address. */
  readonly replicas?: ReadonlyMap<string, string>;
}

/** How the catalog changes: entities that go (or are replaced), entities that come, and what their statements derive to. */
export interface CatalogTransaction {
  readonly remove?: readonly Entity[];
  readonly put?: readonly Entity[];
  readonly items?: ReadonlyMap<GlobalId, CatalogItem>;
  readonly join?: WriteRequest['join'];
  readonly leave?: readonly string[];
  /** Rows of other tables in the same commit. */
  readonly updates?: ReadonlyMap<string, readonly Batch[]>;
}

export const DEFAULT_DATABASE = 'tidemark';

const REMOVE_AFTER_MS = 1000;

export const nothingToFollow = (): SqlError =>
  new SqlError('object_not_in_prerequisite_state', 'there is nothing to stand by for', {
    hint: 'the process that leads sets the data up; start it first',
  });

export class Environment {
  readonly catalog: CatalogState = new CatalogState();
  readonly plans: PlanCache = new PlanCache();
  readonly collections: Collections;
  readonly options: EnvironmentOptions;
  readonly fence: Fence & { readonly start: number };
  readonly leadership: Leadership;
  readonly audit: Audit;
  readonly clusters: Clusters;
  /** Objects that could not be loaded, with what is wrong: another version may. The catalog does not have them, their shards are kept. */
  readonly unloaded: Map<GlobalId, { readonly entity: ItemEntity; readonly message: string }> = new Map();
  /** Sources whose file is at fault, with what is wrong. */
  readonly unreadable: Map<GlobalId, string> = new Map();
  oracle!: TimestampOracle;
  group!: GroupCommit;
  /** Where each object stands on each replica. */
  readonly hydration: Hydration;
  readonly unified: Unified;
  history!: History;
  /** Of a generation that stands by. */
  follower: CatalogFollower | null = null;
  readonly #rows = new BuiltinRows();
  readonly #live: LiveRows;
  catalogShard!: Shard;
  readonly catalogHistory: CatalogHistory;
  readonly #catalogListeners = new Set<() => void>();
  #transient = 0;
  #cancelMaintenance: (() => void) | null = null;
  readonly #removals = new Set<() => void>();
  #closed = false;

  constructor(options: EnvironmentOptions) {
    this.options = options;
    this.fence = { generation: options.generation, start: options.start };
    const { clock, timers, logger, generation, standby } = options;
    this.catalogHistory = new CatalogHistory({ logger, generation, historyMs: options.catalogHistoryMs });
    this.audit = new Audit(options);
    this.leadership = new Leadership({
      fence: this.fence,
      readOnly: standby !== undefined,
      onFenced: options.onFenced,
    });
    this.collections = new Collections({
      ...{ clock, logger, generation },
      leads: standby === undefined,
      onLeaseLost: (error) => {
        this.leadership.end('this process slept too long to stand by', error.message, 'start it again');
      },
    });
    this.#live = new LiveRows({
      rows: this.#rows,
      timers,
      logger,
      write: (updates) => this.group.write({ updates }),
    });
    this.hydration = new Hydration(this);
    this.unified = new Unified(this);
    this.clusters = new Clusters(this);
  }

  // ---- Start

  /** Opens the catalog and its tables; what the catalog's objects need is brought up by the caller (`bootObjects`). */
  async open(): Promise<CatalogSnapshot> {
    const { stores, clock, standby } = this.options;
    const shard = standby === undefined ? await this.#ownCatalog() : await stores.durable.open(CATALOG_SHARD);
    if (shard === null) throw nothingToFollow();
    this.catalogShard = shard;
    await (standby === undefined ? this.catalogHistory.lead(shard) : this.catalogHistory.follow(shard));
    this.leadership.watch(shard);
    const stored = await readEntities(stores.durable, shard);
    this.oracle = new TimestampOracle(clock, shard.upper as Timestamp);
    if (standby !== undefined) this.oracle.follow(stored.asOf);
    this.group = new GroupCommit({
      oracle: this.oracle,
      stores,
      fence: this.fence,
      timers: this.options.timers,
      logger: this.options.logger,
      tickMs: this.options.tickMs ?? 1000,
      fenced: (detail) => this.leadership.fenced(detail),
    });
    await this.#openBuiltinTables();
    this.history = openHistory(this, this.#rows);
    if (this.leadership.mayWrite) await this.history.lead();
    await this.transact({ put: [SYSTEM_CLUSTER, SYSTEM_REPLICA] }, { durable: false });
    return stored;
  }

  async #ownCatalog(): Promise<Shard> {
    const since = Math.floor(this.options.clock.nowMs());
    const { durable } = this.options.stores;
    const shard = await durable.create(CATALOG_SHARD, { schema: CATALOG_SCHEMA, since, fence: this.fence });
    await this.takeOver(shard);
    return shard;
  }

  /** Stands by from now on. */
  follow(follower: CatalogFollower): void {
    this.follower = follower;
    this.leadership.watch(this.catalogShard, (upper) => follower.reach(upper));
    follower.start();
  }

  async takeOver(shard: Shard): Promise<void> {
    const refused = await shard.takeOver(this.fence);
    if (refused !== null) throw this.leadership.fenced(`shard ${shard.shardId} belongs to a later process`);
  }

  /**
   * Makes an export of this generation the one that writes a view's shard: before it may write, and at each start, because a promotion
   * or a replacement may have been cut short between the catalog and the shard, whose sink would then be refused for ever.
   */
  async handOver(shard: Shard, exportId: GlobalId): Promise<void> {
    const { generation } = this.options;
    const refused = await shard.takeOver({ generation, exportId }, { replacement: true });
    if (refused !== null)
      throw this.leadership.fenced(`shard ${shard.shardId} belongs to a later generation`);
  }

  async #openBuiltinTables(): Promise<void> {
    const { stores } = this.options;
    const since = this.oracle.nextWrite();
    const join: { shard: Shard; store: StoreKind }[] = this.leadership.mayWrite
      ? [{ shard: this.catalogShard, store: 'durable' }]
      : [];
    const { fence, leadership } = this;
    for (const t of BUILTIN_TABLES) {
      const { shard, store } = await openBuiltinTable(t, {
        stores,
        fence,
        since,
        leads: leadership.mayWrite,
      });
      await this.collections.add(systemId(t.number), shard, stores[store].stores.watch, store);
      if (store === 'memory') join.push({ shard, store });
      else if (leadership.mayWrite) {
        await this.takeOver(shard);
        join.push({ shard, store });
      }
    }
    const prepared: PreparedRows[] = [
      this.#rows.prepare('engine', rowsOf('engine', null)),
      ...builtinDocs().map((d) => this.#rows.prepare(`builtin/${d.id}`, rowsOf('builtin', d))),
      ...(Object.keys(TYPES) as TypeName[]).map((t) => this.#rows.prepare(`type/${t}`, rowsOf('type', t))),
      ...[...this.catalog.all('schema')].map((s) => this.#rows.prepare(entityKey(s), rowsOf('schema', s))),
      ...[...this.catalog.loadedItems()].map((l) =>
        this.#rows.prepare(`item/${l.item.id}`, rowsOf('item', l)),
      ),
    ];
    await this.group.write({ join, updates: builtinUpdates(prepared), onDurable: () => commitAll(prepared) });
  }

  /**
   * Brings stored entities into memory, in the order of their creation: nothing becomes durable anew. An item whose
   * statement no longer loads is left out and told to the log; it does not keep the others down.
   */
  async adopt(entities: readonly Entity[], load: (e: ItemEntity) => CatalogItem): Promise<void> {
    const prepared: PreparedRows[] = [];
    const take = (e: Entity, items: ReadonlyMap<GlobalId, CatalogItem>): void => {
      prepared.push(...this.#preparedRows(e, items));
      this.catalog.apply({ remove: [], put: [e], items });
    };
    for (const e of entities) if (e.kind !== 'item') take(e, new Map());
    const items = entities.filter((e) => e.kind === 'item').sort((a, b) => compareIds(a.id, b.id));
    for (const e of items)
      try {
        take(e, new Map([[e.id, load(e)]]));
      } catch (error) {
        this.leaveOut(e, error);
      }
    await this.group.write({ updates: builtinUpdates(prepared), onDurable: () => commitAll(prepared) });
  }

  leaveOut(entity: ItemEntity, error: unknown): void {
    const { id, createSql: sql } = entity;
    this.unloaded.set(id, { entity, message: error instanceof Error ? error.message : String(error) });
    this.options.logger.error({ id, sql, error }, 'an object could not be loaded and is left out');
  }

  startMaintenance(): void {
    this.#cancelMaintenance = this.options.timers.after(1000, () => {
      this.collections.maintain();
      this.clusters.maintain();
      this.history.maintain();
      if (this.leadership.mayWrite) this.catalogHistory.maintain(this.options.clock.nowMs());
      if (!this.#closed) this.startMaintenance();
    });
  }

  // ---- Catalog changes

  /** One statement at a time changes the catalog; a failed one hands on to the next. */
  readonly exclusively: InTurn = inTurn();

  /** Of statements that read before they write. Not the lock of the catalog, for what is read may take its time. */
  readonly updating: Turns = new Turns(this.catalog);

  /** Makes a change durable, then true. `durable: false`: of what is derived at each start. */
  async transact(
    change: CatalogTransaction,
    options: { readonly durable?: boolean } = {},
  ): Promise<Timestamp> {
    const { remove = [], put = [], items = new Map<GlobalId, CatalogItem>() } = change;
    if (options.durable !== false) this.leadership.refuseWrite('a change of the catalog');
    const prepared = [
      ...this.#preparedRemovals(remove, put),
      ...put.flatMap((e) => this.#preparedRows(e, items)),
    ];
    const updates = new Map(builtinUpdates(prepared));
    if (options.durable !== false && remove.length + put.length > 0) {
      updates.set(CATALOG_SHARD, [encodeEntities(remove, put)]);
      const itemOf = (id: GlobalId) => items.get(id) ?? this.catalog.item(id);
      const audited = this.audit.eventsOf(remove, put, itemOf);
      if (audited !== null) updates.set(builtinShard(AUDIT_TABLE), [audited]);
    }
    for (const [shard, batches] of change.updates ?? [])
      updates.set(shard, [...(updates.get(shard) ?? []), ...batches]);
    return this.group.write({
      updates,
      ...(change.join !== undefined && { join: change.join }),
      ...(change.leave !== undefined && { leave: change.leave }),
      onDurable: () => {
        this.catalog.apply({ remove, put, items });
        commitAll(prepared);
        this.hydration.catalogChanged({ remove, put });
        for (const f of [...this.#catalogListeners]) f();
      },
    });
  }

  #preparedRemovals(remove: readonly Entity[], put: readonly Entity[]): PreparedRows[] {
    const replaced = new Set(put.map(entityKey));
    return remove
      .filter((e) => !replaced.has(entityKey(e)))
      .flatMap((e) => {
        const indexes = e.kind === 'cluster' ? replicaIndexIds(e).map((id) => `item/${id}`) : [];
        return [entityKey(e), ...indexes].map((key) => this.#rows.prepare(key, []));
      });
  }

  #preparedRows(e: Entity, items: ReadonlyMap<GlobalId, CatalogItem>): PreparedRows[] {
    const item = (l: LoadedItem) => this.#rows.prepare(`item/${l.item.id}`, rowsOf('item', l));
    switch (e.kind) {
      case 'database':
        return [this.#rows.prepare(entityKey(e), rowsOf('database', e))];
      case 'schema':
        return [this.#rows.prepare(entityKey(e), rowsOf('schema', e))];
      case 'cluster':
        return [this.#rows.prepare(entityKey(e), rowsOf('cluster', e)), ...replicaIndexes(e).map(item)];
      case 'replica':
        return [this.#rows.prepare(entityKey(e), rowsOf('replica', e))];
      case 'comment':
        return [this.#rows.prepare(entityKey(e), rowsOf('comment', e))];
      case 'item':
        return [item({ item: items.get(e.id)!, entity: e, schemaId: e.schemaId })];
      case 'setting':
      case 'sequence':
        return [];
    }
  }

  /** A catalog table; undefined: something else. */
  builtinTable(id: GlobalId): BuiltinTable | undefined {
    return TABLES.get(id);
  }

  /** What a catalog table holds now, at the time of the last commit. */
  builtinRows(id: GlobalId): readonly Row[] {
    return [...this.#rows.rowsIn(builtinName(id))];
  }

  /** Grows when they change. */
  builtinVersion(id: GlobalId): number {
    return this.#rows.versionOf(builtinName(id));
  }

  /** Rows that a controller keeps about the present. */
  setLive(changes: readonly LiveChange[]): void {
    if (this.leadership.role !== 'fenced') this.#live.set(changes);
  }

  /**
   * Forgets a dropped object's shard once the workers that write or read it have heard of the drop; they would report its absence
   * as a fault. A start sweeps what did not come to it.
   */
  removeShardLater(shardId: string): void {
    const cancel = this.options.timers.after(REMOVE_AFTER_MS, () => {
      this.#removals.delete(cancel);
      this.options.stores.durable.remove(shardId).catch((error: unknown) => {
        this.options.logger.warn({ shard: shardId, error }, 'the shard of a dropped object was not removed');
      });
    });
    this.#removals.add(cancel);
  }

  // ---- Clusters

  /** The dataflows of a cluster. */
  instance(clusterId: ClusterId): ComputeInstance {
    return this.clusters.instance(clusterId);
  }

  nextTransient(): GlobalId {
    return `t${++this.#transient}` as GlobalId;
  }

  uuid(): string {
    const b = this.options.random.bytes(16);
    b[6] = (b[6]! & 0x0f) | 0x40;
    b[8] = (b[8]! & 0x3f) | 0x80;
    return uuidToText(b);
  }

  /** After each change of the catalog. */
  onCatalogChange(listener: () => void): () => void {
    this.#catalogListeners.add(listener);
    return () => this.#catalogListeners.delete(listener);
  }

  // ---- End

  async close(): Promise<void> {
    this.#closed = true;
    this.hydration.close();
    this.#live.close();
    this.#cancelMaintenance?.();
    await this.follower?.stop();
    await this.catalogHistory.close();
    for (const cancel of this.#removals) cancel();
    await this.clusters.close();
    await this.history.close();
    await this.group.close();
    await this.collections.close();
    await this.options.stores.durable.close();
    await this.options.stores.memory.close();
  }
}

const TABLES = new Map(BUILTIN_TABLES.map((t) => [systemId(t.number), t]));

function builtinName(id: GlobalId): BuiltinTableName {
  const table = TABLES.get(id);
  assert(table !== undefined, `${id} is a catalog table`);
  return table.name;
}

type InTurn = <T>(f: () => Promise<T>) => Promise<T>;

function inTurn(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (f) => {
    const run = last.then(f);
    last = run.catch(() => undefined);
    return run;
  };
}
