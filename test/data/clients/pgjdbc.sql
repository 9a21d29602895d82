-- pgjdbc: getTypeInfo, getTables
SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid
  FROM pg_catalog.pg_type
  LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r
  from pg_namespace as ns
  join ( select s.r, (current_schemas(false))[s.r] as nspname
  from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r using ( nspname )) as sp ON sp.nspoid = typnamespace
  WHERE typname = 'int4'
  ORDER BY sp.r, pg_type.oid DESC;

SELECT NULL AS TABLE_CAT, n.nspname AS TABLE_SCHEM, c.relname AS TABLE_NAME, CASE n.nspname ~ '^pg_' OR n.nspname = 'information_schema' WHEN true THEN CASE WHEN n.nspname = 'pg_catalog' OR n.nspname = 'information_schema' THEN CASE c.relkind WHEN 'r' THEN 'SYSTEM TABLE' WHEN 'v' THEN 'SYSTEM VIEW' ELSE NULL END ELSE NULL END WHEN false THEN CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE NULL END ELSE NULL END AS TABLE_TYPE, d.description AS REMARKS
  FROM pg_catalog.pg_namespace n, pg_catalog.pg_class c
  LEFT JOIN pg_catalog.pg_description d ON (c.oid = d.objoid AND d.objsubid = 0 and d.classoid = 'pg_class'::regclass)
  WHERE c.relnamespace = n.oid AND n.nspname LIKE 'public'
  ORDER BY TABLE_TYPE,TABLE_SCHEM,TABLE_NAME;
