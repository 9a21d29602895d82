/**
 * How workers of one replica talk: ordered between each pair, no order across pairs. A batch that is sent belongs
 * to the receiver from then on; its buffers are nobody else's, so a mesh between threads may transfer them.
 */
import type { Batch } from '../repr/batch.ts';
import type { Frontier } from '../time/timestamp.ts';

export type MeshMessage =
  | { readonly kind: 'batch'; readonly dataflow: number; readonly channel: number; readonly batch: Batch }
  | {
      readonly kind: 'frontier';
      readonly dataflow: number;
      readonly channel: number;
      readonly frontier: Frontier;
    };

export interface Mesh {
  /** `channel` counts the exchanges of a dataflow, so that it is the same on every worker. */
  send(to: number, message: MeshMessage): void;
  /** Nothing is held back any longer: called when a step is over, and now and then during a long one. */
  flush?(): void;
}
