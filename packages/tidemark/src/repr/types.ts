/**
 * SQL types as one table of literals: name, OID, physical kind, category. Everything that asks about a type
 * (catalog, wire, casts, planner) derives from here.
 *
 * Identity and equality. The engine compares, hashes and consolidates values by their *bytes*: two rows are one
 * row iff all their columns are byte-identical. For most types that is SQL equality. Where SQL calls different
 * bytes equal (numeric 1.0 and 1.00, float8 0 and -0, interval '1 day' and '24 hours'), the type says
 * `canon: true`, and the planner wraps a value that becomes a join, grouping or distinct key in the canonical
 * form of its type. So kernels need one notion of equality, and a retraction always finds its row.
 */

/**
 * Physical kind of a column.
 * - `bool`: one byte, 0 or 1
 * - `i32`: Int32Array (int2, int4, uint2, date = days since 1970-01-01)
 * - `i64`: little-endian 64-bit pairs in an Int32Array (int8, uint8, timestamp[tz] = µs since 1970-01-01Z)
 * - `f64`: Float64Array (float4/8; oid, uint4 and mz_timestamp as exact integers)
 * - `bytes`: offsets and data (text family, bytea, uuid, numeric, interval, jsonb, arrays, lists)
 */
export type Kind = 'bool' | 'i32' | 'i64' | 'f64' | 'bytes';

/** PostgreSQL's type category letter, which drives operator and function resolution. */
export type Category = 'B' | 'N' | 'S' | 'D' | 'T' | 'A' | 'U' | 'X' | 'P';

interface TypeRow {
  readonly oid: number;
  readonly arrayOid: number;
  readonly kind: Kind;
  readonly category: Category;
  /** As pg_type.typlen: bytes, or -1 for variable. */
  readonly len: number;
  /** SQL equality is coarser than byte identity. */
  readonly canon: boolean;
  /** The name that format_type and error messages use. */
  readonly sqlName: string;
  readonly preferred?: true;
}

const row = (
  oid: number,
  arrayOid: number,
  kind: Kind,
  category: Category,
  len: number,
  sqlName: string,
  more: { canon?: true; preferred?: true } = {},
): TypeRow => ({
  oid,
  arrayOid,
  kind,
  category,
  len,
  sqlName,
  canon: more.canon ?? false,
  ...(more.preferred && { preferred: true }),
});

/** Key = the internal name (pg_type.typname). OIDs of PostgreSQL; of the field's streaming databases for uint and mz_timestamp. */
export const TYPES = {
  bool: row(16, 1000, 'bool', 'B', 1, 'boolean', { preferred: true }),
  int2: row(21, 1005, 'i32', 'N', 2, 'smallint'),
  int4: row(23, 1007, 'i32', 'N', 4, 'integer'),
  int8: row(20, 1016, 'i64', 'N', 8, 'bigint'),
  uint2: row(16460, 16461, 'i32', 'U', 2, 'uint2'),
  uint4: row(16462, 16463, 'f64', 'U', 4, 'uint4'),
  uint8: row(16464, 16465, 'i64', 'U', 8, 'uint8'),
  float4: row(700, 1021, 'f64', 'N', 4, 'real', { canon: true }),
  float8: row(701, 1022, 'f64', 'N', 8, 'double precision', { canon: true, preferred: true }),
  numeric: row(1700, 1231, 'bytes', 'N', -1, 'numeric', { canon: true }),
  text: row(25, 1009, 'bytes', 'S', -1, 'text', { preferred: true }),
  varchar: row(1043, 1015, 'bytes', 'S', -1, 'character varying'),
  bpchar: row(1042, 1014, 'bytes', 'S', -1, 'character', { canon: true }),
  name: row(19, 1003, 'bytes', 'S', 64, 'name'),
  char: row(18, 1002, 'bytes', 'S', 1, '"char"'),
  bytea: row(17, 1001, 'bytes', 'U', -1, 'bytea'),
  date: row(1082, 1182, 'i32', 'D', 4, 'date'),
  time: row(1083, 1183, 'i64', 'D', 8, 'time without time zone'),
  timestamp: row(1114, 1115, 'i64', 'D', 8, 'timestamp without time zone'),
  timestamptz: row(1184, 1185, 'i64', 'D', 8, 'timestamp with time zone', { preferred: true }),
  interval: row(1186, 1187, 'bytes', 'T', 16, 'interval', { canon: true, preferred: true }),
  uuid: row(2950, 2951, 'bytes', 'U', 16, 'uuid'),
  jsonb: row(3802, 3807, 'bytes', 'U', -1, 'jsonb', { canon: true }),
  oid: row(26, 1028, 'f64', 'N', 4, 'oid', { preferred: true }),
  regclass: row(2205, 2210, 'f64', 'N', 4, 'regclass'),
  regtype: row(2206, 2211, 'f64', 'N', 4, 'regtype'),
  regproc: row(24, 1008, 'f64', 'N', 4, 'regproc'),
  regnamespace: row(4089, 4090, 'f64', 'N', 4, 'regnamespace'),
  mz_timestamp: row(16552, 16553, 'f64', 'U', 8, 'mz_timestamp'),
  /** Result of a function with nothing to say; NULL literals and untyped string literals bind as `unknown`. */
  void: row(2278, 0, 'i32', 'P', 4, 'void'),
  unknown: row(705, 0, 'bytes', 'X', -2, 'unknown'),
  record: row(2249, 2287, 'bytes', 'P', -1, 'record'),
  /** Parameterised by `elem`; the array's own OID is the element's `arrayOid`. */
  array: row(0, 0, 'bytes', 'A', -1, 'array', { canon: true }),
  list: row(16384, 0, 'bytes', 'A', -1, 'list', { canon: true }),
} as const satisfies Record<string, TypeRow>;

export type TypeName = keyof typeof TYPES;

/** A type as expressions and columns carry it. */
export interface SqlType {
  readonly name: TypeName;
  /** Element type of `array` and `list`. */
  readonly elem?: SqlType;
  /** Field types of `record`. */
  readonly fields?: readonly SqlType[];
  /** As pg_attribute.atttypmod without its offset: numeric (precision << 16 | scale), varchar/bpchar length, (timestamp precision). Absent = none. */
  readonly typmod?: number;
}

const simple = new Map<TypeName, SqlType>();
for (const name of Object.keys(TYPES) as TypeName[]) simple.set(name, Object.freeze({ name }));

/** The type without parameters; always the same object. */
export function type(name: TypeName): SqlType {
  return simple.get(name)!;
}
export const arrayOf = (elem: SqlType): SqlType => ({ name: 'array', elem });
export const listOf = (elem: SqlType): SqlType => ({ name: 'list', elem });

export const kindOf = (t: SqlType): Kind => TYPES[t.name].kind;

export function sameType(a: SqlType, b: SqlType): boolean {
  if (a.name !== b.name) return false;
  if (a.elem !== undefined || b.elem !== undefined)
    return a.elem !== undefined && b.elem !== undefined && sameType(a.elem, b.elem);
  return true;
}

/** Whether a key of this type must be brought to canonical form first (see the head of this file). */
export function needsCanon(t: SqlType): boolean {
  if (t.name === 'array' || t.name === 'list') return needsCanon(t.elem!);
  if (t.name === 'record') return t.fields?.some(needsCanon) ?? false;
  // A declared scale makes every value of the column carry the same one.
  if (t.name === 'numeric') return t.typmod === undefined;
  return TYPES[t.name].canon;
}

/** The modifier that goes on the wire and into pg_attribute; -1 where there is none. Times count no header in. */
export function typmodOf(t: SqlType): number {
  if (t.typmod === undefined) return -1;
  return TYPES[t.name].category === 'D' || t.name === 'interval' ? t.typmod : t.typmod + 4;
}

/** The OID that goes on the wire and into pg_attribute. */
export function oidOf(t: SqlType): number {
  if (t.name === 'array') return TYPES[t.elem!.name].arrayOid;
  return TYPES[t.name].oid;
}

const byOid = new Map<number, SqlType>();
for (const [name, r] of Object.entries(TYPES) as [TypeName, TypeRow][]) {
  if (r.oid !== 0) byOid.set(r.oid, type(name));
  if (r.arrayOid !== 0) byOid.set(r.arrayOid, arrayOf(type(name)));
}
export const typeByOid = (oid: number): SqlType | undefined => byOid.get(oid);

/** As format_type prints it: `numeric(10,2)`, `integer[]`, `text list`. */
export function typeToString(t: SqlType): string {
  if (t.name === 'array') return `${typeToString(t.elem!)}[]`;
  if (t.name === 'list') return `${typeToString(t.elem!)} list`;
  const base = TYPES[t.name].sqlName;
  if (t.typmod === undefined) return base;
  if (t.name === 'numeric') return `numeric(${t.typmod >> 16},${((t.typmod & 0x7ff) ^ 1024) - 1024})`; // the scale has a sign in 11 bits
  if (t.name === 'varchar' || t.name === 'bpchar') return `${base}(${t.typmod})`;
  if (t.name === 'time' || t.name === 'timestamp' || t.name === 'timestamptz')
    return base.replace(' ', `(${t.typmod}) `);
  return base;
}

/** A column of a relation. */
export interface ColumnDesc {
  readonly name: string;
  readonly type: SqlType;
  readonly nullable: boolean;
}

/** Shape of a relation: columns and the keys that are promised (each a list of column positions). */
export interface RelationDesc {
  readonly columns: readonly ColumnDesc[];
  readonly keys: readonly (readonly number[])[];
}

/**
 * One value outside a column: literals, parameters, rows in tests. bool: boolean; kinds i32 and f64: number;
 * int8, uint8, time, timestamp[tz]: bigint; text family and jsonb (its canonical text): string; uuid: its text;
 * bytea: Uint8Array; numeric, interval, arrays and records: the classes of their modules.
 */
export type Datum = null | boolean | number | bigint | string | Uint8Array | object;
export type Row = readonly Datum[];
