/**
 * Table functions: each input row joined with the rows that it gives (`state/expansion.ts`). Rows stay on their
 * worker. The output is the input's columns, then the function's.
 */
import type { Scope } from '../dataflow/builder.ts';
import type { Capability } from '../dataflow/capability.ts';
import { MAX_BATCH_ROWS, type Stream } from '../dataflow/ports.ts';
import type { Batch } from '../repr/batch.ts';
import { type ExpandRow, Expansion } from './state/expansion.ts';
import type { EncodeError } from './state/reduce-rule.ts';
import type { OksErrs } from './state/stateful-operator.ts';

export interface FlatMapSpec {
  readonly expand: ExpandRow;
  readonly encodeError: EncodeError;
}

/** A row may give any number of rows: readers with more of them waiting are given time. */
const BACKLOG_ROWS = 4 * MAX_BATCH_ROWS;

export function flatMap(scope: Scope, input: Stream<Batch>, spec: FlatMapSpec): OksErrs {
  const op = scope.operator('FlatMap');
  const from = op.input(input);
  const oks = op.output<Batch>('batch');
  const errs = op.output<Batch>('errors');
  op.build((ctx) => {
    const expansion = new Expansion(spec.expand, spec.encodeError);
    /** For a batch that outlasts the run in which it was pulled. */
    let held: Capability | undefined;
    const output = {
      oks: (b: Batch) => oks.send(held ?? ctx.implied, b),
      errs: (b: Batch) => errs.send(held ?? ctx.implied, b),
    };
    return {
      run(fuel) {
        for (;;) {
          if (oks.backlog > BACKLOG_ROWS) break;
          expansion.work(fuel, output);
          if (expansion.busy) break;
          held?.dispose();
          held = undefined;
          const batch = fuel.exhausted ? undefined : from.pull();
          if (batch === undefined) break;
          expansion.start(batch);
        }
        if (expansion.busy) held ??= ctx.implied.delayed(ctx.implied.time);
        if (expansion.busy || !from.isEmpty) ctx.reactivate();
      },
    };
  });
  return { oks: oks.stream, errs: errs.stream };
}
