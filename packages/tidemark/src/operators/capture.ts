/** Capture: hands every batch and frontier of a stream to a callback, in order: where a dataflow ends outside. */

import type { Scope } from '../dataflow/builder.ts';
import type { Sized, Stream } from '../dataflow/ports.ts';
import { type Frontier, MIN_TIME } from '../time/timestamp.ts';

export interface CaptureSink<T> {
  batch(batch: T): void;
  /** Nothing before it will come any more. */
  frontier(frontier: Frontier): void;
  /** The dataflow ended; by a drop, or after the empty frontier. */
  end?(): void;
}

export function capture<T extends Sized>(
  scope: Scope,
  stream: Stream<T>,
  sink: CaptureSink<T>,
  name = 'Capture',
): void {
  const op = scope.operator(name);
  const from = op.input(stream);
  let told: Frontier = MIN_TIME;
  op.build((ctx) => ({
    run(fuel) {
      for (;;) {
        if (from.frontier > told) {
          told = from.frontier;
          sink.frontier(told);
        }
        if (fuel.exhausted) break;
        const b = from.pull();
        if (b === undefined) break;
        fuel.spend(b.length + 1);
        sink.batch(b);
      }
      if (!from.isEmpty) ctx.reactivate();
      else if (from.frontier > told) {
        told = from.frontier;
        sink.frontier(told);
      }
    },
    shutdown() {
      sink.end?.();
    },
  }));
}
