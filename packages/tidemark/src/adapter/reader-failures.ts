/**
 * Why whoever reads an object would wait for ever: the one place that knows, for every cluster. A view stands where its own cluster's
 * controller says it does, a source where its file does; a controller asks here for what it reads from a shard, so that a failure is found
 * through any number of clusters, and tells those who wait as soon as there is one (`Clusters.tellReaders`). What is only
 * late (no replica, no space) has not failed.
 */
import { SqlError } from '../base/error.ts';
import type { ClusterId, GlobalId } from '../base/ids.ts';
import type { CatalogState } from '../catalog/catalog-state.ts';
import type { KnownFailures } from '../controller/failures.ts';
import type { ComputeInstance } from '../controller/instance.ts';

interface Places {
  readonly catalog: CatalogState;
  /** Sources whose file is at fault, with what is wrong. */
  readonly unreadable: ReadonlyMap<GlobalId, string>;
  readonly clusters: { readonly instances: ReadonlyMap<ClusterId, ComputeInstance> };
}

/** Of what is read from its shard; `known`: of this look, over all clusters. */
export function readerFailure(
  { catalog, unreadable, clusters }: Places,
  id: GlobalId,
  known?: KnownFailures,
): SqlError | undefined {
  const item = catalog.item(id);
  if (item?.kind === 'source') {
    const detail = unreadable.get(id);
    return detail === undefined ? undefined : unreadableSource(item.name.item, detail);
  }
  if (item?.kind !== 'materialized-view') return undefined;
  const instance = clusters.instances.get(item.cluster!);
  const exportId = catalog.exportOf(id);
  // In the catalog before it runs: it will.
  return instance?.hasCollection(exportId) ? instance.failure(exportId, known) : undefined;
}

/** Before a read chooses its place and its time; what fails later is told by the controller. */
export function refuseFailed(places: Places, reads: readonly GlobalId[]): void {
  for (const id of reads) {
    const failure = readerFailure(places, id);
    if (failure !== undefined) throw failure;
  }
}

function unreadableSource(name: string, detail: string): SqlError {
  return new SqlError('object_not_in_prerequisite_state', `source "${name}" could not be loaded`, {
    detail,
    hint: 'DROP it, and create it from a file that can be read',
  });
}
