-- TypeORM: connecting
SELECT *
  FROM current_schema();

SELECT "table_schema", "table_name", current_schema() AS s, obj_description(('"' || "table_schema" || '"."' || "table_name" || '"')::regclass, 'pg_class') AS c
  FROM "information_schema"."tables"
  WHERE table_schema='public';
