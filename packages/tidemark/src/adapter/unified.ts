/**
 * What every replica of users' clusters tells about what it maintains, in relations of the environment: one internal subscribe a replica, begun
 * anew with each of its lives. A replica is fresh once it has told of everything that it is to maintain; when it goes, what it told goes in
 * the same turn. With introspection off it tells nothing, and is never fresh.
 *
 * Cost: one dataflow a replica over log indexes, and a commit of the memory tables for each interval in which something changed.
 */
import { type CancelTimer, type Clock, type Logger, nowMicros, type Timers } from '../base/clock.ts';
import { type ClusterId, type GlobalId, idClass, type ReplicaId } from '../base/ids.ts';
import type { CatalogState } from '../catalog/catalog-state.ts';
import type { ComputeInstance } from '../controller/instance.ts';
import type { SubscribeStream } from '../controller/subscribes.ts';
import type { Mir } from '../plan/mir.ts';
import { planQuery } from '../plan/plan-query.ts';
import type { RelationDesc } from '../repr/types.ts';
import { parseStatement } from '../sql/parse.ts';
import { isSealed, type ShardCollections } from '../storage/shard-collections.ts';
import { EMPTY } from '../time/timestamp.ts';
import { boundsOf, buildPlan, type DataflowContext, indexedOn, subscribeDataflow } from './dataflows.ts';
import { storedContext } from './items.ts';
import type { LiveChange } from './live-rows.ts';
import { SizeHistory, type SizeSample } from './size-history.ts';
import { TOLD_SQL, ToldRows } from './told-rows.ts';

export interface UnifiedWorld {
  readonly catalog: CatalogState;
  readonly collections: ShardCollections;
  readonly options: { readonly clock: Clock; readonly timers: Timers; readonly logger: Logger };
  setLive(changes: readonly LiveChange[]): void;
  onCatalogChange(listener: () => void): () => void;
  nextTransient(): GlobalId;
}

interface Place {
  readonly clusterId: ClusterId;
  readonly replicaId: ReplicaId;
  readonly workers: number;
  readonly instance: ComputeInstance;
}

/** Before a subscribe that ended by itself is begun again. */
const RETRY_MS = 1000;

/** Builtin views name builtin relations alone, so one plan serves every replica of every environment. */
let planned: { readonly mir: Mir; readonly desc: RelationDesc } | undefined;

export class Unified {
  readonly #world: UnifiedWorld;
  readonly #feeds = new Map<ReplicaId, Feed>();
  readonly #fresh = new Map<ReplicaId, boolean>();
  readonly #sealed = new Set<GlobalId>();
  readonly #sizes: SizeHistory;
  #stopListening: (() => void) | undefined;

  constructor(world: UnifiedWorld) {
    this.#world = world;
    this.#sizes = new SizeHistory({
      ...world.options,
      sample: () => [...this.#feeds.values()].flatMap((f) => f.sizes()),
      setLive: (changes) => world.setLive(changes),
    });
  }

  /** Once the objects of the catalog are up. */
  begin(): void {
    const { catalog, collections } = this.#world;
    this.#sizes.begin();
    const look = (id: GlobalId): void => {
      const sealed = isSealedView(this.#world, id);
      if (sealed === this.#sealed.has(id)) return;
      if (sealed) this.#sealed.add(id);
      else this.#sealed.delete(id);
      this.#world.setLive([{ table: 'mz_sealed_views', key: id, rows: sealed ? [[id]] : [] }]);
    };
    for (const e of catalog.all('item')) look(e.id);
    const stopUppers = collections.onUpper((id, upper) => {
      if (upper !== EMPTY) return;
      look(id);
      // What was to replace it is among them.
      for (const d of catalog.dependants(id)) look(d.id);
    });
    const stopCatalog = this.#world.onCatalogChange(() => {
      for (const id of [...this.#sealed]) look(id);
      // Where a process stands by, a view may have come to its end before it is heard of.
      for (const e of catalog.all('item')) look(e.id);
      const changes = [...this.#feeds.values()].flatMap((f) => f.catalogChanged());
      if (changes.length > 0) this.#world.setLive(changes);
    });
    this.#stopListening = () => {
      stopUppers();
      stopCatalog();
    };
  }

  /** It is connected: another life. */
  online(place: Place): void {
    if (idClass(place.clusterId) !== 'user') return;
    this.offline(place.clusterId, place.replicaId);
    const feed = new Feed(this.#world, place, (fresh) => this.#say(place.replicaId, fresh));
    this.#feeds.set(place.replicaId, feed);
    feed.start();
  }

  /** It is not connected, or not yet: what it told in an earlier life goes. */
  offline(clusterId: ClusterId, replicaId: ReplicaId): void {
    if (idClass(clusterId) !== 'user') return;
    const gone = this.#feeds.get(replicaId)?.stop() ?? [];
    this.#feeds.delete(replicaId);
    this.#say(replicaId, false, gone);
  }

  dropped(replicaId: ReplicaId): void {
    const gone = this.#feeds.get(replicaId)?.stop() ?? [];
    this.#feeds.delete(replicaId);
    this.#fresh.delete(replicaId);
    const sizes = this.#sizes.dropped(replicaId);
    this.#world.setLive([
      ...gone,
      ...sizes,
      { table: 'mz_introspection_freshness', key: replicaId, rows: [] },
    ]);
  }

  #say(replicaId: ReplicaId, fresh: boolean, more: readonly LiveChange[] = []): void {
    const changes = [...more];
    if (this.#fresh.get(replicaId) !== fresh) {
      this.#fresh.set(replicaId, fresh);
      const since = BigInt(nowMicros(this.#world.options.clock));
      changes.push({
        table: 'mz_introspection_freshness',
        key: replicaId,
        rows: [[replicaId, fresh, since]],
      });
    }
    if (changes.length > 0) this.#world.setLive(changes);
  }

  close(): void {
    this.#stopListening?.();
    this.#sizes.close();
    for (const f of this.#feeds.values()) f.stop();
    this.#feeds.clear();
  }
}

/** A view that is complete for ever, or one that was to replace such a view. */
function isSealedView({ catalog, collections }: UnifiedWorld, id: GlobalId): boolean {
  const item = catalog.item(id);
  if (item?.kind !== 'materialized-view') return false;
  return isSealed(collections, item.replaces ?? id);
}

/** One life of one replica. */
class Feed {
  readonly #world: UnifiedWorld;
  readonly #place: Place;
  readonly #onFresh: (fresh: boolean) => void;
  readonly #told: ToldRows;
  #stream: SubscribeStream | undefined;
  #cancel: CancelTimer | undefined;
  #stopped = false;
  #fresh = false;

  constructor(world: UnifiedWorld, place: Place, onFresh: (fresh: boolean) => void) {
    this.#world = world;
    this.#place = place;
    this.#onFresh = onFresh;
    this.#told = new ToldRows({ ...place, shownAs: (id) => world.catalog.shownAs(id) });
  }

  start(): void {
    const { clusterId, replicaId, instance } = this.#place;
    const { catalog, collections } = this.#world;
    const c: DataflowContext = { catalog, clusterId, instance, shards: collections };
    planned ??= planOf(c, catalog);
    const { mir, desc } = planned;
    const built = buildPlan(c, mir);
    const id = this.#world.nextTransient();
    const stream = instance.subscribe(
      {
        ...subscribeDataflow(id, built, { desc, withSnapshot: true, upTo: EMPTY }),
        name: `introspection of ${replicaId}`,
        asOf: boundsOf(c, built).since,
        internal: true,
      },
      { replicaId, onEnd: () => undefined },
    );
    this.#stream = stream;
    void this.#follow(stream, desc);
  }

  async #follow(stream: SubscribeStream, desc: RelationDesc): Promise<void> {
    const types = desc.columns.map((c) => c.type);
    try {
      for (;;) {
        const interval = stream.poll();
        if (interval === null || this.#stopped) return;
        if (interval === undefined) await stream.ready();
        else this.#publish(this.#told.take(interval, types));
      }
    } catch (error) {
      if (this.#stopped) return;
      // Lost with its replica it is stopped a moment later; else it begins anew, and tells everything again.
      this.#world.options.logger.debug(
        { replica: this.#place.replicaId, error },
        'an introspection subscribe ended',
      );
      this.#cancel = this.#world.options.timers.after(RETRY_MS, () => {
        this.#world.setLive(this.#keyed(this.#told.forget()));
        this.#setFresh(false);
        this.start();
      });
    }
  }

  #keyed(changes: ReturnType<ToldRows['take']>): LiveChange[] {
    return changes.map((c) => ({ ...c, key: `${this.#place.replicaId}/${c.key}` }));
  }

  catalogChanged(): LiveChange[] {
    return this.#keyed(this.#told.catalogChanged());
  }

  #publish(changes: ReturnType<ToldRows['take']>): void {
    if (changes.length > 0) this.#world.setLive(this.#keyed(changes));
    if (!this.#fresh && this.#isComplete()) this.#setFresh(true);
  }

  #setFresh(fresh: boolean): void {
    this.#fresh = fresh;
    this.#onFresh(fresh);
  }

  /** Every worker has told of everything that the replica is to maintain: its logs, and what the catalog has on its cluster. */
  #isComplete(): boolean {
    const { catalog } = this.#world;
    const { clusterId, replicaId, instance } = this.#place;
    if (!catalog.logging(clusterId).indexes.every(({ id }) => this.#told.knows(id))) return false;
    for (const e of catalog.all('item')) {
      if (e.clusterId !== clusterId) continue;
      const id = e.exportId ?? e.id;
      if (!instance.hasCollection(id) || instance.episodeFailure(replicaId, id) !== undefined) continue;
      // A replica that joins is not told of what is complete for ever, once that has lost an input.
      if (!this.#told.knows(id) && !isSealedView(this.#world, e.id)) return false;
    }
    return true;
  }

  sizes(): SizeSample[] {
    const { replicaId } = this.#place;
    return [...this.#told.sizes()].flatMap((s) =>
      idClass(s.objectId) === 'user' ? [{ ...s, replicaId }] : [],
    );
  }

  /** Gives what takes back everything that it told. */
  stop(): LiveChange[] {
    this.#stopped = true;
    this.#cancel?.();
    this.#stream?.close();
    return this.#keyed(this.#told.forget());
  }
}

function planOf(
  c: DataflowContext,
  catalog: CatalogState,
): { readonly mir: Mir; readonly desc: RelationDesc } {
  const statement = parseStatement(TOLD_SQL);
  if (statement.kind !== 'selectStatement') throw new Error('what replicas tell is a query');
  const context = storedContext(catalog, '');
  return planQuery(statement.query, { ...context, maintained: true, indexedViews: indexedOn(c) });
}
