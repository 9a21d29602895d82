/** Each row that is there, once (`state/count-rule.ts`). The whole row is the key. */
import type { Scope } from '../dataflow/builder.ts';
import { exchange } from '../dataflow/channel.ts';
import type { Stream } from '../dataflow/ports.ts';
import type { Batch } from '../repr/batch.ts';
import { hashRows } from '../repr/hash.ts';
import { CountRule, type CountSpec } from './state/count-rule.ts';
import { type OksErrs, statefulOperator } from './state/stateful-operator.ts';

export function distinct(scope: Scope, input: Stream<Batch>, spec: Omit<CountSpec, 'mode'>): OksErrs {
  const rule = new CountRule({ ...spec, mode: 'distinct' });
  return statefulOperator(
    scope,
    'Distinct',
    input,
    exchange(
      spec.kinds.map((_, i) => i),
      hashRows,
    ),
    rule,
  );
}
