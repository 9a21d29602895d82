/** What a statement will answer with, before it runs: from the planner, or, for what only a session knows, from the session. */
import { describeStatement, planStatement, type StatementContext } from '../plan/statement.ts';
import type { RelationDesc, SqlType } from '../repr/types.ts';
import type { Statement } from '../sql/ast-statement.ts';
import type { Cursors } from './cursors.ts';
import { findPrepared, type PreparedStatement } from './prepared.ts';
import { showResult, textDesc } from './results.ts';

export interface DescribeContext {
  readonly cursors: Cursors;
  readonly prepared: ReadonlyMap<string, PreparedStatement>;
  readonly planned: <T>(
    s: Statement,
    more: Partial<StatementContext>,
    by: (s: Statement, c: StatementContext) => T,
  ) => T;
}

export function describe(
  statement: Statement,
  paramTypes: readonly (SqlType | undefined)[],
  session: DescribeContext,
): { paramTypes: readonly SqlType[]; result: RelationDesc | undefined } {
  const more = { paramTypes, describe: true };
  const { paramTypes: types, result } = session.planned(statement, more, describeStatement);
  return { paramTypes: types, result: result ?? shownResult(statement, session) };
}

/** Rows whose shape the planner does not know. */
function shownResult(s: Statement, session: DescribeContext): RelationDesc | undefined {
  if (s.kind === 'fetch') return session.cursors.find(s.cursor.name).desc;
  if (s.kind === 'execute') return findPrepared(session.prepared, s.name.name).result;
  if (s.kind === 'explainPlan' || s.kind === 'explainAnalyze') {
    const plan = session.planned(s, { describe: true }, planStatement);
    return plan?.kind === 'explain' ? textDesc(plan.column) : undefined;
  }
  return showResult(s);
}
