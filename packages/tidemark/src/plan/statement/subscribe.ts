/** SUBSCRIBE: a maintained query and how its changes are told. */
import { SqlError } from '../../base/error.ts';
import type { GlobalId } from '../../base/ids.ts';
import { type as sqlType } from '../../repr/types.ts';
import type { SubscribeStatement } from '../../sql/ast-statement.ts';
import { newBinder } from '../bind/binder.ts';
import { missingRelation } from '../bind/context.ts';
import { planQuery, type QueryPlan } from '../plan-query.ts';
import { planAsOf } from './ddl.ts';
import { constantOf } from './dml.ts';
import { tableQuery } from './explain-plan.ts';
import { partsOf } from './names.ts';
import { readOptions } from './options.ts';
import type { Options, StatementContext, SubscribePlan } from './plan.ts';

export function planSubscribe(s: SubscribeStatement, context: StatementContext): SubscribePlan {
  const named = 'parts' in s.relation ? s.relation : undefined;
  let from: GlobalId | undefined;
  if (named !== undefined) {
    const item = context.catalog.resolve(partsOf(named), context.names);
    if (item === undefined) throw missingRelation(partsOf(named), named.pos + 1);
    from = item.id;
  }
  const query = 'parts' in s.relation ? tableQuery(s.relation, partsOf(s.relation)) : s.relation;
  const plan = planQuery(query, { ...context, maintained: true });
  const options = readOptions(s.options, ['snapshot', 'progress']);
  return {
    kind: 'subscribe',
    query: plan,
    from,
    snapshot: flag(options, 'snapshot', true),
    progress: flag(options, 'progress', false),
    asOf: planAsOf(s.asOf, context),
    upTo: s.upTo === undefined ? undefined : constantOf(newBinder(context), s.upTo, sqlType('mz_timestamp')),
    output: subscribeOutput(s, plan),
  };
}

function flag(options: Options, name: string, otherwise: boolean): boolean {
  const value = options[name];
  if (value === undefined) return otherwise;
  if (typeof value === 'boolean') return value;
  if (value === 'true' || value === 'on') return true;
  if (value === 'false' || value === 'off') return false;
  throw new SqlError('invalid_parameter_value', `option ${name.toUpperCase()} requires a boolean`);
}

function subscribeOutput(s: SubscribeStatement, plan: QueryPlan): SubscribePlan['output'] {
  if (s.output === undefined) return { kind: 'diffs' };
  const { columns } = plan.desc;
  const at = (name: string, pos: number): number => {
    const i = columns.findIndex((c) => c.name === name);
    if (i < 0)
      throw new SqlError('undefined_column', `column "${name}" does not exist`, { position: pos + 1 });
    return i;
  };
  if (s.output.kind === 'envelopeUpsert')
    return { kind: 'upsert', key: s.output.key.map((k) => at(k.name, k.pos)) };
  const orderBy = s.output.orderBy.map((o) => {
    const { expr: e } = o;
    if (e.kind !== 'column' || e.name.parts.length !== 1)
      throw new SqlError(
        'feature_not_supported',
        'WITHIN TIMESTAMP ORDER BY takes columns of the output only',
        { position: e.pos + 1 },
      );
    return {
      column: at(e.name.parts[0].name, e.pos),
      desc: o.descending,
      nullsFirst: o.nulls === undefined ? o.descending : o.nulls === 'first',
    };
  });
  return { kind: 'ordered', orderBy };
}
