/** LIKE, SIMILAR TO and regular expressions. */
import { SqlError } from '../../base/error.ts';
import { SqlArray } from '../../repr/array.ts';
import type { Column } from '../../repr/column.ts';
import { decodeUtf8, encodeUtf8, textAt } from '../../repr/text.ts';
import type { FunctionDef, Kernel } from '../functions.ts';
import type { RowFunction } from '../kernels/per-row.ts';
import { compileLike, compileRegex, likeEscape, matchesLike, similarToRegex } from '../text-match.ts';
import { bitAt, fixedColumn } from '../vec.ts';
import { define, FAILS, FAILS_MAYBE, type Options, rowFunction } from './define.ts';
import { lower } from './text.ts';

/** A pattern that every row shares is compiled once; its text is looked up in the cache for each row otherwise. */
function likeKernel(yes: 0 | 1, fold: boolean): Kernel {
  const prepare = fold ? lower : (s: string): string => s;
  return ({ args: [l, r], n, validity, fail }) => {
    const s = l!.column;
    const out = new Uint8Array(n);
    let program = r!.constant ? compileLike(prepare(textAt(r!.column, 0))) : null;
    for (let i = 0; i < n; i++) {
      if (!bitAt(validity, i)) continue;
      if (!r!.constant) {
        try {
          program = compileLike(prepare(textAt(r!.column, i)));
        } catch (e) {
          if (!(e instanceof SqlError)) throw e;
          fail(i, { code: e.code, message: e.message });
          continue;
        }
      }
      const hit = fold
        ? likeFolded(program!, s, l!.constant ? 0 : i)
        : likeCell(program!, s, l!.constant ? 0 : i);
      out[i] = hit ? yes : 1 - yes;
    }
    return fixedColumn('bool', n, out);
  };
}

const likeCell = (program: Int16Array, s: Column, i: number): boolean =>
  matchesLike(program, s.values as Uint8Array, s.offsets[i]!, s.offsets[i + 1]!);

function likeFolded(program: Int16Array, s: Column, i: number): boolean {
  const b = encodeUtf8(lower(decodeUtf8(s.values as Uint8Array, s.offsets[i]!, s.offsets[i + 1]!)));
  return matchesLike(program, b, 0, b.length);
}

export const LIKE_OPERATORS = [
  ['like', '~~', 1, false, 'Whether the first matches a LIKE pattern.'],
  ['nlike', '!~~', 0, false, 'Whether the first does not match a LIKE pattern.'],
  ['ilike', '~~*', 1, true, 'Like LIKE, without regard to case.'],
  ['nilike', '!~~*', 0, true, 'Like NOT LIKE, without regard to case.'],
] as const;

export const REGEX_OPERATORS = [
  ['regex', '~', '', true, 'Whether the first matches a regular expression.'],
  ['nregex', '!~', '', false, 'Whether the first does not match a regular expression.'],
  ['iregex', '~*', 'i', true, 'Whether the first matches, without regard to case.'],
  ['niregex', '!~*', 'i', false, 'Whether the first does not match, without regard to case.'],
] as const;

/** Groups of a match, or the whole match if the expression has none. */
function groupsOf(m: RegExpMatchArray | readonly (string | undefined)[]): SqlArray {
  const items = [...m].map((x) => x ?? null);
  return SqlArray.of(items.length > 1 ? items.slice(1) : items);
}

/** The matches of `regexp_matches`: all with flag g, else the first. */
export function regexpMatches(s: string, pattern: string, flags = ''): SqlArray[] {
  const { program, global } = compileRegex(pattern, flags);
  const out: SqlArray[] = [];
  for (const m of program.matchAll(s)) {
    out.push(groupsOf(m));
    if (!global) break;
  }
  return out;
}

function noGlobal(flags: string, name: string): void {
  if (flags.includes('g'))
    throw new SqlError('invalid_parameter_value', `${name}() does not support the "global" option`, {
      hint: name === 'regexp_match' ? 'Use the regexp_matches function instead.' : undefined,
    });
}

/** PostgreSQL's replacement syntax: \1 to \9 and \& stand for groups and the match. */
function expand(replacement: string, m: RegExpMatchArray): string {
  return replacement.replace(/\\([\s\S]?)/g, (whole, c: string) => {
    if (c === '&') return m[0]!;
    if (c >= '1' && c <= '9') return m[Number(c)] ?? '';
    return c === '\\' ? '\\' : whole;
  });
}

function regexpReplace(s: string, pattern: string, replacement: string, flags: string): string {
  const { program, global } = compileRegex(pattern, flags);
  let out = '';
  let at = 0;
  for (const m of program.matchAll(s)) {
    out += s.slice(at, m.index) + expand(replacement, m);
    at = m.index! + m[0]!.length;
    if (!global) break;
  }
  return out + s.slice(at);
}

/** `substring(s from pattern)`: the first group, or the match. */
function regexSubstring(s: string, pattern: string): string | null {
  const m = compileRegex(pattern).program.exec(s) as (string | undefined)[] | null;
  if (m === null) return null;
  return (m.length > 1 ? m[1] : m[0]) ?? null;
}

/** Text between matches; an empty match splits between characters. */
export function regexpSplit(s: string, pattern: string, flags: string): string[] {
  noGlobal(flags, 'regexp_split_to_table');
  const { program } = compileRegex(pattern, flags);
  const out: string[] = [];
  let at = 0;
  for (const m of program.matchAll(s)) {
    const end = m.index! + m[0]!.length;
    if (m[0] === '' && (m.index === 0 || m.index! >= s.length)) continue;
    out.push(s.slice(at, m.index));
    at = end;
  }
  out.push(s.slice(at));
  return out;
}

const count = (s: string, pattern: string, flags = ''): number => {
  let n = 0;
  for (const _ of compileRegex(pattern, flags).program.matchAll(s)) n++;
  return n;
};

/** With and without the trailing flags argument. */
const withFlags = (
  name: string,
  args: readonly ['text', 'text', ...'text'[]],
  returns: 'text' | 'text[]' | 'int4' | 'bool',
  f: RowFunction,
  doc: string,
  options: Options,
): FunctionDef[] => [
  rowFunction(`${name}_${args.join('_')}`, name, args, returns, (a, c) => f([...a, ''], c), doc, options),
  rowFunction(`${name}_${args.join('_')}_flags`, name, [...args, 'text'], returns, f, doc, options),
];

export const PATTERN: readonly FunctionDef[] = [
  ...LIKE_OPERATORS.map(([id, symbol, yes, fold, doc]) =>
    define(`${id}_text_text`, symbol, ['text', 'text'], 'bool', likeKernel(yes, fold), doc, FAILS),
  ),
  ...REGEX_OPERATORS.map(([id, symbol, flags, yes, doc]) =>
    rowFunction(
      `${id}_text_text`,
      symbol,
      ['text', 'text'],
      'bool',
      ([s, p]) => compileRegex(p, flags).program.test(s) === yes,
      doc,
      FAILS,
    ),
  ),
  rowFunction(
    'like_escape_text_text',
    'like_escape',
    ['text', 'text'],
    'text',
    ([p, e]) => likeEscape(p, e),
    'A LIKE pattern with its escape character made a backslash.',
    FAILS,
  ),
  rowFunction(
    'similar_to_escape_text',
    'similar_to_escape',
    ['text'],
    'text',
    ([p]) => similarToRegex(p),
    'A SIMILAR TO pattern as a regular expression.',
    FAILS,
  ),
  rowFunction(
    'similar_to_escape_text_text',
    'similar_to_escape',
    ['text', 'text'],
    'text',
    ([p, e]) => similarToRegex(p, e),
    'A SIMILAR TO pattern as a regular expression.',
    FAILS,
  ),
  rowFunction(
    'substring_text_text',
    'substring',
    ['text', 'text'],
    'text',
    ([s, p]) => regexSubstring(s, p),
    'The part that a regular expression matches.',
    FAILS_MAYBE,
  ),
  ...withFlags(
    'regexp_match',
    ['text', 'text'],
    'text[]',
    ([s, p, f]) => {
      noGlobal(f, 'regexp_match');
      return regexpMatches(s, p, f)[0] ?? null;
    },
    'Groups of the first match.',
    FAILS_MAYBE,
  ),
  ...withFlags(
    'regexp_like',
    ['text', 'text'],
    'bool',
    ([s, p, f]) => {
      noGlobal(f, 'regexp_like');
      return compileRegex(p, f).program.test(s);
    },
    'Whether a regular expression matches.',
    FAILS,
  ),
  ...withFlags(
    'regexp_replace',
    ['text', 'text', 'text'],
    'text',
    ([s, p, r, f]) => regexpReplace(s, p, r, f),
    'The first match replaced, or all with flag g.',
    FAILS,
  ),
  rowFunction(
    'regexp_count_text_text',
    'regexp_count',
    ['text', 'text'],
    'int4',
    ([s, p]) => count(s, p),
    'Number of matches.',
    FAILS,
  ),
  ...withFlags(
    'regexp_split_to_array',
    ['text', 'text'],
    'text[]',
    ([s, p, f]) => SqlArray.of(regexpSplit(s, p, f)),
    'The text between matches.',
    FAILS,
  ),
];
