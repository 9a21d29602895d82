/**
 * The replicas that a cluster has, and those of them that are connected. Who finds none connected waits, for one is being started or
 * dialled; who asks for one that the cluster does not have would wait for ever, and is refused.
 */
import { SqlError } from '../base/error.ts';
import type { ReplicaId } from '../base/ids.ts';
import type { Replica } from './replica.ts';

export interface Members {
  /** Those that are connected. */
  readonly replicas: ReadonlyMap<ReplicaId, Replica>;
  /** All of them. */
  readonly members: ReadonlySet<ReplicaId>;
}

/** `wanted`: the one that must answer; undefined: any. */
export const mayCome = ({ members }: Members, wanted: ReplicaId | undefined): boolean =>
  wanted === undefined ? members.size > 0 : members.has(wanted);

export function refuseForEver(o: Members, wanted: ReplicaId | undefined): void {
  if (mayCome(o, wanted)) return;
  throw new SqlError(
    'object_not_in_prerequisite_state',
    `${wanted === undefined ? 'no replica of the cluster is' : `replica ${wanted} is not`} attached to this environment`,
  );
}
