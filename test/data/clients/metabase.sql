-- Metabase: sync
select n.nspname as schema, c.relname as name, case c.relkind when 'r' then 'TABLE' when 'v' then 'VIEW' when 'm' then 'MATERIALIZED VIEW' end as type, d.description as description, c.reltuples::bigint as estimated_row_count
  from pg_catalog.pg_class c
  inner join pg_catalog.pg_namespace n on c.relnamespace = n.oid
  left join pg_catalog.pg_description d on c.oid = d.objoid and d.objsubid = 0 and d.classoid = 'pg_class'::regclass
  where c.relnamespace = n.oid and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and c.relkind in ('r', 'p', 'v', 'f', 'm')
  order by type, schema, name;

with table_privileges as (select NULL as role, t.schemaname as schema, t.objectname as table, pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'update') as update, pg_catalog.has_table_privilege(current_user, '"' || t.schemaname || '"' || '.' || '"' || t.objectname || '"', 'SELECT') as select
  from (select schemaname, tablename as objectname
  from pg_catalog.pg_tables
  union select schemaname, viewname as objectname
  from pg_catalog.pg_views
  union select schemaname, matviewname as objectname
  from pg_catalog.pg_matviews) t
  where t.schemaname !~ '^pg_' and t.schemaname <> 'information_schema' and pg_catalog.has_schema_privilege(current_user, t.schemaname, 'USAGE')) select t.*
  from table_privileges t;

SELECT nspname, typname
  FROM pg_type t
  JOIN pg_namespace n ON n.oid = t.typnamespace
  WHERE t.oid IN (SELECT DISTINCT enumtypid
  FROM pg_enum e);
