/** Probe: the frontier of a stream on this worker, and a call when it moves. Batches are discarded. */

import type { Scope } from '../dataflow/builder.ts';
import type { Sized, Stream } from '../dataflow/ports.ts';
import { EMPTY, type Frontier, MIN_TIME } from '../time/timestamp.ts';

export interface Probe {
  readonly frontier: Frontier;
  /** Whether everything at `time` has passed. */
  passed(time: Frontier): boolean;
  /** `f` notes it and activates something: it does no work. */
  onChange(f: (frontier: Frontier) => void): void;
}

export function probe<T extends Sized>(scope: Scope, stream: Stream<T>, name = 'Probe'): Probe {
  const op = scope.operator(name);
  const from = op.input(stream);
  let told: Frontier = MIN_TIME;
  const listeners: ((f: Frontier) => void)[] = [];
  const tell = (): void => {
    if (from.frontier === told) return;
    told = from.frontier;
    for (const f of listeners) f(told);
  };
  op.build(() => ({
    passFrontier() {
      tell();
      return true;
    },
    run() {
      while (from.pull() !== undefined);
      tell();
    },
  }));
  return {
    get frontier() {
      return from.frontier;
    },
    passed: (time) => from.frontier === EMPTY || time < from.frontier,
    onChange: (f) => listeners.push(f),
  };
}
