/** What a replica is told about its own introspection. */
import type { GlobalId } from '../base/ids.ts';
import type { LogName } from './relations.ts';

/** What a replica may have otherwise than its cluster. */
export type ReplicaIntrospection = Partial<Pick<LoggingConfig, 'intervalMs' | 'debugging'>>;

export interface LoggingConfig {
  /** Milliseconds; 0: log indexes are installed, complete and empty. */
  readonly intervalMs: number;
  /** Whether the dataflows of introspection itself appear. */
  readonly debugging: boolean;
  /** The index of each log on this cluster. */
  readonly indexes: readonly { readonly log: LogName; readonly id: GlobalId }[];
}
