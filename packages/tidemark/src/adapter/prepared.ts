/** Prepared statements of a session: named by PREPARE and by the protocol's Parse alike. */
import { SqlError } from '../base/error.ts';
import { evalConstant } from '../expr/eval.ts';
import { isEvalError, sqlErrorOf } from '../expr/eval-error.ts';
import type { EvalContext } from '../expr/functions.ts';
import type { Plan } from '../plan/statement.ts';
import { findCast } from '../repr/casts.ts';
import { DEFAULT_FORMAT } from '../repr/format.ts';
import { type Datum, type RelationDesc, type SqlType, sameType } from '../repr/types.ts';
import type { Statement } from '../sql/ast-statement.ts';

export interface PreparedStatement {
  readonly statement: Statement;
  readonly paramTypes: readonly SqlType[];
  readonly result: RelationDesc | undefined;
}

export function findPrepared(all: ReadonlyMap<string, PreparedStatement>, name: string): PreparedStatement {
  const p = all.get(name);
  if (p === undefined)
    throw new SqlError(
      'invalid_sql_statement_name',
      name === ''
        ? 'unnamed prepared statement does not exist'
        : `prepared statement "${name}" does not exist`,
    );
  return p;
}

/** Undefined: all. Gives the command's tag. */
export function deallocate(all: Map<string, PreparedStatement>, name: string | undefined): string {
  if (name === undefined) {
    all.clear();
    return 'DEALLOCATE ALL';
  }
  findPrepared(all, name);
  all.delete(name);
  return 'DEALLOCATE';
}

/** What EXECUTE gives its statement. */
export function argumentValues(
  plan: Extract<Plan, { kind: 'execute' }>,
  p: PreparedStatement,
  context: EvalContext,
): readonly Datum[] {
  if (plan.args.length !== p.paramTypes.length)
    throw new SqlError('syntax_error', `wrong number of parameters for prepared statement "${plan.name}"`, {
      detail: `Expected ${p.paramTypes.length} parameters but got ${plan.args.length}.`,
    });
  return plan.args.map((a, i): Datum => {
    const v = evalConstant(a, context);
    if (isEvalError(v)) throw sqlErrorOf(v.error);
    return assigned(v, a.type, p.paramTypes[i]!);
  });
}

/** The catalog may have changed since a statement was described. */
export function refuseChange(described: RelationDesc | undefined, plan: Plan | undefined): void {
  const now =
    plan?.kind === 'subscribe'
      ? plan.desc
      : plan?.kind === 'select'
        ? plan.query.desc
        : plan?.kind === 'insert' || plan?.kind === 'update' || plan?.kind === 'delete'
          ? plan.returning?.desc
          : undefined;
  if (described === undefined || now === undefined) return;
  const same =
    now.columns.length === described.columns.length &&
    now.columns.every((c, i) => sameType(c.type, described.columns[i]!.type));
  if (!same) throw new SqlError('feature_not_supported', 'cached plan must not change result type');
}

/** A value brought to a parameter's type by an assignment cast. */
function assigned(v: Datum, from: SqlType, to: SqlType): Datum {
  if (v === null || from.name === to.name) return v;
  const cast = findCast(from, to, false);
  if (cast === undefined)
    throw new SqlError('datatype_mismatch', `parameter has type ${from.name}, expected ${to.name}`);
  return cast.apply(v, DEFAULT_FORMAT);
}
