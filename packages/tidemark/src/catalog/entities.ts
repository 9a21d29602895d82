/**
 * What the catalog is made of. An entity is the unit of change: a transaction adds, replaces and removes entities, and the
 * rows of the catalog relations follow. Plain data; a durable entity is stored as it stands here.
 */
import type { ClusterId, GlobalId, ReplicaId } from '../base/ids.ts';
import type { ReplicaIntrospection } from '../introspection/logging-config.ts';
import type { RelationDesc } from '../repr/types.ts';
import type { CatalogItem } from './catalog-reader.ts';

export interface DatabaseEntity {
  readonly kind: 'database';
  readonly id: string;
  readonly oid: number;
  readonly name: string;
}

export interface SchemaEntity {
  readonly kind: 'schema';
  readonly id: string;
  readonly oid: number;
  /** Null: a system schema, which belongs to every database. */
  readonly databaseId: string | null;
  readonly name: string;
}

export interface ClusterEntity {
  readonly kind: 'cluster';
  readonly id: ClusterId;
  /** Clusters are numbered in one sequence; the ids of their log indexes derive from it. */
  readonly number: number;
  readonly name: string;
  /** Null: replicas are created one by one. */
  readonly size: string | null;
  readonly introspectionIntervalMs: number;
  readonly introspectionDebugging: boolean;
  /** Of each replica that the cluster manages; absent: no limit. */
  readonly memoryLimitBytes?: number;
}

export interface ReplicaEntity {
  readonly kind: 'replica';
  readonly id: ReplicaId;
  readonly clusterId: ClusterId;
  readonly name: string;
  readonly size: string;
  readonly workers: number;
  /** Of its arrangements, on all workers; absent: no limit. */
  readonly memoryLimitBytes?: number;
  /** What it has otherwise than its cluster. */
  readonly introspection?: ReplicaIntrospection;
  /** `host:port` of a replica in a process of its own. */
  readonly address?: string;
}

/** A user's object as it is stored: everything else derives from its statement. */
export interface ItemEntity {
  readonly kind: 'item';
  readonly id: GlobalId;
  readonly oid: number;
  readonly schemaId: string;
  readonly name: string;
  readonly createSql: string;
  readonly clusterId?: ClusterId;
  /** Tables, sources, materialized views: the shard that holds it. */
  readonly shard?: string;
  /** Sources whose columns came from the input, as it was at creation. */
  readonly desc?: RelationDesc;
  /** Materialized views that were replaced: the id under which what maintains them now was created, and goes on. */
  readonly exportId?: GlobalId;
  /** Materialized views with a refresh schedule: the time that `AT CREATION`, and `EVERY` without `ALIGNED TO`, mean. */
  readonly refreshFrom?: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

export interface CommentEntity {
  readonly kind: 'comment';
  readonly id: string;
  readonly objectId: string;
  readonly objectType: string;
  /** 1-based; null: the object itself. */
  readonly column: number | null;
  readonly comment: string;
}

/** What kind of thing it is about. Ids are unique within a kind alone: `u1` is an object, a cluster, and a replica. */
export function commentedKind({
  objectType,
}: Pick<CommentEntity, 'objectType'>): 'item' | 'cluster' | 'replica' {
  if (objectType === 'cluster') return 'cluster';
  return objectType === 'cluster replica' ? 'replica' : 'item';
}

/** A system-wide setting (`ALTER SYSTEM SET`). */
export interface SettingEntity {
  readonly kind: 'setting';
  readonly id: string;
  readonly value: string;
}

/** The next number of each id sequence. Ids are never used again. */
export interface SequenceEntity {
  readonly kind: 'sequence';
  readonly id: 'item' | 'cluster' | 'replica' | 'schema' | 'database' | 'oid';
  readonly next: number;
}

export type Entity =
  | DatabaseEntity
  | SchemaEntity
  | ClusterEntity
  | ReplicaEntity
  | ItemEntity
  | CommentEntity
  | SettingEntity
  | SequenceEntity;

export const entityKey = (e: { readonly kind: string; readonly id: string }): string => `${e.kind}/${e.id}`;

/** An item with what derives from its statement. */
export interface LoadedItem {
  readonly item: CatalogItem;
  /** Null for builtins. */
  readonly entity: ItemEntity | null;
  readonly schemaId: string;
}
