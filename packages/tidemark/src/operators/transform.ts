/** Operators that pass every batch on, changed or looked at, one in and one out. */

import type { Scope } from '../dataflow/builder.ts';
import { type Pact, pipeline } from '../dataflow/channel.ts';
import type { Stream } from '../dataflow/ports.ts';
import type { Batch } from '../repr/batch.ts';

/** Each batch becomes `f(batch)`; it must not have earlier times. */
export function transform(
  scope: Scope,
  input: Stream<Batch>,
  options: { readonly name: string; readonly pact?: Pact; readonly f: (batch: Batch) => Batch },
): Stream<Batch> {
  const { f } = options;
  const op = scope.operator(options.name);
  const from = op.input(input, options.pact ?? pipeline);
  const to = op.output<Batch>('batch');
  op.build((ctx) => ({
    passesFrontiers: true,
    run(fuel) {
      while (!fuel.exhausted) {
        const b = from.pull();
        if (b === undefined) return;
        fuel.spend(1 + (b.length >> 4));
        to.send(ctx.implied, f(b));
      }
      if (!from.isEmpty) ctx.reactivate();
    },
  }));
  return to.stream;
}
