/** Transactions, settings, prepared statements and cursors. */
import { SqlError } from '../../base/error.ts';
import type { ScalarExpr } from '../../expr/scalar.ts';
import { parseInterval } from '../../repr/interval-parse.ts';
import type {
  ExecuteStatement,
  FetchStatement,
  PrepareStatement,
  Statement,
} from '../../sql/ast-statement.ts';
import { newBinder } from '../bind/binder.ts';
import { settle } from '../bind/coerce.ts';
import type { ExprEnv } from '../bind/context.ts';
import { Scope } from '../bind/scope.ts';
import { resolveType } from '../bind/types.ts';
import { Lowering } from '../decorrelate.ts';
import { hasSubquery } from '../hir.ts';
import { readOptions, settingText } from './options.ts';
import type { SessionPlan, StatementContext } from './plan.ts';

type SessionStatement = Extract<
  Statement,
  {
    kind:
      | 'begin'
      | 'commit'
      | 'rollback'
      | 'setTransaction'
      | 'set'
      | 'reset'
      | 'showVariable'
      | 'showAll'
      | 'discard'
      | 'prepare'
      | 'execute'
      | 'deallocate'
      | 'alterSystemSet'
      | 'alterSystemReset'
      | 'fetch'
      | 'close';
  }
>;

export function planSession(s: SessionStatement, context: StatementContext): SessionPlan {
  switch (s.kind) {
    case 'begin':
      return { kind: 'begin', modes: s.modes };
    case 'commit':
    case 'rollback':
      return { kind: s.kind, chain: s.chain };
    case 'setTransaction':
      return { kind: 'setTransaction', scope: s.scope, modes: s.modes };
    case 'set':
      return { kind: 'set', scope: s.scope, name: s.name, values: s.values?.map(settingText) };
    case 'reset':
      return { kind: 'reset', name: s.name };
    case 'showVariable':
      return { kind: 'showVariable', name: s.name };
    case 'showAll':
      return { kind: 'showAll' };
    case 'discard':
      return { kind: 'discard', what: s.what };
    case 'prepare':
      return planPrepare(s);
    case 'execute':
      return { kind: 'execute', name: s.name.name, args: executeArgs(s, context) };
    case 'deallocate':
      return { kind: 'deallocate', name: s.name?.name };
    case 'alterSystemSet':
      return { kind: 'alterSystemSet', name: s.name, values: s.values?.map(settingText) };
    case 'alterSystemReset':
      return { kind: 'alterSystemReset', name: s.name };
    case 'fetch':
      return { kind: 'fetch', cursor: s.cursor.name, count: s.count, timeoutMs: fetchTimeout(s) };
    case 'close':
      return { kind: 'closeCursor', cursor: s.cursor?.name };
  }
}

function fetchTimeout(s: FetchStatement): number | undefined {
  const { timeout } = readOptions(s.options, ['timeout']);
  if (timeout === undefined) return undefined;
  const { months, days, micros } =
    typeof timeout === 'string' ? parseInterval(timeout) : { months: 1, days: 0, micros: 0n };
  const ms = Math.round(days * 86_400_000 + Number(micros) / 1000);
  if (months === 0 && ms >= 0) return ms;
  throw new SqlError(
    'invalid_parameter_value',
    "option TIMEOUT requires an interval of days or less, as in '1s'",
    {
      position: s.options[0]!.pos + 1,
    },
  );
}

const planPrepare = (s: PrepareStatement): SessionPlan => ({
  kind: 'prepare',
  name: s.name.name,
  paramTypes: s.types.map(resolveType),
  statement: s.statement,
});

/** Bound as they stand; the adapter casts them to the parameters' types. */
function executeArgs(s: ExecuteStatement, context: StatementContext): readonly ScalarExpr[] {
  const binder = newBinder(context);
  const env: ExprEnv = {
    context: binder,
    scope: new Scope(undefined),
    clause: 'EXECUTE parameters',
    aggregates: false,
    setReturning: false,
  };
  const lowering = new Lowering({ ctes: [], parameters: [] });
  return s.args.map((a) => {
    const expr = settle(binder, { expr: binder.rules.expr(env, a), pos: a.pos });
    if (hasSubquery(expr))
      throw new SqlError('feature_not_supported', 'cannot use subquery in EXECUTE parameter', {
        position: a.pos + 1,
      });
    return lowering.scalar(expr, []);
  });
}
