/** `information_schema`, as far as client libraries and query builders read it. */
import { type BuiltinView, columns, emptyView, view } from './declare.ts';

/** Of text columns, unless a type is written. */
const empty = (spec: {
  name: string;
  number: number;
  doc: string;
  columns: readonly string[];
}): BuiltinView =>
  emptyView('information_schema', {
    ...spec,
    columns: spec.columns.map((c) => (c.includes(' ') ? c : `${c} text`)),
  });

export const INFORMATION_SCHEMA_VIEWS: readonly BuiltinView[] = [
  view({
    schema: 'information_schema',
    name: 'schemata',
    number: 2201,
    doc: 'schemas',
    columns: columns('catalog_name text', 'schema_name text', 'schema_owner text'),
    sql: `
      SELECT coalesce(d.name, 'tidemark') AS catalog_name, s.name AS schema_name, 'tidemark' AS schema_owner
      FROM mz_catalog.mz_schemas s LEFT JOIN mz_catalog.mz_databases d ON d.id = s.database_id`,
  }),
  view({
    schema: 'information_schema',
    name: 'tables',
    number: 2202,
    doc: 'relations',
    columns: columns('table_catalog text', 'table_schema text', 'table_name text', 'table_type text'),
    sql: `
      SELECT coalesce(d.name, 'tidemark') AS table_catalog, s.name AS table_schema, r.name AS table_name,
        CASE r.type WHEN 'view' THEN 'VIEW' WHEN 'materialized-view' THEN 'MATERIALIZED VIEW' ELSE 'BASE TABLE' END AS table_type
      FROM mz_catalog.mz_relations r
      JOIN mz_catalog.mz_schemas s ON s.id = r.schema_id
      LEFT JOIN mz_catalog.mz_databases d ON d.id = s.database_id`,
  }),
  view({
    schema: 'information_schema',
    name: 'columns',
    number: 2203,
    doc: 'columns of relations',
    columns: columns(
      'table_catalog text',
      'table_schema text',
      'table_name text',
      'column_name text',
      'ordinal_position int4',
      'column_default text?',
      'is_nullable text',
      'data_type text',
      'character_maximum_length int4?',
      'character_octet_length int4?',
      'numeric_precision int4?',
      'numeric_precision_radix int4?',
      'numeric_scale int4?',
      'datetime_precision int4?',
      'interval_type text?',
      'character_set_name text?',
      'collation_catalog text?',
      'collation_schema text?',
      'collation_name text?',
      'domain_schema text?',
      'domain_name text?',
      'udt_catalog text',
      'udt_schema text',
      'udt_name text?',
      'is_self_referencing text',
      'is_identity text',
      'identity_generation text?',
      'identity_start text?',
      'identity_increment text?',
      'identity_maximum text?',
      'identity_minimum text?',
      'identity_cycle text',
      'is_generated text',
      'generation_expression text?',
      'is_updatable text',
    ),
    sql: `
      SELECT coalesce(d.name, 'tidemark') AS table_catalog, s.name AS table_schema, r.name AS table_name, c.name AS column_name,
        c.position::int8::int4 AS ordinal_position, c."default" AS column_default,
        CASE WHEN c.nullable THEN 'YES' ELSE 'NO' END AS is_nullable,
        CASE WHEN t.category = 'A' THEN 'ARRAY' ELSE coalesce(t.sql_name, c.type) END AS data_type,
        CASE WHEN t.name IN ('varchar', 'bpchar') AND c.type_mod > 0 THEN c.type_mod - 4 END AS character_maximum_length,
        CASE WHEN t.category = 'S' THEN 1073741824 END AS character_octet_length,
        CASE t.name WHEN 'int2' THEN 16 WHEN 'int4' THEN 32 WHEN 'int8' THEN 64 WHEN 'float4' THEN 24 WHEN 'float8' THEN 53
          WHEN 'numeric' THEN CASE WHEN c.type_mod > 0 THEN ((c.type_mod - 4) >> 16) & 65535 END END AS numeric_precision,
        CASE WHEN t.name IN ('int2', 'int4', 'int8', 'float4', 'float8') THEN 2 WHEN t.name = 'numeric' THEN 10 END
          AS numeric_precision_radix,
        CASE WHEN t.name IN ('int2', 'int4', 'int8') THEN 0
          WHEN t.name = 'numeric' AND c.type_mod > 0 THEN (c.type_mod - 4) & 65535 END AS numeric_scale,
        CASE WHEN t.name = 'date' THEN 0 WHEN t.category IN ('D', 'T') THEN 6 END AS datetime_precision,
        NULL::text AS interval_type, NULL::text AS character_set_name, NULL::text AS collation_catalog,
        NULL::text AS collation_schema, NULL::text AS collation_name, NULL::text AS domain_schema, NULL::text AS domain_name,
        coalesce(d.name, 'tidemark') AS udt_catalog, 'pg_catalog' AS udt_schema, t.name AS udt_name,
        'NO' AS is_self_referencing, 'NO' AS is_identity, NULL::text AS identity_generation, NULL::text AS identity_start,
        NULL::text AS identity_increment, NULL::text AS identity_maximum, NULL::text AS identity_minimum, 'NO' AS identity_cycle,
        'NEVER' AS is_generated, NULL::text AS generation_expression,
        CASE r.type WHEN 'table' THEN 'YES' ELSE 'NO' END AS is_updatable
      FROM mz_catalog.mz_columns c
      JOIN mz_catalog.mz_relations r ON r.id = c.id
      JOIN mz_catalog.mz_schemas s ON s.id = r.schema_id
      LEFT JOIN mz_catalog.mz_databases d ON d.id = s.database_id
      LEFT JOIN mz_catalog.mz_types t ON t.oid = c.type_oid`,
  }),
  view({
    schema: 'information_schema',
    name: 'views',
    number: 2204,
    doc: 'views',
    columns: columns(
      'table_catalog text',
      'table_schema text',
      'table_name text',
      'view_definition text?',
      'check_option text',
      'is_updatable text',
      'is_insertable_into text',
    ),
    sql: `
      SELECT coalesce(d.name, 'tidemark') AS table_catalog, s.name AS table_schema, v.name AS table_name,
        v.create_sql AS view_definition, 'NONE' AS check_option, 'NO' AS is_updatable, 'NO' AS is_insertable_into
      FROM mz_catalog.mz_views v
      JOIN mz_catalog.mz_schemas s ON s.id = v.schema_id
      LEFT JOIN mz_catalog.mz_databases d ON d.id = s.database_id`,
  }),
  view({
    schema: 'information_schema',
    name: 'routines',
    number: 2205,
    doc: 'functions',
    columns: columns(
      'specific_catalog text',
      'specific_schema text',
      'specific_name text',
      'routine_catalog text',
      'routine_schema text',
      'routine_name text',
      'routine_type text',
      'data_type text',
      'external_language text',
    ),
    sql: `
      SELECT 'tidemark' AS specific_catalog, 'pg_catalog' AS specific_schema, name || '_' || oid::text AS specific_name,
        'tidemark' AS routine_catalog, 'pg_catalog' AS routine_schema, name AS routine_name, 'FUNCTION' AS routine_type,
        result AS data_type, 'INTERNAL' AS external_language
      FROM mz_catalog.mz_functions WHERE kind = 'f'`,
  }),
  view({
    schema: 'information_schema',
    name: 'enabled_roles',
    number: 2206,
    doc: 'the one role',
    columns: columns('role_name text'),
    sql: `SELECT 'tidemark' AS role_name`,
  }),
  empty({
    name: 'table_constraints',
    number: 2211,
    doc: 'constraints: there are none',
    columns: [
      'constraint_catalog',
      'constraint_schema',
      'constraint_name',
      'table_catalog',
      'table_schema',
      'table_name',
      'constraint_type',
      'is_deferrable',
      'initially_deferred',
      'enforced',
    ],
  }),
  empty({
    name: 'key_column_usage',
    number: 2212,
    doc: 'columns of keys: there are none',
    columns: [
      'constraint_catalog',
      'constraint_schema',
      'constraint_name',
      'table_catalog',
      'table_schema',
      'table_name',
      'column_name',
      'ordinal_position int4',
      'position_in_unique_constraint int4',
    ],
  }),
  empty({
    name: 'constraint_column_usage',
    number: 2213,
    doc: 'columns of constraints: there are none',
    columns: [
      'table_catalog',
      'table_schema',
      'table_name',
      'column_name',
      'constraint_catalog',
      'constraint_schema',
      'constraint_name',
    ],
  }),
  empty({
    name: 'referential_constraints',
    number: 2214,
    doc: 'foreign keys: there are none',
    columns: [
      'constraint_catalog',
      'constraint_schema',
      'constraint_name',
      'unique_constraint_catalog',
      'unique_constraint_schema',
      'unique_constraint_name',
      'match_option',
      'update_rule',
      'delete_rule',
    ],
  }),
  empty({
    name: 'check_constraints',
    number: 2215,
    doc: 'check constraints: there are none',
    columns: ['constraint_catalog', 'constraint_schema', 'constraint_name', 'check_clause'],
  }),
  empty({
    name: 'sequences',
    number: 2216,
    doc: 'sequences: there are none',
    columns: [
      'sequence_catalog',
      'sequence_schema',
      'sequence_name',
      'data_type',
      'start_value',
      'increment',
    ],
  }),
  empty({
    name: 'triggers',
    number: 2217,
    doc: 'triggers: there are none',
    columns: [
      'trigger_catalog',
      'trigger_schema',
      'trigger_name',
      'event_object_schema',
      'event_object_table',
    ],
  }),
  empty({
    name: 'parameters',
    number: 2218,
    doc: 'parameters of functions that users define: there are none',
    columns: ['specific_schema', 'specific_name', 'ordinal_position int4', 'parameter_name', 'data_type'],
  }),
];
