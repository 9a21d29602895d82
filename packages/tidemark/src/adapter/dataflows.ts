/**
 * From plans to dataflow descriptions: what a dataflow imports (through an index of its cluster where there is one), what it
 * builds, and the time it starts from.
 */
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import type { ClusterId, GlobalId } from '../base/ids.ts';
import {
  type CatalogReader,
  type IndexItem,
  isRelation,
  type RelationItem,
  type SinkItem,
} from '../catalog/catalog-reader.ts';
import type { CopyToSink, DataflowDescription, IndexImport, ShardImport } from '../compute/protocol.ts';
import type { ComputeInstance } from '../controller/instance.ts';
import type { Lir } from '../plan/lir.ts';
import { lowerMir } from '../plan/lower.ts';
import { type Mir, plainKey } from '../plan/mir.ts';
import type { RelationDesc } from '../repr/types.ts';
import type { ShardCollections } from '../storage/shard-collections.ts';
import { endOf, type RefreshSchedule } from '../time/refresh-schedule.ts';
import { EMPTY, type Frontier, meet, type Timestamp } from '../time/timestamp.ts';

export interface DataflowContext {
  readonly catalog: CatalogReader;
  readonly clusterId: ClusterId;
  readonly instance: ComputeInstance;
  readonly shards: ShardCollections;
  /** Indexes for which it says no are not read; all are if it is absent. */
  readonly isUsable?: (index: GlobalId) => boolean;
}

/** What a dataflow reads, before its as-of is chosen. */
export interface Imports {
  readonly shardImports: readonly ShardImport[];
  readonly indexImports: readonly IndexImport[];
}

export interface BuiltPlan extends Imports {
  readonly root: Lir;
}

function relation(catalog: CatalogReader, id: GlobalId): RelationItem {
  const item = catalog.item(id);
  assert(item !== undefined && isRelation(item), `collection ${id} is in the catalog`);
  return item;
}

/** Indexes of the cluster that live there (a dropped one may still be held by importers, and is not in the catalog). */
export function liveIndexes(c: DataflowContext, id: GlobalId): readonly IndexItem[] {
  return c.catalog
    .indexesOn(id)
    .filter(
      (i) => i.cluster === c.clusterId && c.instance.hasCollection(i.id) && (c.isUsable?.(i.id) ?? true),
    );
}

/** Whether a relation is arranged on the cluster. */
export const indexedOn =
  (c: DataflowContext) =>
  (id: GlobalId): boolean =>
    liveIndexes(c, id).length > 0;

export function buildPlan(c: DataflowContext, mir: Mir): BuiltPlan {
  const lowered = lowerMir(mir, { cluster: c.clusterId, indexes: (id) => liveIndexes(c, id) });
  return { root: lowered.root, ...importsOf(c, lowered.imports, lowered.indexes) };
}

function importsOf(
  c: DataflowContext,
  collections: readonly GlobalId[],
  indexes: readonly GlobalId[],
): Imports {
  const indexImports = indexes.map((id): IndexImport => {
    const index = c.catalog.item(id);
    assert(index?.kind === 'index', `index ${id} is in the catalog`);
    const key = plainKey(index.keys);
    assert(key !== undefined, `index ${id} has plain columns as keys`);
    return { id, onId: index.on, key, desc: relation(c.catalog, index.on).desc };
  });
  const byIndex = new Set(indexImports.map((i) => i.onId));
  const shardImports = collections
    .filter((id) => !byIndex.has(id))
    .map((id): ShardImport => {
      const item = relation(c.catalog, id);
      assert(c.shards.has(id), `collection ${item.name.item} (${id}) is in a shard`);
      return { id, shard: c.shards.shardOf(id), desc: item.desc };
    });
  return { shardImports, indexImports };
}

export interface TimeBounds {
  /** Readable from here on, in all imports. */
  readonly since: Timestamp;
  /** Complete before here, in all imports; empty when all are sealed or there are none. */
  readonly upper: Frontier;
}

export function boundsOf(c: DataflowContext, imports: Imports): TimeBounds {
  let since: Frontier = 0;
  let upper: Frontier = EMPTY;
  const take = (s: Frontier, u: Frontier): void => {
    since = Math.max(since, s);
    upper = meet(upper, u);
  };
  for (const i of imports.shardImports) take(c.shards.since(i.id), c.shards.upper(i.id));
  for (const i of imports.indexImports)
    if (i.frozenAt === undefined) take(c.instance.since(i.id), c.instance.writeFrontier(i.id));
  return { since, upper };
}

/**
 * The as-of of a new object: the greatest time complete in all imports, at least their since. Not beyond now, which a view that waits
 * for its next refresh is complete past: what began there could not be read today.
 */
export function newAsOf(bounds: TimeBounds, now: Timestamp): Timestamp {
  return Math.max(bounds.since, Math.min(bounds.upper - 1, now));
}

/** The same view under a refresh schedule; its inputs are needed up to the last refresh. */
export function scheduled<D extends Omit<DataflowDescription, 'asOf'>>(
  d: D,
  refresh: RefreshSchedule | undefined,
): D {
  if (refresh === undefined) return d;
  const sinkExports = d.sinkExports.map((s) => (s.kind === 'materialized-view' ? { ...s, refresh } : s));
  return { ...d, sinkExports, until: endOf(refresh) };
}

export function indexDataflow(
  c: DataflowContext,
  index: IndexItem,
  source: { readonly mir: Mir | null },
): Omit<DataflowDescription, 'asOf'> {
  const on = relation(c.catalog, index.on);
  const key = plainKey(index.keys);
  if (key === undefined)
    throw new SqlError('feature_not_supported', 'an index on an expression is not supported', {
      hint: 'index a view that computes the expression as a column',
    });
  // Another index on the collection is read instead of it, and a view not computed again: the same key shares the arrangement.
  const [shared] = liveIndexes(c, on.id).filter((i) => i.id !== index.id);
  const built = source.mir === null || shared !== undefined ? null : buildPlan(c, source.mir);
  const imports = built ?? importsOf(c, [on.id], shared === undefined ? [] : [shared.id]);
  return {
    name: `index ${index.name.item}`,
    shardImports: imports.shardImports,
    indexImports: imports.indexImports,
    objects: built === null ? [] : [{ id: on.id, plan: built.root }],
    indexExports: [{ id: index.id, onId: on.id, key, desc: on.desc }],
    sinkExports: [],
    until: EMPTY,
    mayWrite: true,
  };
}

export function viewDataflow(
  c: DataflowContext,
  view: RelationItem,
  mir: Mir,
  output: { readonly exportId: GlobalId; readonly shard: string },
): Omit<DataflowDescription, 'asOf'> {
  const built = buildPlan(c, mir);
  return {
    name: `materialized view ${view.name.item}`,
    shardImports: built.shardImports,
    indexImports: built.indexImports,
    objects: [{ id: view.id, plan: built.root }],
    indexExports: [],
    sinkExports: [
      {
        kind: 'materialized-view',
        id: output.exportId,
        fromId: view.id,
        outputId: view.replaces ?? view.id,
        desc: view.desc,
        shard: output.shard,
      },
    ],
    until: EMPTY,
    // A replacement holds back until it is applied.
    mayWrite: view.replaces === undefined,
  };
}

/** A sink that makes nothing durable; what it reads is built where it is a view. */
export function sinkDataflow(
  c: DataflowContext,
  sink: SinkItem,
  source: { readonly mir: Mir | null },
): Omit<DataflowDescription, 'asOf'> {
  const from = relation(c.catalog, sink.from);
  const [index] = liveIndexes(c, from.id);
  const built = source.mir === null || index !== undefined ? null : buildPlan(c, source.mir);
  const imports = built ?? importsOf(c, [from.id], index === undefined ? [] : [index.id]);
  return {
    name: `sink ${sink.name.item}`,
    shardImports: imports.shardImports,
    indexImports: imports.indexImports,
    objects: built === null ? [] : [{ id: from.id, plan: built.root }],
    indexExports: [],
    sinkExports: [{ kind: sink.into, id: sink.id, fromId: from.id, desc: from.desc }],
    until: EMPTY,
    mayWrite: true,
  };
}

/** What a statement needs while it runs; what it exports is added. */
function ofStatement(
  what: string,
  id: GlobalId,
  plan: BuiltPlan,
): Omit<DataflowDescription, 'asOf' | 'until'> {
  return {
    name: `${what} ${id}`,
    shardImports: plan.shardImports,
    indexImports: plan.indexImports,
    objects: [{ id, plan: plan.root }],
    indexExports: [],
    sinkExports: [],
    mayWrite: true,
  };
}

/** A SUBSCRIBE: its changes, told as they come. */
export function subscribeDataflow(
  id: GlobalId,
  plan: BuiltPlan,
  o: { readonly desc: RelationDesc; readonly withSnapshot: boolean; readonly upTo: Frontier },
): Omit<DataflowDescription, 'asOf'> {
  const sinkExports = [{ kind: 'subscribe', id, fromId: id, ...o } as const];
  return { ...ofStatement('subscribe', id, plan), sinkExports, until: o.upTo };
}

/** A COPY of a query's result to a file. */
export function copyDataflow(
  id: GlobalId,
  plan: BuiltPlan,
  o: Omit<CopyToSink, 'kind' | 'id' | 'fromId'>,
): Omit<DataflowDescription, 'asOf' | 'until'> {
  const sinkExports = [{ kind: 'copy-to', id, fromId: id, ...o } as const];
  return { ...ofStatement('copy', id, plan), sinkExports };
}

/** A one-off query: its result, arranged by the whole row, to be peeked once. */
export function transientDataflow(
  id: GlobalId,
  plan: BuiltPlan,
  desc: RelationDesc,
): Omit<DataflowDescription, 'asOf'> {
  const indexExports = [{ id, onId: id, key: desc.columns.map((_, i) => i), desc }];
  return { ...ofStatement('query', id, plan), indexExports, until: EMPTY };
}
