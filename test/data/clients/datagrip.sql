-- DataGrip: connecting
select version();

select current_database() as a, current_schemas(false) as b;

select round(extract(epoch
  from pg_postmaster_start_time() at time zone 'UTC')) as startup_time;

select N.oid::bigint as id, datname as name, D.description, datistemplate as is_template, datallowconn as allow_connections, pg_catalog.pg_get_userbyid(N.datdba) as "owner"
  from pg_catalog.pg_database N
  left join pg_catalog.pg_shdescription D on N.oid = D.objoid
  order by case when datname = pg_catalog.current_database() then -1::bigint else N.oid::bigint end;

select N.oid::bigint as id, N.nspname as name, D.description, pg_catalog.pg_get_userbyid(N.nspowner) as "owner"
  from pg_catalog.pg_namespace N
  left join pg_catalog.pg_description D on N.oid = D.objoid
  order by case when N.nspname = pg_catalog.current_schema() then -1::bigint else N.oid::bigint end;
