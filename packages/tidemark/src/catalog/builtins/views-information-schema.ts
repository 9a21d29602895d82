/** `information_schema`, as far as client libraries and query builders read it. */
import { type BuiltinView, columns, view } from './declare.ts';

export const INFORMATION_SCHEMA_VIEWS: readonly BuiltinView[] = [
  view({
    schema: 'information_schema',
    name: 'schemata',
    number: 2201,
    oid: 22201,
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
    oid: 22202,
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
    oid: 22203,
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
      'udt_name text?',
    ),
    sql: `
      SELECT coalesce(d.name, 'tidemark') AS table_catalog, s.name AS table_schema, r.name AS table_name, c.name AS column_name,
        c.position::int8::int4 AS ordinal_position, c."default" AS column_default,
        CASE WHEN c.nullable THEN 'YES' ELSE 'NO' END AS is_nullable, c.type AS data_type, t.name AS udt_name
      FROM mz_catalog.mz_columns c
      JOIN mz_catalog.mz_relations r ON r.id = c.id
      JOIN mz_catalog.mz_schemas s ON s.id = r.schema_id
      LEFT JOIN mz_catalog.mz_databases d ON d.id = s.database_id
      LEFT JOIN mz_catalog.mz_types t ON t.oid = c.type_oid`,
  }),
];
