/**
 * REFRESH options as a schedule. Times are evaluated once, when the statement is planned, and written out in what is stored; only what
 * counts from the view's creation is left open until that time is chosen.
 */
import { SqlError } from '../../base/error.ts';
import { evalConstant } from '../../expr/eval.ts';
import { sqlErrorOf } from '../../expr/eval-error.ts';
import type { EvalContext } from '../../expr/functions.ts';
import { isEvalError } from '../../expr/eval-error.ts';
import { parseInterval } from '../../repr/interval-parse.ts';
import { MICROS_PER_DAY } from '../../repr/interval.ts';
import { type SqlType, type as sqlType } from '../../repr/types.ts';
import type { Expr } from '../../sql/ast.ts';
import type { RefreshOption } from '../../sql/ast-statement.ts';
import type { RefreshSchedule } from '../../time/refresh-schedule.ts';
import type { Timestamp } from '../../time/timestamp.ts';
import { newBinder } from '../bind/binder.ts';
import { constantOf } from './dml.ts';
import type { StatementContext } from './plan.ts';

/** `creation`: the time that the view's contents begin at. */
type RefreshTime = Timestamp | 'creation';

export interface RefreshPlan {
  readonly every: readonly { readonly intervalMs: number; readonly alignedTo: RefreshTime }[];
  readonly at: readonly RefreshTime[];
}

export function scheduleFrom(plan: RefreshPlan, creation: Timestamp): RefreshSchedule {
  const timeOf = (t: RefreshTime): Timestamp => (t === 'creation' ? creation : t);
  return {
    every: plan.every.map((e) => ({ intervalMs: e.intervalMs, alignedTo: timeOf(e.alignedTo) })),
    at: plan.at.map(timeOf),
  };
}

/** Null: on each commit. */
export function planRefresh(
  options: readonly RefreshOption[],
  context: StatementContext,
): { readonly plan: RefreshPlan | null; readonly stated: readonly RefreshOption[] } {
  const every: RefreshPlan['every'][number][] = [];
  const at: RefreshTime[] = [];
  const stated = options.map((o): RefreshOption => {
    switch (o.kind) {
      case 'refreshOnCommit':
        if (options.length > 1)
          throw new SqlError('invalid_parameter_value', 'REFRESH ON COMMIT cannot be combined with others', {
            position: o.pos + 1,
          });
        return o;
      case 'refreshAtCreation':
        at.push('creation');
        return o;
      case 'refreshAt': {
        const time = timeOf(o.time, context);
        at.push(time);
        return { ...o, time: literal(time, o.time.pos) };
      }
      case 'refreshEvery': {
        const alignedTo = o.alignedTo === undefined ? 'creation' : timeOf(o.alignedTo, context);
        every.push({ intervalMs: intervalOf(o.interval, o.pos), alignedTo });
        return alignedTo === 'creation' ? o : { ...o, alignedTo: literal(alignedTo, o.pos) };
      }
    }
  });
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
  return isText ? Number((value as bigint) / 1000n) : (value as number);
}

function intervalOf(text: string, pos: number): number {
  const { months, days, micros } = parseInterval(text);
  const ms = Math.floor((days * MICROS_PER_DAY + micros) / 1000);
  const refused =
    months !== 0 ? 'must not have months or years, for they differ in length' : ms < 1 && 'must be at least 1 ms';
  if (refused !== false)
    throw new SqlError('invalid_parameter_value', `a refresh interval ${refused}`, { position: pos + 1 });
  return ms;
}
