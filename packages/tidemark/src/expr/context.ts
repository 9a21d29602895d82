/** The session's facts in the form that the value formats take them. */
import { SqlError } from '../base/error.ts';
import type { FormatContext } from '../repr/format.ts';
import { type TimeZone, timeZone } from '../repr/time-zone.ts';
import type { EvalContext, SessionFacts } from './functions.ts';

const known = new WeakMap<EvalContext, FormatContext>();

export function formatContext(context: EvalContext): FormatContext {
  let f = known.get(context);
  if (f === undefined) {
    f = { timeZone: timeZone(context.timeZone), nowMicros: context.nowMicros ?? 0 };
    known.set(context, f);
  }
  return f;
}

export const zoneOf = (context: EvalContext): TimeZone => formatContext(context).timeZone;

/** Functions of the session stand only where a session asks. */
export function sessionOf(context: EvalContext, what: string): SessionFacts {
  if (context.session === undefined)
    throw new SqlError('feature_not_supported', `${what} cannot be used in a maintained query`);
  return context.session;
}
