/** What the controller keeps of one export of its cluster, the same for all replicas. */
import type { SqlError } from '../base/error.ts';
import type { GlobalId, ReplicaId } from '../base/ids.ts';
import type { SinkExport } from '../compute/protocol.ts';
import { type Hold, HoldSet } from '../time/hold-set.ts';
import type { Frontier } from '../time/timestamp.ts';

export type CollectionKind = 'index' | 'log' | SinkExport['kind'];

export interface Collection {
  readonly id: GlobalId;
  readonly kind: CollectionKind;
  /** As readers know it: a view that replaced another one goes on under that one's id. */
  readonly outputId: GlobalId;
  readonly transient: boolean;
  readonly asOf: number;
  /** The only replica that has it; undefined: all do. */
  replicaId: ReplicaId | undefined;
  /** Indexes that it reads through their traces. */
  readonly indexImports: readonly GlobalId[];
  /** Holds of readers: importers, peeks. */
  readonly holds: HoldSet;
  /** Own holds on what the dataflow reads. */
  readonly imports: ReadonlyMap<GlobalId, Hold>;
  /** What was last allowed to compact. */
  since: Frontier;
  scheduled: boolean;
  /** Why it will never go on, on any replica. */
  failure: SqlError | undefined;
  /** The catalog's drop came; the export lives until its last importer is gone. */
  dropped: boolean;
}

/** `onHolds`: what readers hold has changed. */
export function newCollection(
  c: Omit<Collection, 'holds' | 'since' | 'failure' | 'dropped'>,
  onHolds: () => void,
): Collection {
  return { ...c, holds: new HoldSet(onHolds), since: c.asOf, failure: undefined, dropped: false };
}
