/**
 * Each row max(0, its multiplicity) times (`state/count-rule.ts`): what makes EXCEPT ALL of a union with a
 * negation. A row that is there less than zero times is no error here. The second output stays empty.
 */
import type { Scope } from '../dataflow/builder.ts';
import { exchange } from '../dataflow/channel.ts';
import type { Stream } from '../dataflow/ports.ts';
import type { Batch } from '../repr/batch.ts';
import { hashRows } from '../repr/hash.ts';
import { CountRule, type CountSpec } from './state/count-rule.ts';
import { type OksErrs, statefulOperator } from './state/stateful-operator.ts';

export function threshold(scope: Scope, input: Stream<Batch>, spec: Omit<CountSpec, 'mode'>): OksErrs {
  const rule = new CountRule({ ...spec, mode: 'threshold' });
  return statefulOperator(
    scope,
    'Threshold',
    input,
    exchange(
      spec.kinds.map((_, i) => i),
      hashRows,
    ),
    rule,
  );
}
