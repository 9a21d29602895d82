/** Arrays and lists: subscripts, building, searching, and ANY and ALL over an array. */
import { SqlError } from '../../base/error.ts';
import { EMPTY_ARRAY, SqlArray, type SqlList, SqlRecord } from '../../repr/array.ts';
import { datumComparator } from '../../repr/compare.ts';
import { textOf } from '../../repr/format.ts';
import { arrayOf, type Datum, type SqlType, type } from '../../repr/types.ts';
import { formatContext } from '../context.ts';
import type { FunctionDef } from '../functions.ts';
import type { RowCall } from '../kernels/per-row.ts';
import { FAILS, MAYBE, type Options, rowFunction } from './define.ts';

const LOOSE: Options = { strict: false };
const LOOSE_FAILS: Options = { strict: false, fallible: true };

const equalityOf = (elem: SqlType): ((a: Datum, b: Datum) => boolean) => {
  const compare = datumComparator(elem);
  return (a, b) => (a === null || b === null ? a === b : compare(a, b) === 0);
};

const notOneDimension = (what: string): SqlError =>
  new SqlError('feature_not_supported', `${what} in multidimensional arrays is not supported`);

/** The element at subscripts, NULL outside or where their number is not that of the dimensions. */
function subscript([array, ...at]: readonly Datum[]): Datum {
  const { dims, lowers, items } = array as SqlArray;
  if (at.length !== dims.length) return null;
  let index = 0;
  for (let d = 0; d < dims.length; d++) {
    const i = (at[d] as number) - lowers[d]!;
    if (i < 0 || i >= dims[d]!) return null;
    index = index * dims[d]! + i;
  }
  return items[index]!;
}

/** `a[from:to]` of one dimension; the result starts at 1. NULL bounds have been told apart by the arguments. */
function slice(a: SqlArray, from: number | null, to: number | null): SqlArray {
  if (a.dims.length === 0) return EMPTY_ARRAY;
  if (a.dims.length > 1) throw notOneDimension('slicing');
  const low = a.lowers[0]!;
  const start = Math.max((from ?? low) - low, 0);
  const end = to === null ? a.items.length : Math.min(to - low + 1, a.items.length);
  return SqlArray.of(start < end ? a.items.slice(start, end) : []);
}

function concatArrays(a: SqlArray | null, b: SqlArray | null): SqlArray | null {
  if (a === null || a.dims.length === 0) return b === null ? a : b;
  if (b === null || b.dims.length === 0) return a;
  const mismatch = (detail: string): SqlError =>
    new SqlError('array_subscript_error', 'cannot concatenate incompatible arrays', { detail });
  const inner = (x: SqlArray, from: number): string => x.dims.slice(from).join();
  if (a.dims.length === b.dims.length) {
    if (inner(a, 1) !== inner(b, 1))
      throw mismatch('Arrays with differing element dimensions are not compatible for concatenation.');
    return new SqlArray([a.dims[0]! + b.dims[0]!, ...a.dims.slice(1)], a.lowers, [...a.items, ...b.items]);
  }
  const [outer, one, first] = a.dims.length > b.dims.length ? [a, b, true] : [b, a, false];
  if (outer.dims.length !== one.dims.length + 1)
    throw mismatch(
      `Arrays of ${a.dims.length} and ${b.dims.length} dimensions are not compatible for concatenation.`,
    );
  if (inner(outer, 1) !== one.dims.join())
    throw mismatch('Arrays with differing dimensions are not compatible for concatenation.');
  const items = first ? [...a.items, ...b.items] : [...one.items, ...outer.items];
  return new SqlArray([outer.dims[0]! + 1, ...outer.dims.slice(1)], outer.lowers, items);
}

function append(a: SqlArray | null, x: Datum): SqlArray {
  if (a === null || a.dims.length === 0) return SqlArray.of([x]);
  if (a.dims.length > 1)
    throw new SqlError('data_exception', 'argument must be empty or one-dimensional array');
  return new SqlArray([a.dims[0]! + 1], a.lowers, [...a.items, x]);
}
function prepend(x: Datum, a: SqlArray | null): SqlArray {
  if (a === null || a.dims.length === 0) return SqlArray.of([x]);
  if (a.dims.length > 1)
    throw new SqlError('data_exception', 'argument must be empty or one-dimensional array');
  return new SqlArray([a.dims[0]! + 1], a.lowers, [x, ...a.items]);
}

/** `ARRAY[…]`: of arrays, one dimension more. */
function makeArray(items: readonly Datum[], call: RowCall): SqlArray {
  if (call.argTypes[0]?.name !== 'array') return SqlArray.of([...items]);
  const parts = items.map((x) => (x === null ? EMPTY_ARRAY : (x as SqlArray)));
  const first = parts[0]!;
  if (parts.some((p) => p.dims.join() !== first.dims.join()))
    throw new SqlError(
      'array_subscript_error',
      'multidimensional arrays must have array expressions with matching dimensions',
    );
  if (first.dims.length === 0) return EMPTY_ARRAY;
  const dims = [parts.length, ...first.dims];
  return new SqlArray(
    dims,
    dims.map(() => 1),
    parts.flatMap((p) => p.items),
  );
}

const elementType = (args: readonly SqlType[]): SqlType => args[0]!.elem ?? type('text');

function position(a: SqlArray, x: Datum, elem: SqlType, from = a.lowers[0] ?? 1): Datum {
  if (a.dims.length > 1) throw notOneDimension('searching for elements');
  const equal = equalityOf(elem);
  const low = a.lowers[0] ?? 1;
  for (let i = Math.max(from - low, 0); i < a.items.length; i++) if (equal(a.items[i]!, x)) return i + low;
  return null;
}

const contains = (a: SqlArray, b: SqlArray, elem: SqlType): boolean => {
  const equal = equalityOf(elem);
  return b.items.every((y) => y !== null && a.items.some((x) => x !== null && equal(x, y)));
};

const toText = (
  separator: string,
  whenNull: string | null,
  a: SqlArray | SqlList,
  call: RowCall,
  elem: SqlType,
): string =>
  a.items
    .flatMap((x) =>
      x === null ? (whenNull === null ? [] : [whenNull]) : [textOf(elem, x, formatContext(call.context))],
    )
    .join(separator);

/** `string_to_array`; a NULL delimiter splits into characters, an empty one not at all. */
export function splitText(s: string, delimiter: string | null, whenNull: string | null): Datum[] {
  if (s === '') return [];
  const parts = delimiter === null ? [...s] : delimiter === '' ? [s] : s.split(delimiter);
  return parts.map((p) => (whenNull !== null && p === whenNull ? null : p));
}

const subscripts: FunctionDef[] = [1, 2, 3, 4, 5, 6].map((n) =>
  rowFunction(
    `array_get_${n}`,
    'array_get',
    ['anyarray', ...new Array<'int4'>(n).fill('int4')],
    'anyelement',
    subscript,
    'The element at subscripts, counted from the lower bounds.',
    MAYBE,
  ),
);

const measures: FunctionDef[] = (
  [
    ['array_length', (a: SqlArray, d: number) => a.dims[d], 'Length of a dimension.'],
    ['array_lower', (a: SqlArray, d: number) => a.lowers[d], 'Lower bound of a dimension.'],
    [
      'array_upper',
      (a: SqlArray, d: number) => (d < a.dims.length ? a.lowers[d]! + a.dims[d]! - 1 : undefined),
      'Upper bound of a dimension.',
    ],
  ] as const
).map(([name, f, doc]) =>
  rowFunction(
    name,
    name,
    ['anyarray', 'int4'],
    'int4',
    ([a, d]) => (d < 1 ? null : (f(a, d - 1) ?? null)),
    doc,
    MAYBE,
  ),
);

const constructors: FunctionDef[] = [
  rowFunction(
    'make_array',
    'make_array',
    [],
    (args) => (args[0]?.name === 'array' ? args[0] : arrayOf(args[0] ?? type('text'))),
    (items, call) => makeArray(items, call),
    'An array of the arguments.',
    { variadic: 'anycompatible', strict: false, fallible: true, nullable: false },
  ),
  rowFunction(
    'make_record',
    'make_record',
    [],
    (args) => ({ name: 'record', fields: args }),
    (items) => new SqlRecord([...items]),
    'A row of the arguments.',
    { variadic: 'any', strict: false, nullable: false },
  ),
];

export const ARRAYS: readonly FunctionDef[] = [
  ...subscripts,
  ...measures,
  ...constructors,
  ...(
    [
      ['array_slice', true, true],
      ['array_slice_from', true, false],
      ['array_slice_to', false, true],
    ] as const
  ).map(([id, from, to]) =>
    rowFunction(
      id,
      id,
      ['anyarray', ...(from ? (['int4'] as const) : []), ...(to ? (['int4'] as const) : [])],
      'anyarray',
      ([a, x, y]) => (from ? slice(a, x, to ? y : null) : slice(a, null, x)),
      'The elements between subscripts.',
      FAILS,
    ),
  ),
  rowFunction(
    'array_ndims',
    'array_ndims',
    ['anyarray'],
    'int4',
    ([a]) => a.dims.length || null,
    'Number of dimensions.',
    MAYBE,
  ),
  rowFunction(
    'cardinality',
    'cardinality',
    ['anyarray'],
    'int4',
    ([a]) => a.items.length,
    'Number of elements.',
  ),
  rowFunction(
    'array_position',
    'array_position',
    ['anycompatiblearray', 'anycompatible'],
    'int4',
    ([a, x], c) => (a === null ? null : position(a, x, elementType(c.argTypes))),
    'Subscript of the first element equal to the second argument.',
    LOOSE_FAILS,
  ),
  rowFunction(
    'array_position_from',
    'array_position',
    ['anycompatiblearray', 'anycompatible', 'int4'],
    'int4',
    ([a, x, from], c) => {
      if (from === null) throw new SqlError('null_value_not_allowed', 'initial position must not be null');
      return a === null ? null : position(a, x, elementType(c.argTypes), from);
    },
    'The same from a subscript on.',
    LOOSE_FAILS,
  ),
  rowFunction(
    'array_positions',
    'array_positions',
    ['anycompatiblearray', 'anycompatible'],
    'int4[]',
    ([a, x], c) => {
      if (a === null) return null;
      if (a.dims.length > 1) throw notOneDimension('searching for elements');
      const equal = equalityOf(elementType(c.argTypes));
      const low = a.lowers[0] ?? 1;
      return SqlArray.of((a as SqlArray).items.flatMap((y, i) => (equal(y, x) ? [i + low] : [])));
    },
    'Subscripts of all elements equal to the second argument.',
    LOOSE_FAILS,
  ),
  ...(['array_cat', '||'] as const).map((name) =>
    rowFunction(
      name === '||' ? 'concat_array_array' : name,
      name,
      ['anycompatiblearray', 'anycompatiblearray'],
      'anycompatiblearray',
      ([a, b]) => concatArrays(a, b),
      'Both joined.',
      LOOSE_FAILS,
    ),
  ),
  ...(['array_append', '||'] as const).map((name) =>
    rowFunction(
      name === '||' ? 'concat_array_element' : name,
      name,
      ['anycompatiblearray', 'anycompatible'],
      'anycompatiblearray',
      ([a, x]) => append(a, x),
      'With an element at the end.',
      { ...LOOSE_FAILS, nullable: false },
    ),
  ),
  ...(['array_prepend', '||'] as const).map((name) =>
    rowFunction(
      name === '||' ? 'concat_element_array' : name,
      name,
      ['anycompatible', 'anycompatiblearray'],
      'anycompatiblearray',
      ([x, a]) => prepend(x, a),
      'With an element at the start.',
      { ...LOOSE_FAILS, nullable: false },
    ),
  ),
  rowFunction(
    'array_remove',
    'array_remove',
    ['anycompatiblearray', 'anycompatible'],
    'anycompatiblearray',
    ([a, x], c) => {
      if (a === null) return null;
      if (a.dims.length > 1) throw notOneDimension('removing elements');
      const equal = equalityOf(elementType(c.argTypes));
      const items = (a as SqlArray).items.filter((y) => !equal(y, x));
      return items.length === 0 ? EMPTY_ARRAY : new SqlArray([items.length], a.lowers, items);
    },
    'Without the elements equal to the second argument.',
    LOOSE_FAILS,
  ),
  rowFunction(
    'array_replace',
    'array_replace',
    ['anycompatiblearray', 'anycompatible', 'anycompatible'],
    'anycompatiblearray',
    ([a, x, y], c) => {
      if (a === null) return null;
      const equal = equalityOf(elementType(c.argTypes));
      return new SqlArray(
        a.dims,
        a.lowers,
        (a as SqlArray).items.map((v) => (equal(v, x) ? y : v)),
      );
    },
    'Every element equal to the second argument replaced by the third.',
    LOOSE,
  ),
  ...(
    [
      [
        'contains_array_array',
        '@>',
        (a: SqlArray, b: SqlArray, t: SqlType) => contains(a, b, t),
        'Whether every element of the second is in the first.',
      ],
      [
        'contained_array_array',
        '<@',
        (a: SqlArray, b: SqlArray, t: SqlType) => contains(b, a, t),
        'Whether every element of the first is in the second.',
      ],
      [
        'overlaps_array_array',
        '&&',
        (a: SqlArray, b: SqlArray, t: SqlType) => {
          const equal = equalityOf(t);
          return a.items.some((x) => x !== null && b.items.some((y) => y !== null && equal(x, y)));
        },
        'Whether both share an element.',
      ],
    ] as const
  ).map(([id, symbol, f, doc]) =>
    rowFunction(
      id,
      symbol,
      ['anyarray', 'anyarray'],
      'bool',
      ([a, b], c) => f(a, b, elementType(c.argTypes)),
      doc,
    ),
  ),
  rowFunction(
    'array_to_string',
    'array_to_string',
    ['anyarray', 'text'],
    'text',
    ([a, s], c) => toText(s, null, a, c, elementType(c.argTypes)),
    'The texts of the elements joined; NULLs are left out.',
    { volatility: 'stable' },
  ),
  rowFunction(
    'array_to_string_null',
    'array_to_string',
    ['anyarray', 'text', 'text'],
    'text',
    ([a, s, n], c) => (a === null || s === null ? null : toText(s, n, a, c, elementType(c.argTypes))),
    'The same with a text for NULL.',
    { strict: false, volatility: 'stable' },
  ),
  rowFunction(
    'string_to_array',
    'string_to_array',
    ['text', 'text'],
    'text[]',
    ([s, d]) => (s === null ? null : SqlArray.of(splitText(s, d, null))),
    'The parts between delimiters.',
    LOOSE,
  ),
  rowFunction(
    'string_to_array_null',
    'string_to_array',
    ['text', 'text', 'text'],
    'text[]',
    ([s, d, n]) => (s === null ? null : SqlArray.of(splitText(s, d, n))),
    'The same, with a text that stands for NULL.',
    LOOSE,
  ),
  rowFunction(
    'trim_array',
    'trim_array',
    ['anyarray', 'int4'],
    'anyarray',
    ([a, n]) => {
      if (n < 0 || n > (a.dims[0] ?? 0))
        throw new SqlError(
          'array_subscript_error',
          `number of elements to trim must be between 0 and ${a.dims[0] ?? 0}`,
        );
      return slice(a, null, (a.lowers[0] ?? 1) + (a.dims[0] ?? 0) - 1 - n);
    },
    'Without the last elements.',
    FAILS,
  ),
];
