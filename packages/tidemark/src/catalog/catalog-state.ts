/**
 * The catalog in memory: entities by key, names to items, and what derives from them (builtins, the log indexes of each
 * cluster). One writer; readers run to completion between its changes, so each sees one state.
 */
import { assert } from '../base/assert.ts';
import type { ClusterId, GlobalId } from '../base/ids.ts';
import type { LoggingConfig } from '../introspection/logging-config.ts';
import { LOG_NAMES } from '../introspection/relations.ts';
import { builtinItems } from './builtins/builtins.ts';
import { SYSTEM_SCHEMAS } from './builtins/declare.ts';
import type { CatalogItem, CatalogReader, ClusterEntry, IndexItem, NameContext } from './catalog-reader.ts';
import {
  type CommentEntity,
  commentedKind,
  type DatabaseEntity,
  type Entity,
  entityKey,
  type LoadedItem,
  type ReplicaEntity,
  type SchemaEntity,
  type SequenceEntity,
} from './entities.ts';
import { logIndexOf, replicaIndexes, replicaIndexIds } from './replica-indexes.ts';

/** Searched before the session's path; `mz_internal` and `mz_introspection` are always written out. */
const IMPLICIT_SCHEMAS = ['mz_catalog', 'pg_catalog'] as const;

export interface CatalogChange {
  /** An entity that goes, or that `put` replaces. */
  readonly remove: readonly Entity[];
  readonly put: readonly Entity[];
  /** What the statements of put items derive to. */
  readonly items: ReadonlyMap<GlobalId, CatalogItem>;
}

export class CatalogState implements CatalogReader {
  readonly #entities = new Map<string, Entity>();
  readonly #items = new Map<GlobalId, LoadedItem>();
  /** Items by schema id and name; indexes share the namespace of relations. */
  readonly #names = new Map<string, GlobalId>();
  readonly #indexes = new Map<GlobalId, IndexItem[]>();
  readonly #clustersByName = new Map<string, ClusterId>();
  readonly #schemas = new Map<string, string>();
  /** Objects by the export that took their place over. */
  readonly #replaced = new Map<GlobalId, GlobalId>();
  #revision = 0;

  constructor() {
    for (const [name, s] of Object.entries(SYSTEM_SCHEMAS))
      this.#putSchema({ kind: 'schema', id: s.id, oid: s.oid, databaseId: null, name });
    for (const { item, schemaId } of builtinItems()) this.#putItem({ item, entity: null, schemaId });
  }

  // ---- Reading

  get<K extends Entity['kind']>(kind: K, id: string): Extract<Entity, { kind: K }> | undefined {
    return this.#entities.get(`${kind}/${id}`) as Extract<Entity, { kind: K }> | undefined;
  }

  *all<K extends Entity['kind']>(kind: K): Iterable<Extract<Entity, { kind: K }>> {
    for (const e of this.#entities.values()) if (e.kind === kind) yield e as Extract<Entity, { kind: K }>;
  }

  database(name: string): DatabaseEntity | undefined {
    for (const d of this.all('database')) if (d.name === name) return d;
    return undefined;
  }

  entities(): Iterable<Entity> {
    return this.#entities.values();
  }

  /** A schema by name: of the database, else a system one. */
  schema(name: string, database: string): SchemaEntity | undefined {
    const db = this.database(database);
    const id = (db && this.#schemas.get(`${db.id}.${name}`)) ?? this.#schemas.get(`.${name}`);
    return id === undefined ? undefined : this.get('schema', id);
  }

  loaded(id: GlobalId): LoadedItem | undefined {
    return this.#items.get(id);
  }

  *loadedItems(): Iterable<LoadedItem> {
    yield* this.#items.values();
  }

  itemInSchema(schemaId: string, name: string): CatalogItem | undefined {
    const id = this.#names.get(`${schemaId}.${name}`);
    return id === undefined ? undefined : this.#items.get(id)!.item;
  }

  resolve(parts: readonly string[], context: NameContext): CatalogItem | undefined {
    const name = parts[parts.length - 1]!;
    if (parts.length === 1) {
      for (const s of [...IMPLICIT_SCHEMAS, ...context.searchPath]) {
        const schema = this.schema(s, context.database);
        const item = schema && this.itemInSchema(schema.id, name);
        if (item !== undefined) return item;
      }
      return undefined;
    }
    const schema = this.schema(parts[parts.length - 2]!, parts.length > 2 ? parts[0]! : context.database);
    return schema && this.itemInSchema(schema.id, name);
  }

  hasSchema(parts: readonly string[], context: NameContext): boolean {
    return this.schemaOid(parts, context) !== undefined;
  }

  schemaOid(parts: readonly string[], context: NameContext): number | undefined {
    return this.schema(parts[parts.length - 1]!, parts.length > 1 ? parts[0]! : context.database)?.oid;
  }

  item(id: GlobalId): CatalogItem | undefined {
    return this.#items.get(id)?.item;
  }

  indexesOn(id: GlobalId): readonly IndexItem[] {
    return this.#indexes.get(id) ?? [];
  }

  *items(): Iterable<CatalogItem> {
    for (const l of this.#items.values()) yield l.item;
  }

  cluster(name: string): ClusterEntry | undefined {
    const id = this.#clustersByName.get(name);
    return id === undefined ? undefined : this.clusterById(id);
  }

  clusterById(id: ClusterId): ClusterEntry | undefined {
    const c = this.get('cluster', id);
    if (c === undefined) return undefined;
    const replicas = this.replicasOf(id).map((r) => ({
      id: r.id,
      name: r.name,
      workers: r.workers,
      size: r.size,
      logs: (r.introspection?.intervalMs ?? c.introspectionIntervalMs) > 0,
    }));
    return { id, name: c.name, replicas };
  }

  replicasOf(clusterId: ClusterId): readonly ReplicaEntity[] {
    return [...this.all('replica')].filter((r) => r.clusterId === clusterId);
  }

  *clusters(): Iterable<ClusterEntry> {
    for (const c of this.all('cluster')) yield this.clusterById(c.id)!;
  }

  /** The object that an export maintains: another one than its id says once that was replaced. */
  objectOf(exportId: GlobalId): GlobalId {
    return this.#replaced.get(exportId) ?? exportId;
  }

  /** The object that what an export tells is about; null: the object was replaced, and another export maintains it. */
  shownAs(exportId: GlobalId): GlobalId | null {
    const id = this.objectOf(exportId);
    return this.exportOf(id) === exportId ? id : null;
  }

  /** The export that maintains an object. */
  exportOf(id: GlobalId): GlobalId {
    return this.get('item', id)?.exportId ?? id;
  }

  /** Objects that name the given one. */
  dependants(id: GlobalId): readonly CatalogItem[] {
    const out: CatalogItem[] = [];
    for (const { item } of this.#items.values()) if (item.dependsOn.includes(id)) out.push(item);
    return out;
  }

  /** The objects, and what they read at whatever distance. */
  behind(ids: Iterable<GlobalId>): ReadonlySet<GlobalId> {
    const seen = new Set(ids);
    for (const id of seen) for (const d of this.item(id)?.dependsOn ?? []) seen.add(d);
    return seen;
  }

  /** What a replica of the cluster must be told about its log relations. */
  logging(clusterId: ClusterId): LoggingConfig {
    const c = this.get('cluster', clusterId);
    assert(c !== undefined, `cluster ${clusterId} exists`);
    return {
      intervalMs: c.introspectionIntervalMs,
      debugging: c.introspectionDebugging,
      indexes: LOG_NAMES.map((log) => ({ log, id: logIndexOf(c, log) })),
    };
  }

  /** What is said about any of these. */
  commentsOn(things: readonly Pick<Entity, 'kind' | 'id'>[]): readonly CommentEntity[] {
    const about = new Set(things.map(({ kind, id }) => `${kind} ${id}`));
    return [...this.all('comment')].filter((c) => about.has(`${commentedKind(c)} ${c.objectId}`));
  }

  /** What ALTER SYSTEM has set; undefined: nothing, the default holds. */
  setting(name: string): string | undefined {
    return this.get('setting', name)?.value;
  }

  // ---- Ids

  /** The next numbers of a sequence, and the entity that remembers it: it belongs into the same transaction. */
  allocate(id: SequenceEntity['id'], count = 1): { readonly first: number; readonly change: SequenceEntity } {
    const first = this.get('sequence', id)?.next ?? FIRST[id];
    return { first, change: { kind: 'sequence', id, next: first + count } };
  }

  // ---- Writing

  /** Grows with each change: what was planned at another revision may be wrong now. */
  get revision(): number {
    return this.#revision;
  }

  /** Applies what has been made durable. Replaced entities are named in `remove` too. */
  apply(change: CatalogChange): void {
    this.#revision++;
    for (const e of change.remove) this.#remove(e);
    for (const e of change.put) this.#put(e, change.items);
  }

  #remove(e: Entity): void {
    this.#entities.delete(entityKey(e));
    switch (e.kind) {
      case 'schema':
        this.#schemas.delete(`${e.databaseId ?? ''}.${e.name}`);
        break;
      case 'cluster':
        this.#clustersByName.delete(e.name);
        for (const id of replicaIndexIds(e)) this.#removeItem(id);
        break;
      case 'item':
        this.#removeItem(e.id);
        if (e.exportId !== undefined) this.#replaced.delete(e.exportId);
        break;
      default:
        break;
    }
  }

  #put(e: Entity, items: ReadonlyMap<GlobalId, CatalogItem>): void {
    switch (e.kind) {
      case 'schema':
        this.#putSchema(e);
        return;
      case 'cluster':
        this.#clustersByName.set(e.name, e.id);
        for (const l of replicaIndexes(e)) this.#putItem(l);
        break;
      case 'item': {
        const item = items.get(e.id);
        assert(item !== undefined, `item ${e.id} comes with what its statement derives to`);
        this.#putItem({ item, entity: e, schemaId: e.schemaId });
        if (e.exportId !== undefined) this.#replaced.set(e.exportId, e.id);
        break;
      }
      default:
        break;
    }
    this.#entities.set(entityKey(e), e);
  }

  #putSchema(s: SchemaEntity): void {
    this.#schemas.set(`${s.databaseId ?? ''}.${s.name}`, s.id);
    this.#entities.set(entityKey(s), s);
  }

  #putItem(l: LoadedItem): void {
    const { item } = l;
    this.#items.set(item.id, l);
    this.#names.set(`${l.schemaId}.${item.name.item}`, item.id);
    if (item.kind !== 'index') return;
    const list = this.#indexes.get(item.on);
    if (list === undefined) this.#indexes.set(item.on, [item]);
    else list.push(item);
  }

  #removeItem(id: GlobalId): void {
    const l = this.#items.get(id);
    if (l === undefined) return;
    this.#items.delete(id);
    const name = `${l.schemaId}.${l.item.name.item}`;
    if (this.#names.get(name) === id) this.#names.delete(name);
    if (l.item.kind !== 'index') return;
    const left = this.#indexes.get(l.item.on)!.filter((i) => i.id !== id);
    if (left.length === 0) this.#indexes.delete(l.item.on);
    else this.#indexes.set(l.item.on, left);
  }
}

/** Where each sequence starts: below lie builtins. */
const FIRST: Readonly<Record<SequenceEntity['id'], number>> = {
  item: 1,
  cluster: 1,
  replica: 1,
  schema: 1,
  database: 1,
  oid: 100_000,
};
