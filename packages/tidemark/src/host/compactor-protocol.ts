/** What a process and its thread that merges say to each other, and what that is started with. */
import type { MessagePort } from 'node:worker_threads';

export interface CompactorData {
  readonly dataDir: string;
  /** The same for all threads that share pins. */
  readonly processTag: string;
  /** Notices and pins of the process. */
  readonly storePort: MessagePort;
}

export type ToCompactor =
  | { readonly kind: 'merge'; readonly id: number; readonly shardId: string; readonly ids: readonly number[] }
  /** Gives up what it is at, and ends. */
  | { readonly kind: 'close' };

export type FromCompactor =
  | { readonly kind: 'done'; readonly id: number; readonly outcome: 'merged' | 'outrun' }
  | { readonly kind: 'failed'; readonly id: number; readonly code: string; readonly message: string };
