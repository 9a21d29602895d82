/**
 * `pg_catalog`: what psql and client libraries ask at start-up and for `\d`. Views over the catalog's tables; what is
 * always empty stands in `views-pg-empty.ts`.
 */
import { SETTINGS, type Setting } from '../settings.ts';
import { type BuiltinView, columns, view } from './declare.ts';

/** OID of the one role: everyone is it. */
const OWNER = '10::oid';

/** `('name', current_setting('name'), …)` for every variable: folded when a query is planned, so that it is the session's. */
function settingRows(): string {
  const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`;
  return Object.entries<Setting>(SETTINGS)
    .map(([name, s]) => {
      const context = s.readOnly ? 'internal' : s.system ? 'sighup' : 'user';
      return `(${quote(name)}, current_setting(${quote(name)}), ${quote(s.doc)}, ${quote(context)}, ${quote(s.default)})`;
    })
    .join(', ');
}

export const PG_VIEWS: readonly BuiltinView[] = [
  view({
    schema: 'pg_catalog',
    name: 'pg_namespace',
    number: 2101,
    doc: 'schemas',
    columns: columns('oid oid', 'nspname name', 'nspowner oid', 'nspacl text[]?'),
    sql: `SELECT oid, name::name AS nspname, ${OWNER} AS nspowner, NULL::text[] AS nspacl FROM mz_catalog.mz_schemas`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_class',
    number: 2102,
    doc: 'relations and indexes',
    columns: columns(
      'oid oid',
      'relname name',
      'relnamespace oid',
      'reltype oid',
      'reloftype oid',
      'relowner oid',
      'relam oid',
      'relfilenode oid',
      'reltablespace oid',
      'relpages int4',
      'reltuples float4',
      'reltoastrelid oid',
      'relhasindex bool',
      'relisshared bool',
      'relpersistence text',
      'relkind text',
      'relnatts int2',
      'relchecks int2',
      'relhasrules bool',
      'relhastriggers bool',
      'relhassubclass bool',
      'relrowsecurity bool',
      'relforcerowsecurity bool',
      'relispopulated bool',
      'relreplident text',
      'relispartition bool',
      'relacl text[]?',
      'reloptions text[]?',
      'relpartbound text?',
    ),
    sql: `
      SELECT o.oid, o.name::name AS relname, s.oid AS relnamespace, 0::oid AS reltype, 0::oid AS reloftype,
        ${OWNER} AS relowner, CASE WHEN o.type = 'index' THEN 403::oid ELSE 2::oid END AS relam, 0::oid AS relfilenode,
        0::oid AS reltablespace, 0 AS relpages, (-1)::float4 AS reltuples, 0::oid AS reltoastrelid,
        o.id IN (SELECT on_id FROM mz_catalog.mz_indexes) AS relhasindex, false AS relisshared, 'p' AS relpersistence,
        CASE o.type WHEN 'view' THEN 'v' WHEN 'materialized-view' THEN 'm' WHEN 'index' THEN 'i' ELSE 'r' END AS relkind,
        coalesce(n.natts, 0)::int2 AS relnatts, 0::int2 AS relchecks, false AS relhasrules, false AS relhastriggers,
        false AS relhassubclass, false AS relrowsecurity, false AS relforcerowsecurity, true AS relispopulated,
        'd' AS relreplident, false AS relispartition, NULL::text[] AS relacl, NULL::text[] AS reloptions,
        NULL::text AS relpartbound
      FROM mz_catalog.mz_objects o
      JOIN mz_catalog.mz_schemas s ON o.schema_id = s.id
      LEFT JOIN (SELECT id, count(*) AS natts FROM mz_catalog.mz_columns GROUP BY id) n ON n.id = o.id
      WHERE o.type <> 'sink'`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_attribute',
    number: 2103,
    doc: 'columns of relations',
    columns: columns(
      'attrelid oid',
      'attname name',
      'atttypid oid',
      'attlen int2',
      'attnum int2',
      'atttypmod int4',
      'attnotnull bool',
      'atthasdef bool',
      'attidentity text',
      'attgenerated text',
      'attisdropped bool',
      'attcollation oid',
      'attstattarget int4',
      'attstorage text',
      'attcompression text',
      'attfdwoptions text[]?',
      'atthasmissing bool',
      'attinhcount int4',
      'attislocal bool',
      'attndims int4',
      'attacl text[]?',
    ),
    sql: `
      SELECT o.oid AS attrelid, c.name::name AS attname, c.type_oid AS atttypid, coalesce(t.length, -1)::int2 AS attlen,
        c.position::int8::int2 AS attnum, c.type_mod AS atttypmod, NOT c.nullable AS attnotnull,
        c."default" IS NOT NULL AS atthasdef, '' AS attidentity, '' AS attgenerated, false AS attisdropped,
        0::oid AS attcollation, -1 AS attstattarget, 'p' AS attstorage, '' AS attcompression,
        NULL::text[] AS attfdwoptions, false AS atthasmissing, 0 AS attinhcount, true AS attislocal, 0 AS attndims,
        NULL::text[] AS attacl
      FROM mz_catalog.mz_columns c
      JOIN mz_catalog.mz_relations o ON o.id = c.id
      LEFT JOIN mz_catalog.mz_types t ON t.oid = c.type_oid
      UNION ALL
      SELECT i.oid, coalesce(c.name, 'expr')::name, coalesce(c.type_oid, 25::oid), -1::int2, k.index_position::int8::int2,
        coalesce(c.type_mod, -1), false, false, '', '', false, 0::oid, -1, 'p', '', NULL::text[], false, 0, true, 0,
        NULL::text[]
      FROM mz_catalog.mz_index_columns k
      JOIN mz_catalog.mz_indexes i ON i.id = k.index_id
      LEFT JOIN mz_catalog.mz_columns c ON c.id = i.on_id AND c.position = k.on_position`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_attrdef',
    number: 2104,
    doc: 'defaults of columns',
    columns: columns('oid oid', 'adrelid oid', 'adnum int2', 'adbin text', 'adsrc text'),
    sql: `
      SELECT o.oid, o.oid AS adrelid, c.position::int8::int2 AS adnum, c."default" AS adbin, c."default" AS adsrc
      FROM mz_catalog.mz_columns c JOIN mz_catalog.mz_relations o ON o.id = c.id WHERE c."default" IS NOT NULL`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_index',
    number: 2105,
    doc: 'indexes',
    columns: columns(
      'indexrelid oid',
      'indrelid oid',
      'indnatts int2',
      'indnkeyatts int2',
      'indisunique bool',
      'indisprimary bool',
      'indisexclusion bool',
      'indimmediate bool',
      'indisclustered bool',
      'indisvalid bool',
      'indcheckxmin bool',
      'indisready bool',
      'indislive bool',
      'indisreplident bool',
      'indkey int2[]?',
      'indoption int2[]?',
      'indexprs text?',
      'indpred text?',
      'indnullsnotdistinct bool',
    ),
    sql: `
      SELECT i.oid AS indexrelid, r.oid AS indrelid, coalesce(k.natts, 0)::int2 AS indnatts, coalesce(k.natts, 0)::int2 AS indnkeyatts,
        false AS indisunique, false AS indisprimary, false AS indisexclusion, true AS indimmediate, false AS indisclustered,
        true AS indisvalid, false AS indcheckxmin, true AS indisready, true AS indislive, false AS indisreplident,
        k.keys AS indkey, NULL::int2[] AS indoption, NULL::text AS indexprs, NULL::text AS indpred,
        false AS indnullsnotdistinct
      FROM mz_catalog.mz_indexes i
      JOIN mz_catalog.mz_relations r ON r.id = i.on_id
      LEFT JOIN (
        SELECT index_id, count(*) AS natts,
          array_agg(coalesce(on_position::int8, 0)::int2 ORDER BY index_position) AS keys
        FROM mz_catalog.mz_index_columns GROUP BY index_id
      ) k ON k.index_id = i.id`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_type',
    number: 2106,
    doc: 'data types',
    columns: columns(
      'oid oid',
      'typname name',
      'typnamespace oid',
      'typowner oid',
      'typlen int2',
      'typbyval bool',
      'typtype text',
      'typcategory text',
      'typispreferred bool',
      'typisdefined bool',
      'typdelim text',
      'typrelid oid',
      'typelem oid',
      'typarray oid',
      'typinput regproc',
      'typreceive oid',
      'typnotnull bool',
      'typbasetype oid',
      'typtypmod int4',
      'typndims int4',
      'typcollation oid',
      'typdefault text?',
      'typacl text[]?',
    ),
    sql: `
      SELECT t.oid, t.name::name AS typname, 11::oid AS typnamespace, ${OWNER} AS typowner, t.length::int2 AS typlen,
        t.length > 0 AND t.length <= 8 AS typbyval, CASE WHEN t.category = 'P' THEN 'p' ELSE 'b' END AS typtype,
        t.category AS typcategory, false AS typispreferred, true AS typisdefined, ',' AS typdelim, 0::oid AS typrelid,
        t.element_oid AS typelem, t.array_oid AS typarray,
        CASE WHEN t.category = 'A' THEN 750::regproc ELSE 0::regproc END AS typinput, 0::oid AS typreceive, false AS typnotnull,
        0::oid AS typbasetype, -1 AS typtypmod, 0 AS typndims, 0::oid AS typcollation, NULL::text AS typdefault,
        NULL::text[] AS typacl
      FROM mz_catalog.mz_types t`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_description',
    number: 2107,
    doc: 'comments',
    columns: columns('objoid oid', 'classoid oid', 'objsubid int4', 'description text'),
    sql: `
      SELECT o.oid AS objoid, 1259::oid AS classoid, coalesce(c.object_sub_id, 0) AS objsubid, c.comment AS description
      FROM mz_internal.mz_comments c JOIN mz_catalog.mz_objects o ON o.id = c.id
      WHERE c.object_type NOT IN ('cluster', 'cluster replica')`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_database',
    number: 2108,
    doc: 'databases',
    columns: columns(
      'oid oid',
      'datname name',
      'datdba oid',
      'encoding int4',
      'datlocprovider text',
      'datistemplate bool',
      'datallowconn bool',
      'datconnlimit int4',
      'datcollate text',
      'datctype text',
      'daticulocale text?',
      'dattablespace oid',
      'datacl text[]?',
    ),
    sql: `
      SELECT oid, name::name AS datname, ${OWNER} AS datdba, 6 AS encoding, 'c' AS datlocprovider, false AS datistemplate,
        true AS datallowconn, -1 AS datconnlimit, 'C' AS datcollate, 'C' AS datctype, NULL::text AS daticulocale,
        1663::oid AS dattablespace, NULL::text[] AS datacl
      FROM mz_catalog.mz_databases`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_roles',
    number: 2109,
    doc: 'the one role that everybody is',
    columns: columns(
      'oid oid',
      'rolname name',
      'rolsuper bool',
      'rolinherit bool',
      'rolcreaterole bool',
      'rolcreatedb bool',
      'rolcanlogin bool',
      'rolreplication bool',
      'rolconnlimit int4',
      'rolpassword text',
      'rolvaliduntil timestamptz?',
      'rolbypassrls bool',
      'rolconfig text[]?',
    ),
    sql: `
      SELECT ${OWNER} AS oid, 'tidemark'::name AS rolname, true AS rolsuper, true AS rolinherit, true AS rolcreaterole,
        true AS rolcreatedb, true AS rolcanlogin, false AS rolreplication, -1 AS rolconnlimit, '********' AS rolpassword,
        NULL::timestamptz AS rolvaliduntil, true AS rolbypassrls, NULL::text[] AS rolconfig`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_am',
    number: 2110,
    doc: 'access methods',
    columns: columns('oid oid', 'amname name', 'amhandler regproc', 'amtype text'),
    sql: `SELECT 2::oid AS oid, 'heap'::name AS amname, 0::regproc AS amhandler, 't' AS amtype
      UNION ALL SELECT 403::oid, 'arrangement'::name, 0::regproc, 'i'`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_tablespace',
    number: 2111,
    doc: 'tablespaces',
    columns: columns('oid oid', 'spcname name', 'spcowner oid', 'spcacl text[]?', 'spcoptions text[]?'),
    sql: `SELECT 1663::oid AS oid, 'pg_default'::name AS spcname, ${OWNER} AS spcowner, NULL::text[] AS spcacl, NULL::text[] AS spcoptions`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_tables',
    number: 2112,
    doc: 'tables, by name',
    columns: columns('schemaname name', 'tablename name', 'tableowner name'),
    sql: `SELECT s.name::name AS schemaname, t.name::name AS tablename, 'tidemark'::name AS tableowner
      FROM mz_catalog.mz_tables t JOIN mz_catalog.mz_schemas s ON s.id = t.schema_id`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_views',
    number: 2113,
    doc: 'views, by name',
    columns: columns('schemaname name', 'viewname name', 'viewowner name', 'definition text?'),
    sql: `SELECT s.name::name AS schemaname, v.name::name AS viewname, 'tidemark'::name AS viewowner, v.create_sql AS definition
      FROM mz_catalog.mz_views v JOIN mz_catalog.mz_schemas s ON s.id = v.schema_id`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_matviews',
    number: 2114,
    doc: 'materialized views, by name',
    columns: columns('schemaname name', 'matviewname name', 'matviewowner name', 'definition text'),
    sql: `SELECT s.name::name AS schemaname, v.name::name AS matviewname, 'tidemark'::name AS matviewowner, v.create_sql AS definition
      FROM mz_catalog.mz_materialized_views v JOIN mz_catalog.mz_schemas s ON s.id = v.schema_id`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_proc',
    number: 2115,
    doc: 'functions',
    columns: columns(
      'oid oid',
      'proname name',
      'pronamespace oid',
      'proowner oid',
      'prolang oid',
      'procost float4',
      'prorows float4',
      'provariadic oid',
      'prosupport regproc',
      'prokind text',
      'prosecdef bool',
      'proleakproof bool',
      'proisstrict bool',
      'proretset bool',
      'provolatile text',
      'proparallel text',
      'pronargs int2',
      'pronargdefaults int2',
      'prorettype oid',
      'proargtypes oid[]',
      'proallargtypes oid[]?',
      'proargmodes text[]?',
      'proargnames text[]?',
      'proargdefaults text?',
      'prosrc text',
      'probin text?',
      'prosqlbody text?',
      'proconfig text[]?',
      'proacl text[]?',
    ),
    sql: `
      SELECT oid, name::name AS proname, 11::oid AS pronamespace, ${OWNER} AS proowner, 12::oid AS prolang, 1::float4 AS procost,
        CASE WHEN returns_set THEN 1000::float4 ELSE 0::float4 END AS prorows, variadic_oid AS provariadic,
        0::regproc AS prosupport, kind AS prokind, false AS prosecdef, false AS proleakproof, strict AS proisstrict,
        returns_set AS proretset, volatility AS provolatile, 's' AS proparallel,
        coalesce(array_length(argument_oids, 1), 0)::int2 AS pronargs, 0::int2 AS pronargdefaults, result_oid AS prorettype,
        argument_oids AS proargtypes, NULL::oid[] AS proallargtypes, NULL::text[] AS proargmodes, NULL::text[] AS proargnames,
        NULL::text AS proargdefaults, name AS prosrc, NULL::text AS probin, NULL::text AS prosqlbody, NULL::text[] AS proconfig,
        NULL::text[] AS proacl
      FROM mz_catalog.mz_functions`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_operator',
    number: 2116,
    doc: 'operators',
    columns: columns(
      'oid oid',
      'oprname name',
      'oprnamespace oid',
      'oprowner oid',
      'oprkind text',
      'oprcanmerge bool',
      'oprcanhash bool',
      'oprleft oid',
      'oprright oid',
      'oprresult oid',
      'oprcom oid',
      'oprnegate oid',
      'oprcode regproc',
      'tableoid oid',
    ),
    sql: `
      SELECT oid, name::name AS oprname, 11::oid AS oprnamespace, ${OWNER} AS oprowner,
        CASE array_length(argument_oids, 1) WHEN 1 THEN 'l' ELSE 'b' END AS oprkind, false AS oprcanmerge, name = '=' AS oprcanhash,
        CASE array_length(argument_oids, 1) WHEN 1 THEN 0::oid ELSE argument_oids[1] END AS oprleft,
        argument_oids[array_length(argument_oids, 1)] AS oprright, result_oid AS oprresult, 0::oid AS oprcom,
        0::oid AS oprnegate, 0::regproc AS oprcode, 2617::oid AS tableoid
      FROM mz_catalog.mz_operators`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_cast',
    number: 2117,
    doc: 'casts',
    columns: columns(
      'oid oid',
      'castsource oid',
      'casttarget oid',
      'castfunc oid',
      'castcontext text',
      'castmethod text',
    ),
    sql: `
      SELECT oid, source_oid AS castsource, target_oid AS casttarget, 0::oid AS castfunc, substring(context, 1, 1) AS castcontext,
        CASE WHEN binary_coercible THEN 'b' ELSE 'f' END AS castmethod
      FROM mz_internal.mz_casts`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_language',
    number: 2118,
    doc: 'languages of functions',
    columns: columns(
      'oid oid',
      'lanname name',
      'lanowner oid',
      'lanispl bool',
      'lanpltrusted bool',
      'lanacl text[]?',
    ),
    sql: `SELECT 12::oid AS oid, 'internal'::name AS lanname, ${OWNER} AS lanowner, false AS lanispl, false AS lanpltrusted, NULL::text[] AS lanacl`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_settings',
    number: 2119,
    doc: 'the variables of the session',
    columns: columns(
      'name text',
      'setting text',
      'unit text?',
      'category text',
      'short_desc text',
      'context text',
      'vartype text',
      'source text',
      'boot_val text',
      'reset_val text',
      'pending_restart bool',
    ),
    sql: `
      SELECT name, setting, NULL::text AS unit, 'Session' AS category, short_desc, context, 'string' AS vartype,
        CASE WHEN setting = boot_val THEN 'default' ELSE 'session' END AS source, boot_val, boot_val AS reset_val,
        false AS pending_restart
      FROM (VALUES ${settingRows()}) s (name, setting, short_desc, context, boot_val)`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_stat_activity',
    number: 2120,
    doc: 'the sessions now connected',
    columns: columns(
      'datid oid?',
      'datname name?',
      'pid int4',
      'usesysid oid',
      'usename name',
      'application_name text',
      'client_addr text?',
      'backend_start timestamptz',
      'xact_start timestamptz?',
      'query_start timestamptz?',
      'state_change timestamptz?',
      'wait_event_type text?',
      'wait_event text?',
      'state text?',
      'query text',
      'backend_type text',
    ),
    sql: `
      SELECT d.oid AS datid, s.database::name AS datname, s.id::int8::int4 AS pid, ${OWNER} AS usesysid, s.role::name AS usename,
        s.application_name, s.client_addr, s.connected_at AS backend_start, NULL::timestamptz AS xact_start,
        NULL::timestamptz AS query_start, NULL::timestamptz AS state_change, NULL::text AS wait_event_type,
        NULL::text AS wait_event, NULL::text AS state, '' AS query, 'client backend' AS backend_type
      FROM mz_internal.mz_sessions s LEFT JOIN mz_catalog.mz_databases d ON d.name = s.database`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_user',
    number: 2151,
    doc: 'the one role, as a user',
    columns: columns(
      'usename name',
      'usesysid oid',
      'usecreatedb bool',
      'usesuper bool',
      'userepl bool',
      'usebypassrls bool',
      'passwd text',
      'valuntil timestamptz?',
      'useconfig text[]?',
    ),
    sql: `SELECT 'tidemark'::name AS usename, ${OWNER} AS usesysid, true AS usecreatedb, true AS usesuper, false AS userepl,
        true AS usebypassrls, '********' AS passwd, NULL::timestamptz AS valuntil, NULL::text[] AS useconfig`,
  }),
  view({
    schema: 'pg_catalog',
    name: 'pg_indexes',
    number: 2152,
    doc: 'indexes, by name',
    columns: columns(
      'schemaname name',
      'tablename name',
      'indexname name',
      'tablespace name?',
      'indexdef text?',
    ),
    sql: `SELECT s.name::name AS schemaname, r.name::name AS tablename, i.name::name AS indexname, NULL::name AS tablespace,
        i.create_sql AS indexdef
      FROM mz_catalog.mz_indexes i
      JOIN mz_catalog.mz_relations r ON r.id = i.on_id
      JOIN mz_catalog.mz_schemas s ON s.id = r.schema_id`,
  }),
];
