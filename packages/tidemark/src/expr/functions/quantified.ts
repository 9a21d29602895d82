/** `x op ANY (array)` and `x op ALL (array)`: functions by the names `op any` and `op all`. */
import type { SqlArray, SqlList } from '../../repr/array.ts';
import { datumComparator } from '../../repr/compare.ts';
import { encodeUtf8 } from '../../repr/text.ts';
import type { Datum } from '../../repr/types.ts';
import type { FunctionDef } from '../functions.ts';
import { type Comparison, SIGN_TEST } from '../kernels/compare.ts';
import type { RowFunction } from '../kernels/per-row.ts';
import { compileLike, compileRegex, matchesLike } from '../text-match.ts';
import { COMPARISONS } from './comparison.ts';
import { type Options, rowFunction } from './define.ts';
import { LIKE_OPERATORS, REGEX_OPERATORS } from './pattern.ts';
import { lower } from './text.ts';

const LOOSE: Options = { strict: false };
const LOOSE_FAILS: Options = { strict: false, fallible: true };

/** Three-valued ANY (a TRUE decides) and ALL (a FALSE decides). */
function quantified(
  all: boolean,
  left: Datum,
  array: SqlArray | SqlList | null,
  holds: (a: Datum, b: Datum) => boolean,
): Datum {
  if (array === null) return null;
  let unknown = false;
  for (const x of array.items) {
    if (left === null || x === null) unknown = true;
    else if (holds(left, x) !== all) return !all;
  }
  return unknown ? null : all;
}

/** `x = ANY (a)` is the function `any_eq`, by the name `= any`. */
export const QUANTIFIED: readonly FunctionDef[] = (['any', 'all'] as const).flatMap((q) => {
  const all = q === 'all';
  const doc = all ? 'Whether it holds for every element.' : 'Whether it holds for some element.';
  const comparisons = (Object.keys(COMPARISONS) as Comparison[]).map((op) => {
    const f: RowFunction = ([l, a], { argTypes }) => {
      const compare = datumComparator(argTypes[0]!);
      return quantified(all, l, a, (x, y) => SIGN_TEST[op](compare(x, y)));
    };
    return rowFunction(
      `${q}_${op}`,
      `${COMPARISONS[op].symbol} ${q}`,
      ['anycompatible', 'anycompatiblearray'],
      'bool',
      f,
      doc,
      LOOSE,
    );
  });
  const lists = (Object.keys(COMPARISONS) as Comparison[]).map((op) =>
    rowFunction(
      `${q}_list_${op}`,
      `${COMPARISONS[op].symbol} ${q}`,
      ['anycompatible', 'anycompatiblelist'],
      'bool',
      ([l, a], { argTypes }) => {
        const compare = datumComparator(argTypes[0]!);
        return quantified(all, l, a, (x, y) => SIGN_TEST[op](compare(x, y)));
      },
      doc,
      LOOSE,
    ),
  );
  const likes = LIKE_OPERATORS.map(([id, symbol, yes, fold]) =>
    rowFunction(
      `${q}_${id}`,
      `${symbol} ${q}`,
      ['text', 'text[]'],
      'bool',
      ([l, a]) =>
        quantified(all, l, a, (x, y) => {
          const s = encodeUtf8(fold ? lower(x as string) : (x as string));
          const program = compileLike(fold ? lower(y as string) : (y as string));
          return matchesLike(program, s, 0, s.length) === (yes === 1);
        }),
      doc,
      LOOSE_FAILS,
    ),
  );
  const regexes = REGEX_OPERATORS.map(([id, symbol, flags, yes]) =>
    rowFunction(
      `${q}_${id}`,
      `${symbol} ${q}`,
      ['text', 'text[]'],
      'bool',
      ([l, a]) =>
        quantified(all, l, a, (x, y) => compileRegex(y as string, flags).program.test(x as string) === yes),
      doc,
      LOOSE_FAILS,
    ),
  );
  return [...comparisons, ...lists, ...likes, ...regexes];
});
