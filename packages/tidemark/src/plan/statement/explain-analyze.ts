/**
 * EXPLAIN ANALYZE: what each node of a running plan holds, has cost, and whether it is hydrated, as a query over the log relations of
 * a replica. A row a node, in the order in which EXPLAIN PHYSICAL PLAN numbers them from the root down; the first row is the object
 * itself: what reads its inputs and keeps its output, outside of the plan. So the rows of a measure add up to the dataflow's.
 */
import { SqlError } from '../../base/error.ts';
import type { GlobalId } from '../../base/ids.ts';
import type { CatalogItem } from '../../catalog/catalog-reader.ts';
import type { ExplainAnalyzeStatement } from '../../sql/ast-statement.ts';
import { parseStatement } from '../../sql/parse.ts';
import { planQuery } from '../plan-query.ts';
import { objectNamed } from './names.ts';
import type { Plan, StatementContext } from './plan.ts';

type Property = ExplainAnalyzeStatement['properties'][number];

/** Rows for nodes and for what is outside of them, each with columns `node`, `worker_id` and the measures. */
interface Measure {
  /** Columns of the answer, over `m`. */
  readonly columns: readonly string[];
  /** `worker_id` stands in it where the measure is by worker. */
  readonly rows: (o: { readonly id: GlobalId; readonly by: string; readonly suffix: string }) => string;
}

/** Sums over the operators of each node, and what is left of the whole for the object itself (node 0). */
const ofOperators = (values: string, columns: readonly string[], by: string): string => {
  const sums = columns.map((c) => `sum(v.${c})${c === 'elapsed' ? '' : '::int8'} AS ${c}`).join(', ');
  return `
    SELECT coalesce(n.node, 0) AS node${by && ', v.worker_id'}, ${sums}
    FROM (${values}) v
    LEFT JOIN (SELECT n.node, o.id FROM nodes n, operators o WHERE o.id >= n.first AND o.id < n.next) n ON n.id = v.id
    GROUP BY coalesce(n.node, 0)${by && ', v.worker_id'}`;
};

const MEASURES: Readonly<Record<Property, Measure>> = {
  memory: {
    columns: ['records', 'bytes'],
    rows: ({ by, suffix }) =>
      ofOperators(
        `SELECT s.operator_id AS id${by && ', s.worker_id'}, s.records, s.size AS bytes
         FROM mz_introspection.mz_arrangement_sizes${suffix} s JOIN operators o ON o.id = s.operator_id`,
        ['records', 'bytes'],
        by,
      ),
  },
  cpu: {
    columns: ['elapsed'],
    rows: ({ by, suffix }) =>
      ofOperators(
        `SELECT e.id${by && ', e.worker_id'}, e.elapsed_ns::float8 / 1000 * INTERVAL '1 microsecond' AS elapsed
         FROM mz_introspection.mz_scheduling_elapsed${suffix} e JOIN operators o ON o.id = e.id`,
        ['elapsed'],
        by,
      ),
  },
  hydration: {
    columns: ['hydrated'],
    rows: ({ id, by }) => {
      const workers = by
        ? "CASE WHEN h.hydrated THEN 'yes' ELSE 'no' END"
        : "sum(CASE WHEN h.hydrated THEN 1 ELSE 0 END) || ' of ' || count(*)";
      return `
        SELECT h.node${by && ', h.worker_id'}, ${workers} AS hydrated
        FROM (
          SELECT n.node, s.worker_id, s.hydrated
          FROM mz_introspection.mz_compute_operator_hydration_statuses_per_worker s JOIN nodes n ON n.lir_id = s.lir_id
          WHERE s.export_id = '${id}'
          UNION ALL
          SELECT 0, worker_id, time_ns IS NOT NULL
          FROM mz_introspection.mz_compute_hydration_times_per_worker WHERE export_id = '${id}'
        ) h${by ? '' : ' GROUP BY h.node'}`;
    },
  },
};

/** `id`: of the export that maintains the object. */
function querySql(s: ExplainAnalyzeStatement, item: CatalogItem, id: GlobalId): string {
  const by = s.skew ? 'worker_id' : '';
  const suffix = s.skew ? '_per_worker' : '';
  const properties = [...new Set(s.properties)];
  const title = `${item.kind === 'index' ? 'Index' : 'Materialized view'} ${item.name.item}`.replaceAll(
    "'",
    "''",
  );
  const measures = properties.map((p) => ({ p, ...MEASURES[p] }));
  const on = (m: string): string => `m_${m}.node = r.node${by && ` AND m_${m}.worker_id = r.worker_id`}`;
  const workers = by
    ? `, (SELECT worker_id FROM mz_introspection.mz_compute_exports_per_worker WHERE export_id = '${id}') w`
    : '';
  return `
    WITH
    own AS (SELECT dataflow_id FROM mz_introspection.mz_compute_exports WHERE export_id = '${id}'),
    operators AS (
      SELECT a.id FROM mz_introspection.mz_dataflow_addresses a JOIN own ON own.dataflow_id = a.address[1]
      WHERE list_length(a.address) > 1
    ),
    ends AS (SELECT min(id) AS first, max(id) AS last FROM operators),
    nodes AS (
      SELECT l.lir_id::int8 AS node, l.lir_id, l.operator, l.nesting, l.operator_id_start AS first, l.operator_id_end AS next
      FROM mz_introspection.mz_lir_mapping l
      JOIN mz_introspection.mz_dataflow_global_ids g ON g.global_id = l.global_id
      JOIN own ON own.dataflow_id = g.id
      CROSS JOIN ends
      WHERE l.operator_id_start >= ends.first AND l.operator_id_end::int8 <= ends.last::int8 + 1
    ),
    plan AS (
      SELECT node, lir_id::int8 AS place, repeat('  ', nesting::int4 + 1) || lir_id || ': ' || operator AS operator FROM nodes
      UNION ALL SELECT 0, 9223372036854775807, '${title}' FROM own
    )
    SELECT r.operator${by && ', r.worker_id'}, ${measures.flatMap((m) => m.columns.map((c) => `m_${m.p}.${c}`)).join(', ')}
    FROM (SELECT plan.*${by && ', w.worker_id'} FROM plan${workers}) r
    ${measures.map((m) => `LEFT JOIN (${m.rows({ id, by, suffix })}) m_${m.p} ON ${on(m.p)}`).join('\n    ')}
    ORDER BY r.place DESC${by && ', r.worker_id'}`;
}

export function planExplainAnalyze(s: ExplainAnalyzeStatement, context: StatementContext): Plan {
  const { id } = objectNamed(context, s.object.objectType, s.object.name);
  const item = context.catalog.item(id as GlobalId)!;
  const { cluster: clusterId } = item as { readonly cluster?: typeof context.cluster };
  const cluster = clusterId && context.catalog.clusterById(clusterId);
  if (cluster && cluster.id !== context.cluster)
    throw new SqlError(
      'object_not_in_prerequisite_state',
      `"${item.name.item}" is maintained by cluster "${cluster.name}", which alone can tell about it`,
      { hint: `SET cluster = ${cluster.name}` },
    );
  const sql = querySql(s, item, context.catalog.exportOf(item.id));
  if (s.asSql) return { kind: 'explain', column: 'SQL', lines: lines(sql) };
  if (cluster && cluster.replicas.length > 0 && !cluster.replicas.some((r) => r.logs))
    throw new SqlError(
      'object_not_in_prerequisite_state',
      `introspection of cluster "${cluster.name}" is off, so nothing tells what "${item.name.item}" costs`,
      { hint: 'give the cluster, or one of its replicas, an INTROSPECTION INTERVAL above 0' },
    );
  const statement = parseStatement(sql);
  if (statement.kind !== 'selectStatement') throw new SqlError('internal_error', 'it is a query');
  return { kind: 'select', query: planQuery(statement.query, context), asOf: undefined };
}

/** Without the indentation that all lines share. */
function lines(sql: string): readonly string[] {
  const all = sql.split('\n').filter((l) => l.trim() !== '');
  const margin = Math.min(...all.map((l) => l.length - l.trimStart().length));
  return all.map((l) => l.slice(margin));
}
