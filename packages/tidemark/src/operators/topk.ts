/** ORDER BY … LIMIT … OFFSET of each group (`state/topk-rule.ts`): rows of a group meet on one worker. */
import type { Scope } from '../dataflow/builder.ts';
import { exchange } from '../dataflow/channel.ts';
import type { Stream } from '../dataflow/ports.ts';
import type { Batch } from '../repr/batch.ts';
import { hashRows } from '../repr/hash.ts';
import { type OksErrs, statefulOperator } from './state/stateful-operator.ts';
import { TopKRule, type TopKSpec } from './state/topk-rule.ts';

export function topK(scope: Scope, input: Stream<Batch>, spec: TopKSpec): OksErrs {
  return statefulOperator(scope, 'TopK', input, exchange(spec.keys, hashRows), new TopKRule(spec));
}
