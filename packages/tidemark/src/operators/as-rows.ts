/** AsRows: an arranged stream as updates of whole rows, columns in their original order. Stateless. */

import type { Scope } from '../dataflow/builder.ts';
import type { Stream } from '../dataflow/ports.ts';
import type { Batch } from '../repr/batch.ts';
import { type ArrangedBatch, rowPermutation } from '../trace/arranged-batch.ts';
import { type BatchRows, rowsOf } from '../trace/batch-rows.ts';
import type { Arranged } from './arrange.ts';

export function asRows(scope: Scope, input: Arranged, name = 'AsRows'): Stream<Batch> {
  const op = scope.operator(name);
  const from = op.input<ArrangedBatch>(input.stream);
  const to = op.output<Batch>('batch');
  const places = rowPermutation(input.spec);
  op.build((ctx) => {
    let current: BatchRows | undefined;
    let capability = ctx.implied;
    return {
      passesFrontiers: true,
      run(fuel) {
        for (;;) {
          if (current === undefined) {
            const b = from.pull();
            if (b === undefined) return;
            if (b.length === 0) continue;
            current = rowsOf(b, places);
            capability = ctx.implied.delayed(b.minTime);
          }
          for (let rows = current.next(fuel); rows !== undefined; rows = current.next(fuel)) {
            to.send(capability, rows);
            if (fuel.exhausted) break;
          }
          if (current.done) {
            current = undefined;
            capability.dispose();
          }
          if (fuel.exhausted) {
            if (current !== undefined || !from.isEmpty) ctx.reactivate();
            return;
          }
        }
      },
    };
  });
  return to.stream;
}
