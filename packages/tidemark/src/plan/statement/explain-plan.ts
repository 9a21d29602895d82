/** EXPLAIN: the text of a stage of a plan. */
import { SqlError, unsupported } from '../../base/error.ts';
import type { GlobalId } from '../../base/ids.ts';
import { isRelation } from '../../catalog/catalog-reader.ts';
import type { Query } from '../../sql/ast.ts';
import type { ExplainedObject, ExplainPlanStatement } from '../../sql/ast-statement.ts';
import { explainHir, explainLir, explainMir } from '../explain.ts';
import { lowerMir } from '../lower.ts';
import type { ExplainNames } from '../mir.ts';
import { fastPath } from '../peek.ts';
import { planQuery, type QueryPlan } from '../plan-query.ts';
import { planDelete, planInsert, planUpdate } from './dml.ts';
import { missingObject, partsOf } from './names.ts';
import type { Plan, StatementContext } from './plan.ts';

export function planExplain(s: ExplainPlanStatement, context: StatementContext): Plan {
  if (s.format === 'json') throw unsupported('EXPLAIN … AS JSON', { position: s.pos + 1 });
  const [option] = s.options;
  if (option !== undefined && option.name !== 'analyze')
    throw unsupported(`EXPLAIN WITH (${option.name})`, { position: option.pos + 1 });
  if (option !== undefined)
    throw unsupported('EXPLAIN ANALYZE of a query', {
      position: option.pos + 1,
      hint: 'what is maintained can be analyzed: EXPLAIN ANALYZE CPU, MEMORY FOR INDEX i; also HYDRATION, and FOR MATERIALIZED VIEW m',
    });
  const plan = explained(s, context);
  const names: ExplainNames = { nameOf: (id) => nameOf(id, context) };
  const finishing = plan.finishing;
  const text = (): string => {
    switch (s.stage) {
      case 'raw':
        return explainHir(plan.hir, plan.ctes, names);
      case 'decorrelated':
        return explainMir(plan.decorrelated, names, finishing);
      case 'physical': {
        const { root } = lowerMir(plan.mir, {
          cluster: context.cluster,
          indexes: (id) => context.catalog.indexesOn(id),
        });
        return explainLir(root, names, finishing);
      }
      default:
        return explainMir(plan.mir, names, finishing);
    }
  };
  const title = {
    raw: 'Raw Plan',
    decorrelated: 'Decorrelated Plan',
    optimized: 'Optimized Plan',
    physical: 'Physical Plan',
  };
  const stage = s.stage ?? 'optimized';
  const indexes = stage === 'optimized' || stage === 'physical' ? usedIndexes(plan, context) : [];
  return { kind: 'explain', column: title[stage], lines: [...text().split('\n'), ...indexes] };
}

/** Which indexes of the session's cluster a run would read, and how. */
function usedIndexes(plan: QueryPlan, context: StatementContext): readonly string[] {
  const where = { cluster: context.cluster, indexes: (id: GlobalId) => context.catalog.indexesOn(id) };
  const fast = fastPath(plan.mir, where);
  const used =
    fast?.kind === 'index'
      ? [`${indexName(fast.index, context)} (${keysText(fast.literals?.length)})`]
      : lowerMir(plan.mir, where).indexes.map((id) => `${indexName(id, context)} (shared with the dataflow)`);
  return used.length === 0 ? [] : ['', 'Used indexes:', ...used.map((u) => `  - ${u}`)];
}

const indexName = (id: GlobalId, context: StatementContext): string =>
  context.catalog.item(id)?.name.item ?? id;

const keysText = (keys: number | undefined): string =>
  keys === undefined ? 'all of it' : keys === 1 ? 'lookup of one key' : `lookup of ${keys} keys`;

function nameOf(id: GlobalId, context: StatementContext): string {
  const item = context.catalog.item(id);
  if (item === undefined) return id;
  const { database, schema, item: name } = item.name;
  return database === null
    ? `${schema}.${name}`
    : schema === 'public' && database === context.names.database
      ? name
      : [database, schema, name].join('.');
}

function explained(s: ExplainPlanStatement, context: StatementContext): QueryPlan {
  const e = s.explainee;
  const maintained = (query: Query): QueryPlan => planQuery(query, { ...context, maintained: true });
  switch (e.kind) {
    case 'selectStatement':
      return planQuery(e.query, context);
    case 'createView':
    case 'createMaterializedView':
      return maintained(e.query);
    case 'insert':
      return planInsert(e, context).source;
    case 'update':
      return planUpdate(e, context).read;
    case 'delete':
      return planDelete(e, context).read;
    case 'explainedObject':
      return maintained(objectQuery(e, context));
    case 'subscribe':
      if (e.relation && 'kind' in e.relation && e.relation.kind === 'query') return maintained(e.relation);
      throw unsupported('EXPLAIN of a SUBSCRIBE to an object', { position: s.pos + 1 });
    case 'createIndex':
      throw unsupported('EXPLAIN CREATE INDEX', { position: s.pos + 1 });
  }
}

function objectQuery(e: ExplainedObject, context: StatementContext): Query {
  const found = context.catalog.resolve(partsOf(e.name), context.names);
  if (found === undefined) throw missingObject(e.objectType, e.name);
  const item = found.kind === 'index' ? context.catalog.item(found.on) : found;
  if (item === undefined || !isRelation(item))
    throw new SqlError('wrong_object_type', `cannot explain "${found.name.item}"`, {
      position: e.name.pos + 1,
    });
  return item.query ?? tableQuery(e, [item.name.database, item.name.schema, item.name.item]);
}

/** `TABLE t` */
export function tableQuery(at: { readonly pos: number }, parts: readonly (string | null)[]): Query {
  const { pos } = at;
  const name = { pos, parts: parts.filter((p) => p !== null).map((p) => ({ pos, name: p })) };
  return {
    kind: 'query',
    pos,
    with: undefined,
    orderBy: [],
    limit: undefined,
    withTies: false,
    offset: undefined,
    locking: [],
    body: {
      kind: 'select',
      pos,
      distinct: false,
      distinctOn: [],
      items: [{ pos, expr: { kind: 'wildcard', pos, qualifier: undefined }, alias: undefined }],
      from: [{ kind: 'table', pos, name, alias: undefined }],
      where: undefined,
      groupBy: [],
      having: undefined,
      windows: [],
    },
  };
}
