/**
 * The compute protocol: what the controller tells a replica and what the replica answers. Plain data, the same for
 * a replica on threads of this process, in process on a test's scheduler, or in a process of its own.
 *
 * Ordered and asynchronous both ways. Stages: hello, initialization (until `initializationComplete`), computation.
 * Every command goes to every worker of the replica; responses come from each worker and carry its index.
 */
import type { GlobalId } from '../base/ids.ts';
import type { Mfp, RowError } from '../expr/scalar.ts';
import type { InstallReason, LifecycleStage, StartReason } from '../introspection/lifecycle.ts';
import type { LoggingConfig } from '../introspection/logging-config.ts';
import type { Lir, RowSetFinishing } from '../plan/lir.ts';
import type { Batch } from '../repr/batch.ts';
import type { CopyFormat } from '../repr/copy-text.ts';
import type { RelationDesc, Row, SqlType } from '../repr/types.ts';
import type { RefreshSchedule } from '../time/refresh-schedule.ts';
import type { Frontier, Timestamp } from '../time/timestamp.ts';
import type { Cause } from './reconcile-causes.ts';

export const PROTOCOL_VERSION = 1;

// ---- Dataflow descriptions

/** A durable collection to read: at the as-of, then what follows. */
export interface ShardImport {
  readonly id: GlobalId;
  readonly shard: string;
  readonly desc: RelationDesc;
}

/** An index of this replica to read through its trace. */
export interface IndexImport {
  readonly id: GlobalId;
  /** The collection that the index arranges. */
  readonly onId: GlobalId;
  readonly key: readonly number[];
  readonly desc: RelationDesc;
  /**
   * Set for a log index: its contents at this time stand for the collection at the dataflow's as-of, and nothing
   * follows. Log times are their own; only one-off queries import logs so.
   */
  readonly frozenAt?: Timestamp;
}

export interface ObjectToBuild {
  readonly id: GlobalId;
  readonly plan: Lir;
}

export interface IndexExport {
  readonly id: GlobalId;
  readonly onId: GlobalId;
  readonly key: readonly number[];
  readonly desc: RelationDesc;
}

/** What every sink says: its export, the collection that goes in, and that collection's columns. */
interface SinkOf<Kind extends string> {
  readonly kind: Kind;
  readonly id: GlobalId;
  readonly fromId: GlobalId;
  readonly desc: RelationDesc;
}

export interface MaterializedViewSink extends SinkOf<'materialized-view'> {
  /** The collection that it is to readers, and its shard. Another id than the export's for what replaces or has replaced another view. */
  readonly outputId: GlobalId;
  readonly shard: string;
  /** Absent: on each commit. */
  readonly refresh?: RefreshSchedule;
}

/** Columns name, labels, value, type, help; the owner's metrics take the rows in. */
export type MetricSink = SinkOf<'metrics'>;

export interface SubscribeSink extends SinkOf<'subscribe'> {
  /** Whether the contents at the as-of are told, or only what changes after it. */
  readonly withSnapshot: boolean;
  /** Updates at or past it are not told. */
  readonly upTo: Frontier;
}

/** The rows at the as-of, in order and cut, as a file on the machine of the replica. */
export interface CopyToSink extends SinkOf<'copy-to'> {
  /** Absolute. */
  readonly path: string;
  readonly format: CopyFormat;
  readonly finishing: RowSetFinishing;
  /** Columns of the file: names and types after the projection. */
  readonly columns: readonly { readonly name: string; readonly type: SqlType }[];
}

/** One arm a sink; the table in `sink/sinks` builds each on a worker. */
export type SinkExport = MaterializedViewSink | MetricSink | SubscribeSink | CopyToSink;

export interface DataflowDescription {
  readonly name: string;
  readonly shardImports: readonly ShardImport[];
  readonly indexImports: readonly IndexImport[];
  readonly objects: readonly ObjectToBuild[];
  readonly indexExports: readonly IndexExport[];
  readonly sinkExports: readonly SinkExport[];
  readonly asOf: Timestamp;
  /** Times at or past it need not be computed. */
  readonly until: Frontier;
  /** False in a read-only generation and for a replacement: sinks compute and hold back. */
  readonly mayWrite: boolean;
  /**
   * The engine's own, installed with the cluster: it starts at once, takes no part in limits, and the logs leave its operators out
   * unless introspection debugging is on.
   */
  readonly internal?: true;
}

// ---- Commands

/** Values that may change while a replica runs. */
export interface Tunables {
  /** Bytes of a result, checked on multiplicities before rows are expanded. */
  readonly maxResultSize: number;
  /** How often metrics go to the log, if that is less than once an interval of it; 0: never. One second unless said otherwise. */
  readonly metricsIntervalMs?: number;
}

export type PeekTarget =
  | { readonly kind: 'index'; readonly id: GlobalId; readonly keyTypes: readonly SqlType[] }
  | { readonly kind: 'shard'; readonly id: GlobalId; readonly shard: string; readonly desc: RelationDesc };

export interface PeekCommand {
  readonly kind: 'peek';
  readonly uuid: string;
  readonly target: PeekTarget;
  /** Full key values to look up; null reads everything. */
  readonly literalKeys: readonly Row[] | null;
  readonly timestamp: Timestamp;
  /** Over the columns of the collection, in its own column order. */
  readonly mfp: Mfp;
  /** Each worker cuts to what could be among the answer; the controller finishes over all workers. */
  readonly finishing: RowSetFinishing;
  /** Types of the rows after `mfp`. */
  readonly desc: RelationDesc;
}

export type Command =
  | {
      readonly kind: 'hello';
      readonly nonce: string;
      readonly version: number;
      readonly generation: number;
      readonly start: number;
    }
  | { readonly kind: 'createInstance'; readonly logging: LoggingConfig; readonly tunables: Tunables }
  | { readonly kind: 'updateConfiguration'; readonly tunables: Partial<Tunables> }
  | { readonly kind: 'createDataflow'; readonly dataflow: DataflowDescription }
  | { readonly kind: 'schedule'; readonly id: GlobalId; readonly waitedOn: StartReason }
  | { readonly kind: 'allowWrites'; readonly id: GlobalId }
  /** The empty frontier drops. */
  | { readonly kind: 'allowCompaction'; readonly id: GlobalId; readonly frontier: Frontier }
  | PeekCommand
  | { readonly kind: 'cancelPeek'; readonly uuid: string }
  /** The history holds this worker's closed lives up to the sequence number; other workers ignore it. Not kept for a replay. */
  | { readonly kind: 'ackLives'; readonly worker: number; readonly sequence: number }
  | { readonly kind: 'initializationComplete' };

// ---- Responses

/** The batch whose buffers go with a response to another thread. */
export function batchOfResponse(r: Response): Batch | null {
  if (r.kind !== 'peekResponse' && r.kind !== 'subscribeResponse') return null;
  return r.result.kind === 'rows' ? r.result.batch : null;
}

/** What ends a peek, a subscribe or a copy: the error of a row, or of the host. */
export type ErrorResult = { readonly kind: 'error' } & RowError;

export interface FrontiersResponse {
  readonly kind: 'frontiers';
  readonly worker: number;
  readonly id: GlobalId;
  readonly write?: Frontier;
  readonly input?: Frontier;
  readonly output?: Frontier;
}

/** One row of the lifecycle log, sent when it happens, whether or not logging is on. */
export interface LifecycleResponse {
  readonly kind: 'lifecycle';
  readonly worker: number;
  readonly id: GlobalId;
  readonly stage: LifecycleStage;
  /** Microseconds since the Unix epoch, by the worker's clock. */
  readonly occurredAt: number;
  readonly reason: InstallReason | StartReason | 'read_only' | null;
  readonly asOf: Timestamp;
  /** Tells two lives of one export apart: the same on every worker of a process, never used twice there. */
  readonly life: number;
  /** With `hydrated`: the most bytes that the object's arrangements took on this worker so far. */
  readonly peakBytes?: number;
}

/** An export ended. Kept, and repeated after a reconnect until `ackLives`. Users' objects alone. */
export interface LifeClosedResponse {
  readonly kind: 'lifeClosed';
  readonly worker: number;
  readonly id: GlobalId;
  /** Counts the lives that this worker closed; workers close them in the same order. */
  readonly sequence: number;
  readonly life: number;
  /** As this worker's `installed` said. */
  readonly installedAt: number;
  readonly asOf: Timestamp;
  /** The most bytes that its arrangements took on this worker. */
  readonly peakBytes: number;
  /**
   * What was told while it lived, for whoever did not hear it: not as responses of their own, which would pass for those of the
   * export's present life.
   */
  readonly stages: readonly LifecycleResponse[];
  /** Closed lives that this worker forgot unacknowledged, because too many waited. */
  readonly cut: number;
}

/** How much of the snapshot at the as-of a worker has put through. The sum over workers is the object's. */
export interface ProgressResponse {
  readonly kind: 'progress';
  readonly worker: number;
  readonly id: GlobalId;
  readonly life: number;
  /** Updates read and passed on, out of what this worker found to read. */
  readonly rowsDone: number;
  readonly rowsTotal: number;
}

export interface PeekResponse {
  readonly kind: 'peekResponse';
  readonly worker: number;
  readonly uuid: string;
  /**
   * Rows after `mfp`, consolidated, with multiplicities as diffs, sorted as the finishing asks; several `rows`
   * parts may come, `more` on all but the last.
   */
  readonly result:
    | { readonly kind: 'rows'; readonly batch: Batch; readonly more: boolean }
    | ErrorResult
    | { readonly kind: 'canceled' };
}

/**
 * What one worker has of a subscribe: contiguous batches from the minimum, the first upper past the as-of. The last one has the
 * empty upper, or says that the export was dropped before.
 */
export interface SubscribeResponse {
  readonly kind: 'subscribeResponse';
  readonly worker: number;
  readonly id: GlobalId;
  readonly lower: Timestamp;
  readonly upper: Frontier;
  /** Rows may come in several parts with the same bounds, `more` on all but the last; null: none. */
  readonly result:
    | { readonly kind: 'rows'; readonly batch: Batch | null; readonly more: boolean }
    | ErrorResult
    | { readonly kind: 'dropped' };
}

/** How a COPY … TO ended, from the worker that wrote it: once. */
export interface CopyToResponse {
  readonly kind: 'copyToResponse';
  readonly worker: number;
  readonly id: GlobalId;
  readonly result:
    | { readonly kind: 'rows'; readonly rows: number }
    | ErrorResult
    | { readonly kind: 'dropped' };
}

export type Response =
  | {
      readonly kind: 'hello';
      readonly worker: number;
      readonly incarnation: string;
      readonly version: number;
      readonly generation: number;
    }
  | FrontiersResponse
  | LifecycleResponse
  | LifeClosedResponse
  | ProgressResponse
  | PeekResponse
  | SubscribeResponse
  | CopyToResponse
  /** A host error that ended a dataflow; its text is for people and for the blocker's details. */
  | {
      readonly kind: 'failed';
      readonly worker: number;
      readonly id: GlobalId;
      readonly code: string;
      readonly message: string;
    }
  /** What a reconciliation came to, the same from each worker; before anything that is repeated. */
  | { readonly kind: 'reconciled'; readonly worker: number; readonly outcomes: ReconciliationOutcomes }
  | { readonly kind: 'status'; readonly worker: number; readonly message: string };

/** Dataflows by what became of them. One that could not be kept counts as created and under its cause. */
export type ReconciliationOutcomes = Readonly<
  Partial<Record<'retained' | 'created' | 'dropped' | Cause, number>>
>;

/**
 * A connection to one replica. The controller holds this end; threads, an in-process host and TCP implement it.
 * Commands sent are delivered in order to every worker; responses of one worker arrive in order.
 */
export interface ReplicaConnection {
  readonly workers: number;
  send(command: Command): void;
  onResponse: (response: Response) => void;
  /** The replica is gone: a worker died, an assertion failed, a socket closed. Called once. */
  onLost: (reason: string) => void;
  close(): Promise<void>;
  /** Closes it for good, where a replica outlives its connections: it gives up its state. */
  retire?(): Promise<void>;
}
