/** Names for people, of what the catalog knows by its id; the id itself of what is gone. */
import type { GlobalId, ReplicaId } from '../base/ids.ts';
import type { CatalogState } from '../catalog/catalog-state.ts';

export function nameOf(catalog: CatalogState, id: GlobalId): string;
export function nameOf(catalog: CatalogState, id: GlobalId | null): string | null;
export function nameOf(catalog: CatalogState, id: GlobalId | null): string | null {
  return id === null ? null : (catalog.item(id)?.name.item ?? id);
}

/** With its cluster's. */
export function replicaName(catalog: CatalogState, id: ReplicaId): string {
  const r = catalog.get('replica', id);
  return r === undefined ? id : `${catalog.get('cluster', r.clusterId)?.name}.${r.name}`;
}
