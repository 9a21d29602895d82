/**
 * How builtin relations are declared: one literal each, from which items, OIDs, `\d` text, rows and docs derive.
 * Builtins are derived at start and never stored, so adding one needs no migration. Numbers and OIDs are explicit and
 * never change; a test pins them.
 */

import { assert } from '../../base/assert.ts';
import { systemOid } from '../../base/ids.ts';
import {
  arrayOf,
  type ColumnDesc,
  type Datum,
  listOf,
  type SqlType,
  TYPES,
  type TypeName,
  type,
} from '../../repr/types.ts';

export type SystemSchema =
  | 'mz_catalog'
  | 'mz_internal'
  | 'mz_introspection'
  | 'pg_catalog'
  | 'information_schema';

/** Ids and OIDs of the system schemas. */
export const SYSTEM_SCHEMAS: Readonly<Record<SystemSchema, { readonly id: string; readonly oid: number }>> = {
  pg_catalog: { id: 's1', oid: 11 },
  mz_catalog: { id: 's2', oid: 16637 },
  mz_internal: { id: 's3', oid: 16638 },
  information_schema: { id: 's4', oid: 16639 },
  mz_introspection: { id: 's5', oid: 16640 },
};

export interface BuiltinColumn extends ColumnDesc {
  readonly doc: string;
}

export interface BuiltinBase {
  readonly schema: SystemSchema;
  readonly name: string;
  /** `s<number>`; never changes. Logs use 1 to 999, tables from 1001, views from 2001. */
  readonly number: number;
  readonly oid: number;
  readonly doc: string;
  readonly columns: readonly BuiltinColumn[];
  readonly keys: readonly (readonly number[])[];
}

/** A view over log relations that every replica keeps up to date, because a dataflow for each query would cost too much. */
export interface IndexedView {
  /** Like a log's: the index is `si<cluster number × 1000 + number>`; from 501, and never changes. */
  readonly number: number;
  readonly by: readonly string[];
}

export interface BuiltinView extends BuiltinBase {
  readonly sql: string;
  readonly indexed?: IndexedView;
}

export type BuiltinRow = readonly Datum[];

function parseType(text: string): SqlType {
  if (text.endsWith('[]')) return arrayOf(parseType(text.slice(0, -2)));
  if (text.endsWith('_list')) return listOf(parseType(text.slice(0, -5)));
  assert(text in TYPES, `a builtin column has a known type: ${text}`);
  return type(text as TypeName);
}

/** `name type`, `name type?` where NULL may stand, then ` | what it means`. */
export function columns(...specs: readonly string[]): readonly BuiltinColumn[] {
  return specs.map((spec) => {
    const [decl, doc = ''] = spec.split(' | ') as [string, string?];
    const [name, t] = decl.split(' ') as [string, string];
    const nullable = t.endsWith('?');
    return { name, type: parseType(nullable ? t.slice(0, -1) : t), nullable, doc };
  });
}

export function keyOf(
  cols: readonly BuiltinColumn[],
  names: readonly string[] | undefined,
): readonly (readonly number[])[] {
  if (names === undefined) return [];
  return [
    names.map((n) => {
      const i = cols.findIndex((c) => c.name === n);
      assert(i >= 0, `a key names a column of its relation: ${n}`);
      return i;
    }),
  ];
}

export function view(
  v: Omit<BuiltinView, 'keys' | 'oid'> & { readonly key?: readonly string[] },
): BuiltinView {
  const { key, ...rest } = v;
  return { ...rest, oid: systemOid(v.number), keys: keyOf(v.columns, key) };
}

/** A relation that is always empty: NULLs of the declared types under a false filter. */
export function emptyView(
  schema: SystemSchema,
  spec: {
    readonly name: string;
    readonly number: number;
    readonly doc: string;
    readonly columns: readonly string[];
  },
): BuiltinView {
  const nulls = spec.columns.map((c) => {
    const [name, t] = c.split(' ') as [string, string];
    return `NULL::${t} AS "${name}"`;
  });
  return view({
    ...spec,
    schema,
    columns: columns(...spec.columns).map((c) => ({ ...c, nullable: true })),
    sql: `SELECT ${nulls.join(', ')} WHERE false`,
  });
}
