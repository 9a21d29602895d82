/**
 * What every sink has in common: what it is given when a worker builds it, and what the export's collection reads from it. A new sink
 * is an arm of `SinkExport`, a builder in a file of its own, and a line of the table in `sinks.ts`.
 */
import type { Scope } from '../../dataflow/builder.ts';
import type { MetricsRegistry } from '../../introspection/metrics-registry.ts';
import type { OksErrs } from '../../operators/state/stateful-operator.ts';
import type { Frontier, Timestamp } from '../../time/timestamp.ts';
import type { Response, SinkExport } from '../protocol.ts';
import type { ShardAccess } from '../shard-source.ts';

/** A file that is being written: there under its name only once it is committed. */
export interface FileWriter {
  write(bytes: readonly Uint8Array[]): Promise<void>;
  commit(): Promise<void>;
  /** Leaves nothing. */
  abort(): Promise<void>;
}

export interface Sink {
  /** What this worker has computed, before anything that the sink does with it. */
  readonly progress: Frontier;
  /** How far what it has told the world is complete. */
  readonly writeFrontier: Frontier;
  /** Null for a sink that makes nothing durable: its life has no stage of writing. */
  readonly writes: ShardWrites | null;
  /** Null for a sink whose frontiers are reported; the others answer for themselves. */
  readonly answers: SinkAnswers | null;
}

/** A sink with responses of its own: its frontiers are logged, and no Frontiers are sent. */
export interface SinkAnswers {
  /** The export is dropped. */
  dropped(): void;
}

/** A sink over an output shard: when it may write, and what `written` waits for. */
export interface ShardWrites {
  /** The one worker that may read progress from the write frontier: it is the shard's upper there, empty elsewhere. */
  readonly isOwner: boolean;
  /** What all workers have computed; on the owner. */
  readonly computed: Frontier;
  /** When its contents show for the first time, in a shard that it took over: `written` waits for the shard to pass it too. */
  readonly firstWrite: Frontier;
  readonly allowed: boolean;
  allow(): void;
}

/** What a worker lends to the sinks that it builds. */
export interface SinkContext {
  readonly asOf: Timestamp;
  readonly send: (response: Response) => void;
  readonly shards: ShardAccess;
  readonly watch: (shardId: string, onUpper: (upper: Frontier) => void) => () => void;
  readonly generation: number;
  readonly metrics: MetricsRegistry;
  readonly mayWrite: boolean;
  /** Begins a file on this machine. */
  readonly openFile: (path: string) => Promise<FileWriter>;
  /** A frontier moved outside the dataflow: report. */
  readonly onChange: () => void;
  readonly onError: (error: unknown) => void;
  readonly onRetry: (error: unknown) => void;
  readonly pause: () => Promise<void>;
}

export type BuildSink<S extends SinkExport> = (
  scope: Scope,
  desired: OksErrs,
  sink: S,
  context: SinkContext,
) => Sink;
