/** Lists: one dimension, elements of any type, lists among them. */
import { SqlList } from '../../repr/array.ts';
import { type Datum, listOf, type } from '../../repr/types.ts';
import type { FunctionDef, ResultType } from '../functions.ts';
import { MAYBE, type Options, rowFunction } from './define.ts';

const LOOSE: Options = { strict: false };

const nestedElement: ResultType = (args) => {
  let t = args[0]!;
  for (let k = 1; k < args.length; k++) t = t.elem ?? t;
  return t;
};

export const LISTS: readonly FunctionDef[] = [
  ...[1, 2, 3].map((n) =>
    rowFunction(
      `list_get_${n}`,
      'list_get',
      ['anylist', ...new Array<'int4'>(n).fill('int4')],
      nestedElement,
      ([l, ...at]) => {
        let v: Datum = l;
        for (const i of at) {
          if (v === null) return null;
          v = (v as SqlList).items[i - 1] ?? null;
        }
        return v;
      },
      'The element at positions, from 1.',
      MAYBE,
    ),
  ),
  rowFunction(
    'list_length',
    'list_length',
    ['anylist'],
    'int4',
    ([l]) => l.items.length,
    'Number of elements.',
  ),
  rowFunction(
    'list_append',
    'list_append',
    ['anylist', 'anyelement'],
    'anylist',
    ([l, x]) => new SqlList([...((l as SqlList | null)?.items ?? []), x]),
    'With an element at the end.',
    LOOSE,
  ),
  rowFunction(
    'list_prepend',
    'list_prepend',
    ['anyelement', 'anylist'],
    'anylist',
    ([x, l]) => new SqlList([x, ...((l as SqlList | null)?.items ?? [])]),
    'With an element at the start.',
    LOOSE,
  ),
  ...(
    [
      ['list_cat', 'list_cat'],
      ['concat_list_list', '||'],
    ] as const
  ).map(([id, name]) =>
    rowFunction(
      id,
      name,
      ['anylist', 'anylist'],
      'anylist',
      ([a, b]) => (a === null ? b : b === null ? a : new SqlList([...a.items, ...b.items])),
      'Both joined.',
      LOOSE,
    ),
  ),
  rowFunction(
    'list_slice',
    'list_slice',
    ['anylist', 'int4', 'int4'],
    'anylist',
    ([l, a, b]) => new SqlList(l.items.slice(Math.max(a - 1, 0), Math.max(b, 0))),
    'Elements from one position to another.',
  ),
  rowFunction(
    'make_list',
    'make_list',
    [],
    (args) => listOf(args[0] ?? type('text')),
    (items) => new SqlList([...items]),
    'A list of the arguments.',
    { variadic: 'anycompatible', strict: false, nullable: false },
  ),
];
