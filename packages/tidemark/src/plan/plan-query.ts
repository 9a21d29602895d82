/** A query from syntax to an optimised plan: the one path that SELECT, views, indexes, subscribes and DML take. */
import { SqlError } from '../base/error.ts';
import type { GlobalId } from '../base/ids.ts';
import { type RelationDesc, type SqlType, type as sqlType } from '../repr/types.ts';
import type { Query } from '../sql/ast.ts';
import { newBinder } from './bind/binder.ts';
import {
  asRelation,
  type BindContext,
  type BoundQuery,
  type PlanOptions,
  type QueryTargets,
} from './bind/context.ts';
import { decorrelate } from './decorrelate.ts';
import type { HRel } from './hir.ts';
import type { RowSetFinishing } from './lir.ts';
import { columnsOf, keysOf, type Mir, someNode } from './mir.ts';
import { foldContextual } from './optimize/contextual.ts';
import { optimizeLogically, throughIndexes } from './optimize/optimize.ts';
import { checkTemporal } from './temporal.ts';

export type { PlanOptions, QueryTargets };

export interface QueryPlan {
  /** With names and types bound; for EXPLAIN RAW. */
  readonly hir: HRel;
  readonly ctes: BindContext['ctes'];
  readonly decorrelated: Mir;
  /** Optimised. Its columns are those of `finishing.project`'s input. */
  readonly mir: Mir;
  /** Of the result, after finishing. */
  readonly desc: RelationDesc;
  readonly paramTypes: readonly SqlType[];
  /** Of a one-off query; the identity where the query is maintained. */
  readonly finishing: RowSetFinishing;
  /** Objects that the text names: what the catalog records as dependencies. */
  readonly dependsOn: readonly GlobalId[];
  /** Collections that the plan reads, through views too. */
  readonly reads: readonly GlobalId[];
  /** Per-replica log relations among them. */
  readonly usesLogs: readonly GlobalId[];
  /** Contextual functions that were called, by name: `now`, `current_user`, `mz_now` … */
  readonly contextual: readonly string[];
}

export function planQuery(query: Query, options: PlanOptions, targets?: QueryTargets): QueryPlan {
  const context = newBinder(options);
  return finishPlan(context, context.rules.query(context, query, undefined, targets));
}

/** From a bound query on. */
export function finishPlan(context: BindContext, bound: BoundQuery): QueryPlan {
  const { options } = context;
  const maintained = options.maintained === true;
  const moment = [...context.contextual].find((f) => f !== 'mz_now');
  if (maintained && options.describe !== true && moment !== undefined)
    throw new SqlError('feature_not_supported', `${moment}() cannot be used in a maintained query`, {
      hint: 'It would be the moment or the session of its creation. For a sliding window compare mz_now() in WHERE.',
    });
  const paramTypes = context.paramTypes();
  const extra = maintained
    ? []
    : bound.order.flatMap((o) => (bound.columns.some((c) => c.id === o.id) ? [] : [o.id]));
  const hir: HRel = maintained
    ? asRelation(bound)
    : {
        kind: 'project',
        input: bound.rel,
        columns: [
          ...bound.columns,
          ...[...new Set(extra)].map((id) => ({ id, type: sqlType('void'), nullable: true })),
        ],
      };
  const decorrelated = foldContextual(
    decorrelate(hir, {
      ctes: context.ctes,
      parameters: options.paramValues ?? [],
      describe: options.describe ?? false,
    }),
    options.eval,
  );
  const rules = { context: options.eval, indexes: (id: GlobalId) => options.catalog.indexesOn(id) };
  const logical = options.describe === true ? decorrelated : optimizeLogically(decorrelated, rules);
  const mir = options.describe === true ? logical : throughIndexes(logical, rules);
  if (maintained && options.describe !== true) checkTemporal(mir);
  const ids = hir.kind === 'project' ? hir.columns.map((c) => c.id) : [];
  const finishing = finishingOf(bound, ids, maintained);
  const columns = columnsOf(logical);
  const desc: RelationDesc = {
    columns: bound.columns.map((c, i) => ({ name: c.name, type: c.type, nullable: columns[i].nullable })),
    keys: keysOf(logical).filter((k) => k.every((c) => c < bound.columns.length)),
  };
  const reads = readsOf(mir);
  return {
    hir,
    ctes: context.ctes,
    decorrelated,
    mir,
    desc,
    paramTypes,
    finishing,
    dependsOn: [...context.dependsOn],
    reads,
    usesLogs: reads.filter((id) => options.catalog.item(id)?.kind === 'log'),
    contextual: [...context.contextual],
  };
}

function readsOf(mir: Mir): readonly GlobalId[] {
  const found = new Set<GlobalId>();
  someNode(mir, (n) => {
    if (n.op === 'Get') found.add(n.id);
    return false;
  });
  return [...found];
}

/** Order and cut of a one-off query; of a maintained one they are in the plan. */
function finishingOf(bound: BoundQuery, ids: readonly number[], maintained: boolean): RowSetFinishing {
  const project = bound.columns.map((_, i) => i);
  if (maintained) return { orderBy: [], limit: null, offset: 0, project };
  return {
    orderBy: bound.order.map((o) => ({ column: ids.indexOf(o.id), desc: o.desc, nullsFirst: o.nullsFirst })),
    limit: bound.limit,
    offset: bound.offset,
    project,
  };
}
