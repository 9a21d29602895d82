-- information_schema, as many tools read it
select table_catalog, table_schema, table_name, table_type
  from information_schema.tables
  where table_schema not in ('pg_catalog','information_schema');

select column_name, data_type, udt_name, is_nullable, column_default, character_maximum_length, numeric_precision, numeric_scale, datetime_precision, is_identity
  from information_schema.columns
  where table_name='t'
  order by ordinal_position;

select kcu.column_name
  from information_schema.key_column_usage kcu
  join information_schema.table_constraints tc on tc.constraint_name = kcu.constraint_name
  where tc.constraint_type='PRIMARY KEY';

select table_name, view_definition
  from information_schema.views
  where table_schema='public';

select schema_name, catalog_name
  from information_schema.schemata;

select routine_name
  from information_schema.routines limit 1;
