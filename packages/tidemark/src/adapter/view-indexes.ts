/**
 * The views over log relations that every replica keeps up to date: a dataflow for each query over them would cost more than what
 * they say. One index dataflow for each, installed with its cluster and never changed; it reads the log indexes and the views
 * indexed before it, from the minimum time on, as the logs themselves are.
 *
 * Cost, 2 cores, 2026-11-29: 50 ms of a start (40 of them planning in a cold process); then some 40 runs of operators for each
 * interval of the log, 1 to 4 ms a second of each worker, whether nothing happens or three objects hydrate half a million rows.
 */
import { assert } from '../base/assert.ts';
import type { GlobalId } from '../base/ids.ts';
import { isRelation } from '../catalog/catalog-reader.ts';
import type { CatalogState } from '../catalog/catalog-state.ts';
import { viewIndexes } from '../catalog/replica-indexes.ts';
import type { Mir } from '../plan/mir.ts';
import { planQuery } from '../plan/plan-query.ts';
import { MIN_TIME } from '../time/timestamp.ts';
import { type DataflowContext, indexDataflow, indexedOn } from './dataflows.ts';
import { storedContext } from './items.ts';

/** By view: builtin views name builtin relations alone, so a plan serves every cluster of every environment. */
const plans = new Map<GlobalId, Mir>();

export function installViewIndexes(c: DataflowContext & { readonly catalog: CatalogState }): void {
  const cluster = c.catalog.get('cluster', c.clusterId);
  assert(cluster !== undefined, `cluster ${c.clusterId} is in the catalog`);
  for (const index of viewIndexes(cluster)) {
    const mir = plans.get(index.on) ?? planOf(c, index.on);
    plans.set(index.on, mir);
    const dataflow = indexDataflow(c, index, { mir });
    c.instance.createDataflow({ ...dataflow, asOf: MIN_TIME, internal: true });
  }
}

function planOf(c: DataflowContext & { readonly catalog: CatalogState }, id: GlobalId): Mir {
  const view = c.catalog.item(id);
  assert(view !== undefined && isRelation(view) && view.query !== undefined, `${id} is a view`);
  const context = storedContext(c.catalog, '');
  return planQuery(view.query, { ...context, maintained: true, indexedViews: indexedOn(c) }).mir;
}
