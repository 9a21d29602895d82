-- Drizzle: pull
select s.nspname as table_schema
  from pg_catalog.pg_namespace s
  join pg_catalog.pg_user u on u.usesysid = s.nspowner
  where nspname not in ('information_schema', 'pg_catalog', 'public') and nspname not like 'pg_toast%' and nspname not like 'pg_temp_%'
  order by table_schema;

SELECT n.nspname AS table_schema, c.relname AS table_name, CASE WHEN c.relkind = 'r' THEN 'table' WHEN c.relkind = 'v' THEN 'view' WHEN c.relkind = 'm' THEN 'materialized_view' END AS type, c.relrowsecurity AS rls_enabled
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid::text = c.relnamespace::text
  WHERE c.relkind IN ('r', 'v', 'm') AND n.nspname IN ('public');

select schemaname, sequencename, start_value, min_value, max_value, increment_by, cycle, cache_size
  from pg_sequences as seq
  WHERE schemaname in ('public');

select n.nspname as enum_schema, t.typname as enum_name, e.enumlabel as enum_value, e.enumsortorder as sort_order
  from pg_type t
  join pg_enum e on t.oid = e.enumtypid
  join pg_catalog.pg_namespace n ON n.oid = t.typnamespace
  where n.nspname in ('public')
  order by enum_schema, enum_name, sort_order;

SELECT a.attrelid::regclass::text AS table_name, a.attname AS column_name, c.is_nullable, a.attndims as array_dimensions, CASE WHEN a.atttypid = ANY ('{int,int8,int2}'::regtype[]) AND EXISTS (SELECT
  FROM pg_attrdef ad
  WHERE ad.adrelid = a.attrelid AND ad.adnum = a.attnum AND pg_get_expr(ad.adbin, ad.adrelid) = 'nextval(''' || pg_get_serial_sequence(a.attrelid::regclass::text, a.attname)::regclass || '''::regclass)') THEN CASE a.atttypid WHEN 'int'::regtype THEN 'serial' WHEN 'int8'::regtype THEN 'bigserial' WHEN 'int2'::regtype THEN 'smallserial' END ELSE format_type(a.atttypid, a.atttypmod) END AS data_type, ns.nspname as type_schema, pg_get_serial_sequence('"public"."t"', a.attname)::regclass as seq_name, c.column_default, c.data_type as additional_dt, c.udt_name as enum_name, c.is_generated, c.generation_expression, c.is_identity, c.identity_generation, c.identity_start, c.identity_increment, c.identity_maximum, c.identity_minimum, c.identity_cycle
  FROM pg_attribute a
  JOIN information_schema.columns c ON c.column_name = a.attname
  JOIN pg_type t ON t.oid = a.atttypid
  LEFT JOIN pg_namespace ns ON ns.oid = t.typnamespace
  WHERE a.attnum > 0 AND NOT a.attisdropped AND a.attrelid = '"public"."t"'::regclass AND c.table_name = 't' AND c.table_schema='public'
  ORDER BY a.attnum;

SELECT c.column_name, c.data_type, constraint_type, constraint_name, constraint_schema
  FROM information_schema.table_constraints tc
  JOIN information_schema.constraint_column_usage AS ccu USING (constraint_schema, constraint_name)
  JOIN information_schema.columns AS c ON c.table_schema = tc.constraint_schema AND tc.table_name = c.table_name AND ccu.column_name = c.column_name
  WHERE tc.table_name = 't' and constraint_schema = 'public';

SELECT con.contype AS constraint_type, nsp.nspname AS constraint_schema, con.conname AS constraint_name, rel.relname AS table_name, att.attname AS column_name, fnsp.nspname AS foreign_table_schema, frel.relname AS foreign_table_name, fatt.attname AS foreign_column_name, CASE con.confupdtype WHEN 'a' THEN 'NO ACTION' END AS update_rule
  FROM pg_catalog.pg_constraint con
  JOIN pg_catalog.pg_class rel ON rel.oid = con.conrelid
  JOIN pg_catalog.pg_namespace nsp ON nsp.oid = con.connamespace
  LEFT JOIN pg_catalog.pg_attribute att ON att.attnum = ANY (con.conkey) AND att.attrelid = con.conrelid
  LEFT JOIN pg_catalog.pg_class frel ON frel.oid = con.confrelid
  LEFT JOIN pg_catalog.pg_namespace fnsp ON fnsp.oid = frel.relnamespace
  LEFT JOIN pg_catalog.pg_attribute fatt ON fatt.attnum = ANY (con.confkey) AND fatt.attrelid = con.confrelid
  WHERE nsp.nspname = 'public' AND rel.relname = 't' AND con.contype IN ('f');
