-- DBeaver: connecting and opening the tree
SELECT db.oid,db.*
  FROM pg_catalog.pg_database db
  WHERE datname='tidemark';

select *
  from pg_catalog.pg_settings
  where name='standard_conforming_strings';

SELECT n.oid,n.*,d.description
  FROM pg_catalog.pg_namespace n
  LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=n.oid AND d.objsubid=0 AND d.classoid='pg_namespace'::regclass
  ORDER BY nspname;

SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name, d.description
  FROM pg_catalog.pg_type t
  LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid=t.typelem
  LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid=t.typrelid
  LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid=d.objoid
  WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C');

SELECT c.oid,c.*,d.description,pg_catalog.pg_get_expr(c.relpartbound, c.oid) as partition_expr, pg_catalog.pg_get_partkeydef(c.oid) as partition_key
  FROM pg_catalog.pg_class c
  LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_class'::regclass
  WHERE c.relkind not in ('i','I','c');

SELECT c.relname,a.*,pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value,dsc.description,dep.objid
  FROM pg_catalog.pg_attribute a
  INNER JOIN pg_catalog.pg_class c ON (a.attrelid=c.oid)
  LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid=ad.adrelid AND a.attnum = ad.adnum)
  LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid)
  LEFT OUTER JOIN pg_depend dep on dep.refobjid = a.attrelid AND dep.deptype = 'i' and dep.refobjsubid = a.attnum and dep.classid = dep.refclassid
  WHERE NOT a.attisdropped AND c.oid='t'::regclass
  ORDER BY a.attnum;

SELECT current_schema(),session_user;

SHOW search_path;
