/**
 * GROUP BY with aggregates (`state/reduce-rule.ts` has the rule): rows of a key meet on one worker; the output is
 * the key columns, then one column an aggregate. Errors of the input are the caller's to add.
 */
import type { Scope } from '../dataflow/builder.ts';
import { exchange } from '../dataflow/channel.ts';
import type { Stream } from '../dataflow/ports.ts';
import type { Batch } from '../repr/batch.ts';
import { hashRows } from '../repr/hash.ts';
import { ReduceRule, type ReduceSpec } from './state/reduce-rule.ts';
import { type OksErrs, statefulOperator } from './state/stateful-operator.ts';

export function reduce(scope: Scope, input: Stream<Batch>, spec: ReduceSpec): OksErrs {
  return statefulOperator(scope, 'Reduce', input, exchange(spec.keys, hashRows), new ReduceRule(spec));
}
