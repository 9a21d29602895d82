/** SUBSCRIBE: a maintained query and how its changes are told. */
import { SqlError, unsupported } from '../../base/error.ts';
import type { GlobalId } from '../../base/ids.ts';
import { type ColumnDesc, type RelationDesc, type as sqlType } from '../../repr/types.ts';
import type { Ident } from '../../sql/ast.ts';
import type { CopyStatement, SubscribeStatement } from '../../sql/ast-statement.ts';
import { newBinder } from '../bind/binder.ts';
import { missingRelation } from '../bind/context.ts';
import { planQuery, type QueryPlan } from '../plan-query.ts';
import { planAsOf } from './ddl.ts';
import { constantOf, copyOptions } from './dml.ts';
import { tableQuery } from './explain-plan.ts';
import { partsOf } from './names.ts';
import { readOptions } from './options.ts';
import type { CopySubscribePlan, Options, StatementContext, SubscribePlan } from './plan.ts';

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
  const progress = flag(options, 'progress', false);
  const output = subscribeOutput(s, plan);
  return {
    kind: 'subscribe',
    query: plan,
    from,
    snapshot: flag(options, 'snapshot', true),
    progress,
    asOf: planAsOf(s.asOf, context),
    upTo: s.upTo === undefined ? undefined : constantOf(newBinder(context), s.upTo, sqlType('mz_timestamp')),
    output,
    desc: outputDesc(plan.desc, output, progress),
  };
}

/** COPY (SUBSCRIBE …) TO STDOUT. */
export function planCopySubscribe(
  s: CopyStatement,
  source: SubscribeStatement,
  context: StatementContext,
): CopySubscribePlan {
  if (s.location !== undefined)
    throw unsupported('COPY of a SUBSCRIBE to a place', { position: s.location.pos + 1 });
  return { kind: 'copySubscribe', plan: planSubscribe(source, context), options: copyOptions(s) };
}

/** The columns' order of an upsert: the key's as it was named, then the others. */
export function upsertColumns(arity: number, key: readonly number[]): readonly number[] {
  return [...key, ...Array.from({ length: arity }, (_, i) => i).filter((i) => !key.includes(i))];
}

function outputDesc(of: RelationDesc, output: SubscribePlan['output'], progress: boolean): RelationDesc {
  const own = (name: string, type: 'numeric' | 'bool' | 'int8' | 'text', nullable = false): ColumnDesc => ({
    name,
    type: sqlType(type),
    nullable,
  });
  const upsert = output.kind === 'upsert';
  const columns = upsert
    ? upsertColumns(of.columns.length, output.key).map((i) => of.columns[i]!)
    : of.columns;
  const keys = upsert ? output.key.length : 0;
  return {
    columns: [
      own('mz_timestamp', 'numeric'),
      ...(progress ? [own('mz_progressed', 'bool')] : []),
      upsert ? own('mz_state', 'text', progress) : own('mz_diff', 'int8', progress),
      // NULL on rows of progress; the values also where a key is gone.
      ...columns.map((c, i) => ({ ...c, nullable: c.nullable || progress || (upsert && i >= keys) })),
    ],
    keys: [],
  };
}

function upsertKey(key: readonly Ident[], at: (name: string, pos: number) => number): readonly number[] {
  const out: number[] = [];
  for (const k of key) {
    const i = at(k.name, k.pos);
    if (out.includes(i))
      throw new SqlError('duplicate_column', `column "${k.name}" specified more than once`, {
        position: k.pos + 1,
      });
    out.push(i);
  }
  return out;
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
  const at = (name: string, pos: number, diff = false): number => {
    const i = columns.findIndex((c) => c.name === name);
    if (i < 0 && diff && name === 'mz_diff') return columns.length;
    if (i < 0)
      throw new SqlError('undefined_column', `column "${name}" does not exist`, { position: pos + 1 });
    return i;
  };
  if (s.output.kind === 'envelopeUpsert') return { kind: 'upsert', key: upsertKey(s.output.key, at) };
  const orderBy = s.output.orderBy.map((o) => {
    const { expr: e } = o;
    if (e.kind !== 'column' || e.name.parts.length !== 1)
      throw new SqlError(
        'feature_not_supported',
        'WITHIN TIMESTAMP ORDER BY takes columns of the output only',
        { position: e.pos + 1 },
      );
    return {
      column: at(e.name.parts[0].name, e.pos, true),
      desc: o.descending,
      nullsFirst: o.nulls === undefined ? o.descending : o.nulls === 'first',
    };
  });
  return { kind: 'ordered', orderBy };
}
