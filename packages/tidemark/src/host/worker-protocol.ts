/** What the environment's thread and a worker thread say to each other, and what a worker is started with. */
import type { MessagePort } from 'node:worker_threads';
import type { SharedBudget } from '../compute/memory-budget.ts';
import type { Response } from '../compute/protocol.ts';

export interface WorkerData {
  readonly index: number;
  readonly peers: number;
  readonly incarnation: string;
  /** The same for all threads that share pins. */
  readonly processTag: string;
  /** Where durable shards are; null: in the memory of the environment. */
  readonly dataDir: string | null;
  /** Of all workers of the replica together; null: no limit. */
  readonly budget: SharedBudget | null;
  /** The environment's stores. */
  readonly durablePort: MessagePort;
  readonly memoryPort: MessagePort;
  /** To each other worker, by index; null at the own one. */
  readonly peerPorts: readonly (MessagePort | null)[];
}

export type FromWorker =
  | { readonly kind: 'responses'; readonly responses: readonly Response[] }
  | {
      readonly kind: 'log';
      readonly level: 'debug' | 'info' | 'warn' | 'error';
      readonly fields: object;
      readonly message: string;
    }
  /** `reason`: as statuses say it. */
  | { readonly kind: 'failed'; readonly reason: string; readonly message: string }
  | { readonly kind: 'closed' };

/** Commands are packed, in their order. */
export type ToWorker =
  | { readonly kind: 'commands'; readonly commands: readonly string[] }
  | { readonly kind: 'close' };
