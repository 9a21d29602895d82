/**
 * The cast table: which type becomes which, in what context, and how. `findCast` also derives what PostgreSQL
 * derives: text to and from everything through the types' text forms, arrays element by element, the length and
 * precision of the target.
 *
 * Rounding: float to integer half to even, numeric to integer half away from zero. A value that the target cannot
 * hold is an error of its row (22003 and its kin), never a wrap.
 */
import { SqlError } from '../base/error.ts';
import { SqlArray, SqlList } from './array.ts';
import { numberKernel } from './cast-kernels.ts';
import { CASTS, type CastContext, type CastFunction, type CastRow } from './cast-table.ts';
import { type Column, ColumnBuilder, i64ToNumber, isNull } from './column.ts';
import { datumAt, pushDatum } from './datum.ts';
import { type FormatContext, parseText, textOf } from './format.ts';
import { type Datum, kindOf, type SqlType, sameType, type TypeName } from './types.ts';
import { applyTypmod } from './typmod.ts';

export type { CastContext };

export interface Cast {
  readonly from: SqlType;
  readonly to: SqlType;
  /** The weakest context in which it applies. */
  readonly context: CastContext;
  /** The cells stay as they are. */
  readonly binary: boolean;
  /** Of a datum that is not NULL; `explicit` decides what happens to text that is too long. */
  readonly apply: (d: Datum, ctx: FormatContext) => Datum;
}

const STRENGTH: Record<CastContext, number> = { implicit: 0, assignment: 1, explicit: 2 };

/** Whether a cast of context `weakest` may be used where `wanted` is written. */
export const castAllowed = (weakest: CastContext, wanted: CastContext): boolean =>
  STRENGTH[weakest] <= STRENGTH[wanted];

const key = (from: TypeName, to: TypeName): string => `${from}>${to}`;
const table = new Map<string, CastRow>();
for (const r of CASTS) table.set(key(r[0], r[1]), r);

const isText = (t: SqlType): boolean =>
  t.name === 'text' || t.name === 'varchar' || t.name === 'bpchar' || t.name === 'name';

/** The cast without the target's typmod; undefined when there is none. */
function baseCast(from: SqlType, to: SqlType): { context: CastContext; fn: CastFunction | null } | undefined {
  if (sameType(from, to)) return { context: 'implicit', fn: null };
  if (from.name === 'unknown') return { context: 'implicit', fn: throughText(from, to) };
  const r = table.get(key(from.name, to.name));
  if (r !== undefined) return { context: r[2], fn: r[3] };
  if ((from.name === 'array' && to.name === 'array') || (from.name === 'list' && to.name === 'list')) {
    const elem = baseCast(from.elem!, to.elem!);
    if (elem === undefined) return undefined;
    return { context: elem.context, fn: elementwise(elem.fn) };
  }
  if (from.name === 'array' && to.name === 'list') {
    const elem = baseCast(from.elem!, to.elem!);
    if (elem === undefined) return undefined;
    const items = elementwise(elem.fn);
    return { context: 'explicit', fn: (d, ctx) => new SqlList((items(d, ctx) as SqlArray).items) };
  }
  if (from.name === 'void' || to.name === 'void') return undefined;
  // Input and output functions cast to and from the string types: out by assignment, in only when asked.
  if (isText(to)) return { context: 'assignment', fn: throughText(from, to) };
  if (isText(from) && to.name !== 'record') return { context: 'explicit', fn: throughText(from, to) };
  return undefined;
}

function throughText(from: SqlType, to: SqlType): CastFunction {
  const bare: SqlType = to.typmod === undefined ? to : withoutTypmod(to);
  return (d, ctx) => parseText(bare, textOf(from, d, ctx), ctx);
}

function withoutTypmod(t: SqlType): SqlType {
  const { typmod: _, ...rest } = t;
  return rest;
}

function elementwise(fn: CastFunction | null): CastFunction {
  if (fn === null) return (d) => d;
  return (d, ctx) => {
    const each = (x: Datum): Datum => (x === null ? null : fn(x, ctx));
    if (d instanceof SqlList) return new SqlList(d.items.map(each));
    const a = d as SqlArray;
    return new SqlArray(a.dims, a.lowers, a.items.map(each));
  };
}

/**
 * The cast from one type to another; undefined if there is none. `explicit` says that the user wrote it, which
 * matters to `varchar(n)` and `char(n)`.
 */
export function findCast(from: SqlType, to: SqlType, explicit = true): Cast | undefined {
  const base = baseCast(from, to);
  if (base === undefined) return undefined;
  const target = to.elem ?? to;
  const source = from.elem ?? from;
  const bound = target.typmod !== undefined && !(sameType(from, to) && source.typmod === target.typmod);
  const { context, fn } = base;
  if (fn === null && !bound) return { from, to, context, binary: true, apply: (d) => d };
  const limit: CastFunction = bound ? elementLimit(to, explicit) : (d) => d;
  return {
    from,
    to,
    context,
    binary: false,
    apply: fn === null ? limit : bound ? (d, ctx) => limit(fn(d, ctx), ctx) : fn,
  };
}

function elementLimit(to: SqlType, explicit: boolean): CastFunction {
  if (to.elem === undefined) return (d) => applyTypmod(to, d, explicit);
  return elementwise((d) => applyTypmod(to.elem!, d, explicit));
}

// --- columns

export interface CastResult {
  readonly column: Column;
  /** Rows that failed, ascending; their cells are NULL. */
  readonly errors: readonly { readonly row: number; readonly error: SqlError }[];
}

const NO_ERRORS: CastResult['errors'] = [];

/** The whole column; `cast-kernels.ts` has the pairs that need no datums. */
export function castColumn(cast: Cast, c: Column, ctx: FormatContext): CastResult {
  if (cast.binary) return { column: c, errors: NO_ERRORS };
  const kernel = cast.to.typmod === undefined ? numberKernel(cast.from.name, cast.to.name) : undefined;
  const b = new ColumnBuilder(kindOf(cast.to), c.length);
  const errors: { row: number; error: SqlError }[] = [];
  const wide = c.kind === 'i64';
  for (let i = 0; i < c.length; i++) {
    if (isNull(c, i)) {
      b.pushNull();
      continue;
    }
    if (kernel?.(wide ? i64ToNumber(c.values as Int32Array, i) : c.values[i]!, b)) continue;
    try {
      pushDatum(cast.to, b, cast.apply(datumAt(cast.from, c, i), ctx));
    } catch (e) {
      if (!(e instanceof SqlError)) throw e;
      errors.push({ row: i, error: e });
      b.pushNull();
    }
  }
  return { column: b.finish(), errors: errors.length === 0 ? NO_ERRORS : errors };
}
