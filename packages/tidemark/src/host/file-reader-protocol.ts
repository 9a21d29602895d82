/** What the environment's thread and a thread that reads a file say to each other. */
import type { ErrorCode } from '../base/error.ts';
import type { Batch } from '../repr/batch.ts';
import type { RelationDesc } from '../repr/types.ts';
import type { FileDescription, FileOrigin, FileProgress } from '../storage/file-source.ts';

/** What the thread is started for; it ends when that is done. */
export interface FileTask {
  readonly origin: FileOrigin;
  /** Null: describe the file. */
  readonly desc: RelationDesc | null;
  readonly maxBatchRows: number;
  /** Batches that may be on their way at first; each `credit` allows one more. */
  readonly credits: number;
}

export type FromFileThread =
  | { readonly kind: 'description'; readonly description: FileDescription }
  | { readonly kind: 'batch'; readonly batch: Batch; readonly progress: FileProgress }
  | { readonly kind: 'done' }
  | {
      readonly kind: 'failed';
      readonly code: ErrorCode;
      readonly message: string;
      readonly detail?: string | undefined;
      readonly hint?: string | undefined;
    };

export type ToFileThread = { readonly kind: 'credit' };
