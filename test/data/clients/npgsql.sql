-- Npgsql: loading types
SELECT ns.nspname, t.oid, t.typname, t.typtype, t.typnotnull, t.elemtypoid
  FROM (SELECT typ.oid, typ.typnamespace, typ.typname, typ.typtype, typ.typrelid, typ.typnotnull, typ.relkind, elemtyp.oid AS elemtypoid, elemtyp.typname AS elemtypname, elemcls.relkind AS elemrelkind, CASE WHEN elemproc.proname='array_recv' THEN 'a' ELSE elemtyp.typtype END AS elemtyptype
  FROM (SELECT typ.oid, typnamespace, typname, typrelid, typnotnull, relkind, typelem AS elemoid, CASE WHEN proc.proname='array_recv' THEN 'a' ELSE typ.typtype END AS typtype, CASE WHEN proc.proname='array_recv' THEN typ.typelem WHEN typ.typtype='r' THEN rngsubtype END AS elemtypoid
  FROM pg_type AS typ
  LEFT JOIN pg_class AS cls ON (cls.oid = typ.typrelid)
  LEFT JOIN pg_proc AS proc ON proc.oid = typ.typreceive
  LEFT JOIN pg_range ON (pg_range.rngtypid = typ.oid)) AS typ
  LEFT JOIN pg_type AS elemtyp ON elemtyp.oid = elemtypoid
  LEFT JOIN pg_class AS elemcls ON (elemcls.oid = elemtyp.typrelid)
  LEFT JOIN pg_proc AS elemproc ON elemproc.oid = elemtyp.typreceive) AS t
  JOIN pg_namespace AS ns ON (ns.oid = typnamespace)
  WHERE typtype IN ('b', 'r', 'm', 'e', 'd');
