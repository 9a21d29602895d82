/**
 * REFRESH options as a schedule. Times are evaluated once, when the statement is planned, and written out in what is stored; only what
 * counts from the view's creation is left open until that time is chosen.
 */
import { SqlError } from '../../base/error.ts';
import { evalConstant } from '../../expr/eval.ts';
import { isEvalError, sqlErrorOf } from '../../expr/eval-error.ts';
import type { EvalContext } from '../../expr/functions.ts';
import { MICROS_PER_DAY } from '../../repr/interval.ts';
import { parseInterval } from '../../repr/interval-parse.ts';
import { type SqlType, type as sqlType } from '../../repr/types.ts';
import type { Expr } from '../../sql/ast.ts';
import type { RefreshOption } from '../../sql/ast-statement.ts';
import type { RefreshSchedule } from '../../time/refresh-schedule.ts';
import { MAX_TIME, type Timestamp } from '../../time/timestamp.ts';
import { newBinder } from '../bind/binder.ts';
import { constantOf } from './dml.ts';
import type { RefreshPlan, RefreshTime, StatementContext } from './plan.ts';

export function scheduleFrom(plan: RefreshPlan, creation: Timestamp): RefreshSchedule {
  const timeOf = (t: RefreshTime): Timestamp => (t === 'creation' ? creation : t);
  return {
    every: plan.every.map((e) => ({ intervalMs: e.intervalMs, alignedTo: timeOf(e.alignedTo) })),
    at: plan.at.map(timeOf),
  };
}

/** The schedule, null for on each commit; and the options with every time written out. */
export function planRefresh(
  options: readonly RefreshOption[],
  context: StatementContext,
): { readonly plan: RefreshPlan | null; readonly stated: readonly RefreshOption[] } {
  const onCommit = options.find((o) => o.kind === 'refreshOnCommit');
  if (onCommit !== undefined && options.length > 1)
    throw new SqlError('invalid_parameter_value', 'REFRESH ON COMMIT cannot be combined with others', {
      position: onCommit.pos + 1,
    });
  const every: RefreshPlan['every'][number][] = [];
  const at: RefreshTime[] = [];
  const stated: RefreshOption[] = [];
  for (const o of options) {
    if (o.kind === 'refreshAt') {
      const time = timeOf(o.time, context);
      at.push(time);
      stated.push({ ...o, time: literal(time, o.time.pos) });
      continue;
    }
    if (o.kind === 'refreshAtCreation') at.push('creation');
    if (o.kind === 'refreshEvery') {
      const alignedTo = o.alignedTo === undefined ? 'creation' : timeOf(o.alignedTo, context);
      every.push({ intervalMs: intervalOf(o.interval, o.pos), alignedTo });
      if (alignedTo !== 'creation') {
        stated.push({ ...o, alignedTo: literal(alignedTo, o.pos) });
        continue;
      }
    }
    stated.push(o);
  }
  return { plan: every.length + at.length === 0 ? null : { every, at }, stated };
}

const literal = (time: Timestamp, pos: number): Expr => ({ kind: 'number', text: `${time}`, pos });

/** An instant, or a logical time as its digits; what counts from now counts from the statement. */
function timeOf(e: Expr, context: StatementContext): Timestamp {
  const { nowMicros } = context.eval;
  const evaluation: EvalContext = {
    ...context.eval,
    ...(nowMicros !== undefined && { mzNow: Number(nowMicros / 1000n) }),
  };
  const isText = e.kind === 'string' && !/^\s*\d+\s*$/.test(e.value);
  const source: SqlType = sqlType(isText ? 'timestamptz' : 'mz_timestamp');
  const bound = constantOf(newBinder({ ...context, eval: evaluation }), e, source);
  const value = evalConstant(bound, evaluation);
  if (isEvalError(value)) throw sqlErrorOf(value.error);
  if (value === null)
    throw new SqlError('null_value_not_allowed', 'a refresh time cannot be NULL', { position: e.pos + 1 });
  const time = isText ? Number((value as bigint) / 1000n) : (value as number);
  if (time >= 0 && time <= MAX_TIME) return time;
  throw new SqlError('datetime_field_overflow', 'a refresh time is out of range', { position: e.pos + 1 });
}

function intervalOf(text: string, pos: number): number {
  const { months, days, micros } = parseInterval(text);
  const ms = Math.floor((days * MICROS_PER_DAY + micros) / 1000);
  const refused =
    months !== 0
      ? 'must not have months or years, for they differ in length'
      : ms < 1 && 'must be at least 1 ms';
  if (refused !== false)
    throw new SqlError('invalid_parameter_value', `a refresh interval ${refused}`, { position: pos + 1 });
  return ms;
}
