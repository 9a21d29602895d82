/**
 * Statements to plans: one function a kind of statement, in one table. Pure: a plan is data, made from the syntax, a
 * snapshot of the catalog and what the session tells.
 */
import { unsupported } from '../base/error.ts';
import type { GlobalId } from '../base/ids.ts';
import type { RelationDesc, SqlType } from '../repr/types.ts';
import type { Statement } from '../sql/ast-statement.ts';
import { planQuery } from './plan-query.ts';
import {
  planAlter,
  planComment,
  planCreateCluster,
  planCreateClusterReplica,
  planDrop,
} from './statement/alter.ts';
import {
  planAsOf,
  planCreateConnection,
  planCreateIndex,
  planCreateMaterializedView,
  planCreateSecret,
  planCreateSink,
  planCreateSource,
  planCreateTable,
  planCreateView,
} from './statement/ddl.ts';
import { planCopy, planDelete, planInsert, planUpdate } from './statement/dml.ts';
import { planExplainAnalyze } from './statement/explain-analyze.ts';
import { planExplain } from './statement/explain-plan.ts';
import { objectNamed, partsOf } from './statement/names.ts';
import type { Plan, StatementContext } from './statement/plan.ts';
import { planSession } from './statement/session.ts';
import { showQuery } from './statement/show.ts';
import { planCopySubscribe, planSubscribe } from './statement/subscribe.ts';

export type { Plan, StatementContext };

type Planner<K extends Statement['kind']> = (
  s: Extract<Statement, { kind: K }>,
  context: StatementContext,
) => Plan | undefined;

const PLANNERS: { readonly [K in Statement['kind']]: Planner<K> } = {
  selectStatement: (s, context) => ({
    kind: 'select',
    query: planQuery(s.query, context),
    asOf: planAsOf(s.asOf, context),
  }),
  insert: planInsert,
  update: planUpdate,
  delete: planDelete,
  copy: (s, context) => {
    const { source } = s;
    return source.kind === 'subscribe'
      ? planCopySubscribe(s, source, context)
      : planCopy({ ...s, source }, context);
  },
  subscribe: planSubscribe,
  declareCursor: (s, context) => {
    const plan =
      s.statement.kind === 'subscribe'
        ? planSubscribe(s.statement, context)
        : {
            kind: 'select' as const,
            query: planQuery(s.statement.query, context),
            asOf: planAsOf(s.statement.asOf, context),
          };
    return { kind: 'declareCursor', name: s.name.name, hold: s.hold, plan };
  },
  fetch: planSession,
  close: planSession,
  createCluster: planCreateCluster,
  createClusterReplica: planCreateClusterReplica,
  createTable: planCreateTable,
  createSource: planCreateSource,
  createView: planCreateView,
  createMaterializedView: planCreateMaterializedView,
  createIndex: planCreateIndex,
  createSink: planCreateSink,
  createSchema: (s) => ({ kind: 'createSchema', name: partsOf(s.name), ifNotExists: s.ifNotExists }),
  createDatabase: (s) => ({ kind: 'createDatabase', name: s.name.name, ifNotExists: s.ifNotExists }),
  createConnection: planCreateConnection,
  createSecret: planCreateSecret,
  alterRename: planAlter,
  alterSetSchema: planAlter,
  alterSwap: planAlter,
  alterOwner: planAlter,
  alterSet: planAlter,
  alterReset: planAlter,
  alterApplyReplacement: planAlter,
  alterSecret: planAlter,
  drop: planDrop,
  comment: planComment,
  showObjects: (s, context) => ({
    kind: 'select',
    query: planQuery(showQuery(s, context), context),
    asOf: undefined,
  }),
  showCreate: (s, context) => {
    const object = objectNamed(context, s.objectType, s.name);
    // Only items have a qualified name; the ids of clusters are numbered like those of items and mean others.
    if (object.name === undefined) throw unsupported(`SHOW CREATE ${s.objectType.toUpperCase()}`);
    const item = context.catalog.item(object.id as GlobalId);
    if (item === undefined || item.createSql === '')
      throw unsupported('SHOW CREATE of a builtin relation', { hint: 'use SHOW COLUMNS, or \\d+ in psql' });
    const { database, schema, item: name } = item.name;
    const parts = [database, schema, name].filter((p) => p !== null);
    return { kind: 'showCreate', object, name: parts.join('.'), sql: item.createSql };
  },
  showVariable: planSession,
  showAll: planSession,
  explainPlan: planExplain,
  explainTimestamp: (s, context) => ({
    kind: 'explainTimestamp',
    query: planQuery(s.explainee.query, context),
    format: s.format,
  }),
  explainAnalyze: planExplainAnalyze,
  begin: planSession,
  commit: planSession,
  rollback: planSession,
  setTransaction: planSession,
  set: planSession,
  reset: planSession,
  discard: planSession,
  prepare: planSession,
  execute: planSession,
  deallocate: planSession,
  alterSystemSet: planSession,
  alterSystemReset: planSession,
};

/** Undefined: nothing to do (ALTER … IF EXISTS of what is not there). */
export function planStatement(statement: Statement, context: StatementContext): Plan | undefined {
  const planner = PLANNERS[statement.kind] as (s: Statement, context: StatementContext) => Plan | undefined;
  return planner(statement, context);
}

export interface StatementDesc {
  readonly paramTypes: readonly SqlType[];
  /** Undefined: no rows come back, or rows whose shape the adapter knows (SHOW, EXPLAIN, FETCH). */
  readonly result: RelationDesc | undefined;
}

/** Types of the parameters and of the result, before there are values. */
export function describeStatement(statement: Statement, context: StatementContext): StatementDesc {
  const plan = planStatement(statement, { ...context, describe: true });
  const none: readonly SqlType[] = [];
  switch (plan?.kind) {
    case 'subscribe':
      return { paramTypes: plan.query.paramTypes, result: plan.desc };
    case 'copySubscribe':
      return { paramTypes: plan.plan.query.paramTypes, result: undefined };
    case 'select':
    case 'copyTo':
      return {
        paramTypes: plan.query.paramTypes,
        result: plan.kind === 'copyTo' ? undefined : plan.query.desc,
      };
    case 'insert':
      return { paramTypes: plan.source.paramTypes, result: plan.returning?.desc };
    case 'update':
    case 'delete':
      return { paramTypes: plan.read.paramTypes, result: plan.returning?.desc };
    default:
      return { paramTypes: none, result: undefined };
  }
}
