/** Union: the sum of any number of collections; multiplicities add. Stateless. */

import type { Scope } from '../dataflow/builder.ts';
import type { Stream } from '../dataflow/ports.ts';
import type { Batch } from '../repr/batch.ts';

export function union(scope: Scope, inputs: readonly Stream<Batch>[], name = 'Union'): Stream<Batch> {
  if (inputs.length === 1) return inputs[0]!;
  const op = scope.operator(name);
  const ports = inputs.map((s) => op.input(s));
  const to = op.output<Batch>('batch');
  op.build((ctx) => ({
    passesFrontiers: true,
    run(fuel) {
      for (const from of ports) {
        while (!fuel.exhausted) {
          const b = from.pull();
          if (b === undefined) break;
          fuel.spend(1 + (b.length >> 4));
          to.send(ctx.implied, b);
        }
        if (!from.isEmpty) ctx.reactivate();
      }
    },
  }));
  return to.stream;
}
