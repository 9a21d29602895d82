/**
 * Map: batch in, rows and errors out. The callback evaluates a whole batch (at most 16 K rows) and may return an
 * empty or absent part; times and diffs of what it returns come from the rows they were made of.
 */

import type { Scope } from '../dataflow/builder.ts';
import type { Stream } from '../dataflow/ports.ts';
import type { Batch } from '../repr/batch.ts';
import type { OksErrs } from './state/stateful-operator.ts';

export interface MapResult {
  readonly oks?: Batch | undefined;
  readonly errs?: Batch | undefined;
}

export function map(
  scope: Scope,
  input: Stream<Batch>,
  options: { readonly name?: string; readonly apply: (batch: Batch) => MapResult },
): OksErrs {
  const { apply } = options;
  const op = scope.operator(options.name ?? 'Map');
  const from = op.input(input);
  const oks = op.output<Batch>('batch');
  const errs = op.output<Batch>('batch');
  op.build((ctx) => ({
    passesFrontiers: true,
    run(fuel) {
      while (!fuel.exhausted) {
        const b = from.pull();
        if (b === undefined) return;
        fuel.spend(b.length);
        const r = apply(b);
        if (r.oks !== undefined) oks.send(ctx.implied, r.oks);
        if (r.errs !== undefined) errs.send(ctx.implied, r.errs);
      }
      if (!from.isEmpty) ctx.reactivate();
    },
  }));
  return { oks: oks.stream, errs: errs.stream };
}
