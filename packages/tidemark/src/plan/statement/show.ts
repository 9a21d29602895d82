/** SHOW: questions to the catalog, written as SQL over its relations. One template a kind of object. */
import { SqlError, unsupported } from '../../base/error.ts';
import type { Query } from '../../sql/ast.ts';
import type { ShowObjectsStatement, ShowObjectsType } from '../../sql/ast-statement.ts';
import { parseStatement } from '../../sql/parse.ts';
import { quoteString } from '../../sql/print-name.ts';
import { printExpr } from '../../sql/print-query.ts';
import { partsOf } from './names.ts';
import type { StatementContext } from './plan.ts';

/** What a template may be narrowed by. */
interface Scope {
  /** A condition on `s`, the schema's row. */
  readonly schema: string;
  /** A condition on `c.name`, or TRUE. */
  readonly cluster: string;
  /** The id of the object after ON or FROM, as a literal. */
  readonly on: string | undefined;
}

/** Ids are unique among things of one kind alone, and objects are one kind. */
const COMMENT = (id: string, type?: 'cluster'): string => {
  const ofType = type === undefined ? "NOT IN ('cluster', 'cluster replica')" : `= '${type}'`;
  return `coalesce((SELECT k.comment FROM mz_internal.mz_comments k WHERE k.id = ${id} AND k.object_type ${ofType} AND k.object_sub_id IS NULL LIMIT 1), '') AS comment`;
};
/** Nothing can be said about it. */
const NO_COMMENT = "'' AS comment";
const IN_SCHEMA = 'JOIN mz_catalog.mz_schemas s ON o.schema_id = s.id';
const ON_CLUSTER = 'JOIN mz_catalog.mz_clusters c ON o.cluster_id = c.id';

const TEMPLATES: Readonly<Record<ShowObjectsType, ((s: Scope) => string) | undefined>> = {
  clusters: () =>
    `SELECT c.name, coalesce((SELECT string_agg(r.name || ' (' || r.size || ')', ', ' ORDER BY r.name) FROM mz_catalog.mz_cluster_replicas r WHERE r.cluster_id = c.id), '') AS replicas, ${COMMENT('c.id', 'cluster')} FROM mz_catalog.mz_clusters c`,
  'cluster replicas': (s) =>
    `SELECT c.name AS cluster, r.name AS replica, r.size FROM mz_catalog.mz_cluster_replicas r JOIN mz_catalog.mz_clusters c ON r.cluster_id = c.id WHERE ${s.cluster}`,
  objects: (s) =>
    `SELECT o.name, o.type, ${COMMENT('o.id')} FROM mz_catalog.mz_objects o ${IN_SCHEMA} WHERE ${s.schema}`,
  tables: (s) =>
    `SELECT o.name, ${COMMENT('o.id')} FROM mz_catalog.mz_tables o ${IN_SCHEMA} WHERE ${s.schema}`,
  views: (s) => `SELECT o.name, ${COMMENT('o.id')} FROM mz_catalog.mz_views o ${IN_SCHEMA} WHERE ${s.schema}`,
  'materialized views': (s) =>
    `SELECT o.name, c.name AS cluster, ${COMMENT('o.id')} FROM mz_catalog.mz_materialized_views o ${IN_SCHEMA} ${ON_CLUSTER} WHERE ${s.schema} AND ${s.cluster}`,
  indexes: (s) =>
    `SELECT i.name, o.name AS on, c.name AS cluster, (SELECT array_agg(coalesce(m.name, '(expression)') ORDER BY k.index_position) FROM mz_catalog.mz_index_columns k LEFT JOIN mz_catalog.mz_columns m ON m.id = i.on_id AND m.position = k.on_position WHERE k.index_id = i.id) AS key, ${COMMENT('i.id')} FROM mz_catalog.mz_indexes i JOIN mz_catalog.mz_relations o ON i.on_id = o.id ${IN_SCHEMA} JOIN mz_catalog.mz_clusters c ON i.cluster_id = c.id WHERE ${s.on === undefined ? s.schema : `i.on_id = ${s.on}`} AND ${s.cluster}`,
  sources: (s) =>
    `SELECT o.name, o.type, ${COMMENT('o.id')} FROM mz_catalog.mz_sources o ${IN_SCHEMA} WHERE ${s.schema}`,
  sinks: (s) =>
    `SELECT o.name, o.type, c.name AS cluster, ${COMMENT('o.id')} FROM mz_catalog.mz_sinks o ${IN_SCHEMA} ${ON_CLUSTER} WHERE ${s.schema} AND ${s.cluster}`,
  schemas: () =>
    `SELECT s.name, ${NO_COMMENT} FROM mz_catalog.mz_schemas s LEFT JOIN mz_catalog.mz_databases d ON s.database_id = d.id WHERE d.name IS NULL OR d.name = current_database()`,
  databases: () => `SELECT d.name, ${NO_COMMENT} FROM mz_catalog.mz_databases d`,
  connections: undefined,
  secrets: undefined,
  columns: (s) =>
    `SELECT m.name, m.nullable, m.type, coalesce((SELECT k.comment FROM mz_internal.mz_comments k WHERE k.id = m.id AND k.object_sub_id = m.position::int4 LIMIT 1), '') AS comment FROM mz_catalog.mz_columns m WHERE m.id = ${s.on}`,
};

export function showQuery(s: ShowObjectsStatement, context: StatementContext): Query {
  const template = TEMPLATES[s.objectType];
  if (template === undefined)
    throw unsupported(`SHOW ${s.objectType.toUpperCase()}`, { position: s.pos + 1 });
  const inner = template({
    schema: schemaCondition(s, context),
    cluster: clusterCondition(s),
    on: onId(s, context),
  });
  const like = s.like === undefined ? '' : ` WHERE x.name LIKE ${quoteString(s.like)}`;
  const where = s.where === undefined ? like : ` WHERE ${printExpr(s.where)}`;
  // Columns come in their own order, all else by name.
  const order = s.objectType === 'columns' ? '' : ' ORDER BY 1, 2';
  const columns = s.objectType === 'columns' ? inner : `SELECT * FROM (${inner}) x${where}${order}`;
  const sql = s.objectType === 'columns' ? `SELECT * FROM (${columns}) x${where}` : columns;
  const statement = parseStatement(sql);
  if (statement.kind !== 'selectStatement')
    throw new SqlError('internal_error', 'a SHOW template is no query');
  return statement.query;
}

function schemaCondition(s: ShowObjectsStatement, context: StatementContext): string {
  if (s.schema === undefined) {
    const path = context.names.searchPath.map(quoteString).join(', ');
    return path === '' ? 'false' : `s.name IN (${path})`;
  }
  const parts = partsOf(s.schema);
  if (!context.catalog.hasSchema(parts, context.names))
    throw new SqlError('invalid_schema_name', `unknown schema '${parts.join('.')}'`, {
      position: s.schema.pos + 1,
    });
  return `s.name = ${quoteString(parts[parts.length - 1])}`;
}

function clusterCondition(s: ShowObjectsStatement): string {
  return s.cluster === undefined ? 'true' : `c.name = ${quoteString(s.cluster.name)}`;
}

function onId(s: ShowObjectsStatement, context: StatementContext): string | undefined {
  if (s.on === undefined) return undefined;
  const parts = partsOf(s.on);
  const item = context.catalog.resolve(parts, context.names);
  if (item === undefined)
    throw new SqlError('undefined_table', `unknown catalog item '${parts.join('.')}'`, {
      position: s.on.pos + 1,
    });
  return quoteString(item.id);
}
