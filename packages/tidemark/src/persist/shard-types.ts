/**
 * What the rest of the engine knows of a shard: the shapes that `Shards` and `Shard` take and return. All of
 * them but holds, listings and listens are plain data, so that they cross threads.
 */
import type { Batch } from '../repr/batch.ts';
import type { Kind } from '../repr/types.ts';
import type { Frontier, Timestamp } from '../time/timestamp.ts';
import type { Seqno } from './consensus.ts';

/** Updates of a collection: the rows, and the errors of evaluating rows. */
export interface Updates {
  readonly oks: Batch;
  readonly errs: Batch;
}

export interface ShardSchema {
  readonly oks: readonly Kind[];
  readonly errs: readonly Kind[];
  /** JSON of the writer's own, kept and not read: names and types of the columns. */
  readonly desc?: unknown;
}

/**
 * Who may append. An output belongs to an export of a generation, the catalog and tables to a start of a
 * generation's environment. A greater generation, then a greater start, wins.
 */
export type Fence =
  | { readonly generation: number; readonly exportId: string }
  | { readonly generation: number; readonly start: number };

/** A run of encoded updates: a blob, or in the state itself when it is small. Plain data. */
export interface Part {
  /** Key in the blob store; null for an inline part. */
  readonly key: string | null;
  readonly inline: Uint8Array | null;
  /** Updates, of rows and of errors together. */
  readonly rows: number;
  /** Those with a negative diff: each may cancel another one. */
  readonly retractions: number;
  /** Encoded size. */
  readonly bytes: number;
  /** Times of the updates lie in [minTime, maxTime]. */
  readonly minTime: Timestamp;
  readonly maxTime: Timestamp;
}

/** Updates with times in [lower, upper), complete. Times were advanced by compaction at most to a since. */
export interface ShardBatch {
  /** Unique within the shard. */
  readonly id: number;
  readonly lower: Timestamp;
  readonly upper: Frontier;
  readonly parts: readonly Part[];
}

/** A part and what of it counts: updates with times in [from, to), brought forward to `at` if given. Plain data. */
export interface PartRead {
  readonly shardId: string;
  readonly schema: ShardSchema;
  readonly part: Part;
  readonly from: Timestamp;
  readonly to: Frontier;
  readonly at: Timestamp | null;
}

export interface Append {
  /** Encoded and staged as part of the append. */
  readonly updates?: readonly Updates[];
  /** Parts staged before, by whichever thread. */
  readonly parts?: readonly Part[];
  /** Times lie in [expectedUpper, newUpper). */
  readonly expectedUpper: Timestamp;
  readonly newUpper: Frontier;
}

export type AppendResult =
  | { readonly kind: 'ok'; readonly seqno: Seqno }
  /** The shard stands elsewhere; nothing was appended. */
  | { readonly kind: 'mismatch'; readonly shardId: string; readonly upper: Frontier }
  /** Another may append now; nothing was appended. `generation` and `start` end the process, `export` the sink. */
  | { readonly kind: 'fenced'; readonly shardId: string; readonly by: FencedBy; readonly holder: Fence };

export type FencedBy = 'generation' | 'start' | 'export';

/**
 * Permission to read from `since` on: while it is held, nothing at or after it is compacted away. Not durable
 * ones end by themselves when their process no longer renews them.
 */
export interface ReadHold {
  readonly holdId: string;
  readonly since: Timestamp;
  /** Gives up times before `since`; going back does nothing. */
  downgrade(since: Timestamp): Promise<void>;
  release(): Promise<void>;
}

/** What a snapshot reads. Its blobs stay until it is released. */
export interface Listing {
  readonly asOf: Timestamp;
  readonly parts: readonly PartRead[];
  /** Updates in `parts`: an upper bound of the rows that will be read. */
  readonly rows: number;
  release(): void;
}

/** A step of a listen: everything with times in [lower, upper). Empty `parts`: only time passed. */
export interface ListenStep {
  readonly lower: Timestamp;
  readonly upper: Frontier;
  readonly parts: readonly PartRead[];
}

/** For a listen that is told of steps without parts as they come, and goes on: nothing is waited for, read or allocated. */
export interface Quiet {
  /** The listen's frontier. */
  advanced(frontier: Frontier): void;
  /** Steps that end here or later are given like all others. */
  readonly until: Frontier;
}

/** Steps after an as-of, in order, each beginning where the last one ended. */
export interface Listen {
  /** The next step, once there is one; null after the empty upper. The blobs of the step before are let go. */
  next(signal?: AbortSignal, quiet?: Quiet): Promise<ListenStep | null>;
  /** Everything before this time was given. */
  readonly frontier: Frontier;
  close(): void;
}

/** What one shard looks like now, for relations and for tests. */
export interface ShardInfo {
  readonly shardId: string;
  readonly seqno: Seqno;
  readonly schema: ShardSchema;
  readonly since: Timestamp;
  readonly upper: Frontier;
  readonly fence: Fence;
  /** The upper at which a replacement took over; 0 for all others. */
  readonly takenOverAt: Frontier;
  readonly batches: readonly ShardBatch[];
  readonly holds: readonly { readonly holdId: string; readonly since: Timestamp }[];
  /** Keys of blobs that wait to be deleted. */
  readonly garbage: readonly string[];
  readonly rows: number;
  readonly bytes: number;
}
