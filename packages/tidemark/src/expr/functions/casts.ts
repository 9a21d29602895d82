/**
 * Casts and canonical forms as functions, derived from the tables of `repr`. `cast_a_b` is the cast that a user
 * writes; `assign_a_b`, where it differs, the one that an assignment implies: text that is too long for `varchar(n)`
 * or `char(n)` is an error there and cut here. Lengths and precisions come with the type of the call.
 */
import { canonColumn } from '../../repr/canon.ts';
import { type Cast, castColumn, findCast } from '../../repr/casts.ts';
import { type SqlType, TYPES, type TypeName, type } from '../../repr/types.ts';
import { formatContext } from '../context.ts';
import { evalErrorOf } from '../eval-error.ts';
import type { FunctionDef, Kernel, Pattern } from '../functions.ts';
import { define } from './define.ts';

type Parameterised = 'array' | 'list' | 'record';
const NAMES = Object.keys(TYPES) as TypeName[];
const isPlain = (n: TypeName): n is Exclude<TypeName, Parameterised> =>
  n !== 'array' && n !== 'list' && n !== 'record';

/** Stands for the element or fields while the table is made; the call's types decide. */
const sample = (n: TypeName): SqlType =>
  n === 'array' || n === 'list'
    ? { name: n, elem: type('text') }
    : n === 'record'
      ? { name: n, fields: [] }
      : type(n);

const patternOf = (n: TypeName): Pattern =>
  n === 'array' ? 'anyarray' : n === 'list' ? 'anylist' : n === 'record' ? 'any' : n;

const kernelOf = (explicit: boolean): Kernel => {
  // A plan holds its types once, so the pair of objects names the cast.
  const found = new WeakMap<SqlType, WeakMap<SqlType, Cast>>();
  const castOf = (from: SqlType, to: SqlType): Cast => {
    let row = found.get(from);
    if (row === undefined) {
      row = new WeakMap();
      found.set(from, row);
    }
    let cast = row.get(to);
    if (cast === undefined) {
      cast = findCast(from, to, explicit)!;
      row.set(to, cast);
    }
    return cast;
  };
  return ({ args, argTypes, type: to, context, fail }) => {
    const { column, errors } = castColumn(castOf(argTypes[0]!, to), args[0]!.column, formatContext(context));
    for (const { row, error } of errors) fail(row, evalErrorOf(error));
    return column;
  };
};

const explicitKernel = kernelOf(true);
const assignKernel = kernelOf(false);

/** Casts that keep every cell or only widen it. */
const WIDENINGS = new Set<string>(
  'int2>int4 int2>int8 int4>int8 int2>float4 int2>float8 int4>float8 int2>numeric int4>numeric int8>numeric int8>float8 uint2>uint4 uint2>uint8 uint4>uint8 uint2>int4 uint2>int8 uint4>int8'.split(
    ' ',
  ),
);
/** Casts whose outcome depends on the session's time zone. */
const zoned = (from: TypeName, to: TypeName): boolean =>
  from === 'timestamptz' ? to !== 'mz_timestamp' : to === 'timestamptz' && from !== 'mz_timestamp';

const STRINGS = new Set<TypeName>(['text', 'varchar', 'bpchar']);
const NULLABLE = new Set<TypeName>(['jsonb', 'timestamp', 'timestamptz']);

function castsBetween(from: TypeName, to: TypeName): FunctionDef[] {
  const cast = findCast(sample(from), sample(to), true);
  if (cast === undefined) return [];
  const identity = cast.binary && from === to;
  // The string types print whatever comes; all but widenings may meet a value that the target cannot hold.
  const fallible = !(
    WIDENINGS.has(`${from}>${to}`) ||
    (to === 'text' && from !== 'unknown') ||
    (cast.binary && to !== 'varchar' && to !== 'array' && to !== 'list' && !identity)
  );
  const row = (id: string, kernel: Kernel): FunctionDef =>
    define(id, null, [patternOf(from)], patternOf(to), kernel, `Cast of ${from} to ${to}.`, {
      fallible,
      nullable: NULLABLE.has(from),
      volatility:
        zoned(from, to) || from === 'record' || from === 'array' || from === 'list' ? 'stable' : 'immutable',
    });
  const out = [row(`cast_${from}_${to}`, explicitKernel)];
  if (STRINGS.has(to) || to === 'array' || to === 'list') out.push(row(`assign_${from}_${to}`, assignKernel));
  return out;
}

/** The function of a cast, undefined where there is none. Same type in and out: only a modifier changes. */
export function castFunctionId(from: SqlType, to: SqlType, explicit: boolean): string | undefined {
  if (findCast(from, to, explicit) === undefined) return undefined;
  const assigned = !explicit && (STRINGS.has(to.name) || to.name === 'array' || to.name === 'list');
  return `${assigned ? 'assign' : 'cast'}_${from.name}_${to.name}`;
}

const canonical: FunctionDef[] = NAMES.filter((n) => TYPES[n].canon || n === 'record').map((n) =>
  define(
    `canon_${n}`,
    null,
    [patternOf(n)],
    isPlain(n) ? n : patternOf(n),
    ({ args, argTypes }) => canonColumn(argTypes[0]!, args[0]!.column),
    `The form of a ${n} in which equal values have equal bytes.`,
  ),
);

/** The function that brings a value of the type to canonical form; the caller has asked `needsCanon`. */
export const canonFunctionId = (t: SqlType): string => `canon_${t.name}`;

export const CAST_FUNCTIONS: readonly FunctionDef[] = [
  ...NAMES.flatMap((from) => NAMES.flatMap((to) => castsBetween(from, to))),
  ...canonical,
];
