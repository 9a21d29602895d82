-- psql 15: \sf f
SELECT 'f'::pg_catalog.regproc::pg_catalog.oid;

SELECT pg_catalog.pg_get_functiondef(16420);
