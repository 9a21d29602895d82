/** Names for people, of what the catalog knows by its id; the id itself of what is gone. */
import type { GlobalId, ReplicaId } from '../base/ids.ts';
import type { Environment } from './environment.ts';

export function nameOf(env: Environment, id: GlobalId): string;
export function nameOf(env: Environment, id: GlobalId | null): string | null;
export function nameOf(env: Environment, id: GlobalId | null): string | null {
  return id === null ? null : (env.catalog.item(id)?.name.item ?? id);
}

/** With its cluster's. */
export function replicaName({ catalog }: Environment, id: ReplicaId): string {
  const r = catalog.get('replica', id);
  return r === undefined ? id : `${catalog.get('cluster', r.clusterId)?.name}.${r.name}`;
}
