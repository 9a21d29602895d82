/** Strings: case, length, cutting, searching, joining, quoting. Positions count characters, not UTF-16 units. */
import { SqlError } from '../../base/error.ts';
import { ColumnBuilder } from '../../repr/column.ts';
import { charLength, utf8Length } from '../../repr/text.ts';
import type { FunctionDef, Kernel } from '../functions.ts';
import { bitAt, fixedColumn } from '../vec.ts';
import { define, FAILS, rowFunction } from './define.ts';

const error = (message: string): SqlError => new SqlError('invalid_parameter_value', message);

/** Every character one UTF-16 unit: then positions are string indices. */
const isPlain = (s: string): boolean => !/[\ud800-\udfff]/.test(s);
const charsOf = (s: string): readonly string[] | string => (isPlain(s) ? s : [...s]);
const cut = (s: string, from: number, to: number): string =>
  isPlain(s)
    ? s.slice(Math.max(from, 0), Math.max(to, 0))
    : [...s].slice(Math.max(from, 0), Math.max(to, 0)).join('');

/** The longest text that a function may make. */
const MAX_TEXT = 0x3fffffff;
function checkLength(n: number): void {
  if (n > MAX_TEXT) throw new SqlError('program_limit_exceeded', 'requested length too large');
}

/** Character by character: a mapping that changes the length (ß) leaves the character alone, as PostgreSQL's does. */
function mapCase(s: string, f: (c: string) => string): string {
  const mapped = f(s);
  if (mapped.length === s.length) return mapped;
  let out = '';
  for (const c of s) {
    const m = f(c);
    out += m.length === c.length ? m : c;
  }
  return out;
}
export const lower = (s: string): string => mapCase(s, (c) => c.toLowerCase());
const upper = (s: string): string => mapCase(s, (c) => c.toUpperCase());

const initcap = (s: string): string =>
  s.replace(/[\p{L}\p{N}]+/gu, (w) => upper([...w][0]!) + lower(w.slice([...w][0]!.length)));

/** `substring(s from start for length)`, both 1-based and free to stand outside. */
function substring(s: string, start: number, length?: number): string {
  if (length === undefined) return cut(s, start - 1, Number.POSITIVE_INFINITY);
  if (length < 0) throw new SqlError('substring_error', 'negative substring length not allowed');
  return cut(s, start - 1, start - 1 + length);
}

const left = (s: string, n: number): string => cut(s, 0, n >= 0 ? n : charLength(s) + n);
function right(s: string, n: number): string {
  const len = charLength(s);
  return cut(s, n >= 0 ? len - n : -n, len);
}

function strpos(s: string, sub: string): number {
  const at = s.indexOf(sub);
  if (at < 0) return 0;
  return charLength(s.slice(0, at)) + 1;
}

function splitPart(s: string, delimiter: string, n: number): string {
  if (n === 0) throw error('field position must not be zero');
  const parts = delimiter === '' ? [s] : s.split(delimiter);
  return parts.at(n > 0 ? n - 1 : n) ?? '';
}

function pad(s: string, length: number, fill: string, atLeft: boolean): string {
  const n = Math.max(length, 0);
  checkLength(n);
  const missing = n - charLength(s);
  if (missing <= 0) return cut(s, 0, n);
  if (fill === '') return s;
  const times = Math.ceil(missing / charLength(fill));
  const padding = cut(fill.repeat(times), 0, missing);
  return atLeft ? padding + s : s + padding;
}

function trimChars(s: string, set: string, side: 'both' | 'left' | 'right'): string {
  const chars = charsOf(s);
  const drop = new Set(set);
  let from = 0;
  let to = chars.length;
  if (side !== 'right') while (from < to && drop.has(chars[from]!)) from++;
  if (side !== 'left') while (to > from && drop.has(chars[to - 1]!)) to--;
  return cut(s, from, to);
}

function translate(s: string, from: string, to: string): string {
  const map = new Map<string, string>();
  const target = [...to];
  [...from].forEach((c, i) => {
    if (!map.has(c)) map.set(c, target[i] ?? '');
  });
  let out = '';
  for (const c of s) out += map.get(c) ?? c;
  return out;
}

function chr(code: number): string {
  if (code < 0) throw error('character number must be positive');
  if (code === 0) throw new SqlError('program_limit_exceeded', 'null character not permitted');
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
    throw new SqlError('program_limit_exceeded', `requested character not valid for encoding: ${code}`);
  return String.fromCodePoint(code);
}

function overlay(s: string, by: string, start: number, length: number): string {
  if (start <= 0) throw new SqlError('substring_error', 'negative substring length not allowed');
  if (start + length > 0x7fffffff) throw new SqlError('numeric_value_out_of_range', 'integer out of range');
  return cut(s, 0, start - 1) + by + cut(s, start - 1 + length, Number.POSITIVE_INFINITY);
}

/** Bytes end to end: `text || text`, `bytea || bytea`. */
const concatBytes: Kernel = ({ args: [l, r], n, validity }) => {
  const a = l!.column;
  const b = r!.column;
  const p = l!.constant ? 0 : -1;
  const q = r!.constant ? 0 : -1;
  const av = a.values as Uint8Array;
  const bv = b.values as Uint8Array;
  const offsets = new Int32Array(n + 1);
  let total = 0;
  for (let i = 0; i < n; i++) {
    if (bitAt(validity, i)) {
      const j = i & p;
      const k = i & q;
      total += a.offsets[j + 1]! - a.offsets[j]! + b.offsets[k + 1]! - b.offsets[k]!;
    }
    offsets[i + 1] = total;
  }
  const values = new Uint8Array(total);
  for (let i = 0; i < n; i++) {
    let at = offsets[i]!;
    if (offsets[i + 1] === at) continue;
    for (let s = a.offsets[i & p]!; s < a.offsets[(i & p) + 1]!; s++) values[at++] = av[s]!;
    for (let s = b.offsets[i & q]!; s < b.offsets[(i & q) + 1]!; s++) values[at++] = bv[s]!;
  }
  return { kind: 'bytes', length: n, validity: null, values, offsets };
};

/** An int4 from the bytes of a cell. */
const measure =
  (f: (bytes: Uint8Array, from: number, to: number) => number): Kernel =>
  ({ args: [v], n }) => {
    const { values, offsets } = v!.column;
    const p = v!.constant ? 0 : -1;
    const out = new Int32Array(n);
    for (let i = 0; i < n; i++) out[i] = f(values as Uint8Array, offsets[i & p]!, offsets[(i & p) + 1]!);
    return fixedColumn('i32', n, out);
  };
const octets = measure((_, from, to) => to - from);

/** lower and upper: ASCII in place, the rest through strings. */
const caseKernel =
  (from: number, to: number, delta: number, f: (s: string) => string): Kernel =>
  ({ args: [v], n, validity }) => {
    const { values, offsets } = v!.column;
    const src = values as Uint8Array;
    const base = offsets[0]!;
    const end = offsets[n]!;
    const out = new Uint8Array(end - base);
    for (let s = base; s < end; s++) {
      const c = src[s]!;
      if (c >= 0x80) return throughStrings(v!.column, n, validity, f);
      out[s - base] = c >= from && c <= to ? c + delta : c;
    }
    const o = new Int32Array(n + 1);
    for (let i = 0; i <= n; i++) o[i] = offsets[i]! - base;
    return { kind: 'bytes', length: n, validity: null, values: out, offsets: o };
  };

const encoder = new TextEncoder();
const decoder = new TextDecoder();
function throughStrings(
  c: Parameters<Kernel>[0]['args'][0]['column'],
  n: number,
  validity: Uint8Array<ArrayBuffer> | null,
  f: (s: string) => string,
) {
  const out = new ColumnBuilder('bytes', n);
  for (let i = 0; i < n; i++)
    if (!bitAt(validity, i)) out.pushNull();
    else
      out.pushBytes(
        encoder.encode(
          f(decoder.decode((c.values as Uint8Array).subarray(c.offsets[i]!, c.offsets[i + 1]!))),
        ),
      );
  return out.finish();
}

const lengths: FunctionDef[] = [
  ...['length', 'char_length', 'character_length'].map((name) =>
    define(`${name}_text`, name, ['text'], 'int4', measure(utf8Length), 'Number of characters.'),
  ),
  define('length_bytea', 'length', ['bytea'], 'int4', octets, 'Number of bytes.'),
  define('octet_length_text', 'octet_length', ['text'], 'int4', octets, 'Number of bytes.'),
  define('octet_length_bytea', 'octet_length', ['bytea'], 'int4', octets, 'Number of bytes.'),
  define(
    'bit_length_text',
    'bit_length',
    ['text'],
    'int4',
    measure((_, a, b) => (b - a) * 8),
    'Number of bits.',
  ),
];

const trims: FunctionDef[] = (
  [
    ['btrim', 'both', 'both ends'],
    ['ltrim', 'left', 'the start'],
    ['rtrim', 'right', 'the end'],
  ] as const
).flatMap(([name, side, where]) => [
  rowFunction(
    `${name}_text`,
    name,
    ['text'],
    'text',
    ([s]) => trimChars(s, ' ', side),
    `Without spaces at ${where}.`,
  ),
  rowFunction(
    `${name}_text_text`,
    name,
    ['text', 'text'],
    'text',
    ([s, set]) => trimChars(s, set, side),
    `Without the given characters at ${where}.`,
  ),
]);

const parts: FunctionDef[] = ['substring', 'substr'].flatMap((name) => [
  rowFunction(
    `${name}_text_int4`,
    name,
    ['text', 'int4'],
    'text',
    ([s, n]) => substring(s, n),
    'From a position on.',
  ),
  rowFunction(
    `${name}_text_int4_int4`,
    name,
    ['text', 'int4', 'int4'],
    'text',
    ([s, n, len]) => substring(s, n, len),
    'From a position, so many characters.',
    FAILS,
  ),
]);

export const TEXT: readonly FunctionDef[] = [
  ...lengths,
  ...trims,
  ...parts,
  define('concat_text_text', '||', ['text', 'text'], 'text', concatBytes, 'Both strings joined.'),
  define('concat_bytea_bytea', '||', ['bytea', 'bytea'], 'bytea', concatBytes, 'Both byte strings joined.'),
  define('lower_text', 'lower', ['text'], 'text', caseKernel(65, 90, 32, lower), 'Lower case.'),
  define('upper_text', 'upper', ['text'], 'text', caseKernel(97, 122, -32, upper), 'Upper case.'),
  rowFunction('initcap_text', 'initcap', ['text'], 'text', ([s]) => initcap(s), 'Each word with a capital.'),
  rowFunction(
    'left_text_int4',
    'left',
    ['text', 'int4'],
    'text',
    ([s, n]) => left(s, n),
    'The first characters.',
  ),
  rowFunction(
    'right_text_int4',
    'right',
    ['text', 'int4'],
    'text',
    ([s, n]) => right(s, n),
    'The last characters.',
  ),
  ...(['position', 'strpos'] as const).map((name) =>
    rowFunction(
      `${name}_text_text`,
      name,
      ['text', 'text'],
      'int4',
      ([s, sub]) => strpos(s, sub),
      'Where the second stands in the first, from 1; 0 if nowhere.',
    ),
  ),
  rowFunction(
    'replace_text_text_text',
    'replace',
    ['text', 'text', 'text'],
    'text',
    ([s, a, b]) => (a === '' ? s : (s as string).replaceAll(a, () => b)),
    'Every occurrence of the second replaced by the third.',
  ),
  rowFunction(
    'split_part_text_text_int4',
    'split_part',
    ['text', 'text', 'int4'],
    'text',
    ([s, d, n]) => splitPart(s, d, n),
    'The n-th part between delimiters; negative from the end.',
    FAILS,
  ),
  ...(['lpad', 'rpad'] as const).flatMap((name) => [
    rowFunction(
      `${name}_text_int4`,
      name,
      ['text', 'int4'],
      'text',
      ([s, n]) => pad(s, n, ' ', name === 'lpad'),
      'Padded with spaces to a length.',
      FAILS,
    ),
    rowFunction(
      `${name}_text_int4_text`,
      name,
      ['text', 'int4', 'text'],
      'text',
      ([s, n, f]) => pad(s, n, f, name === 'lpad'),
      'Padded to a length.',
      FAILS,
    ),
  ]),
  rowFunction(
    'repeat_text_int4',
    'repeat',
    ['text', 'int4'],
    'text',
    ([s, n]) => {
      checkLength(s.length * Math.max(n, 0));
      return s.repeat(Math.max(n, 0));
    },
    'The string so many times.',
    FAILS,
  ),
  rowFunction('reverse_text', 'reverse', ['text'], 'text', ([s]) => [...s].reverse().join(''), 'Backwards.'),
  rowFunction(
    'starts_with_text_text',
    'starts_with',
    ['text', 'text'],
    'bool',
    ([s, p]) => s.startsWith(p),
    'Whether the first starts with the second.',
  ),
  rowFunction(
    'starts_op_text_text',
    '^@',
    ['text', 'text'],
    'bool',
    ([s, p]) => s.startsWith(p),
    'Starts with.',
  ),
  rowFunction(
    'translate_text_text_text',
    'translate',
    ['text', 'text', 'text'],
    'text',
    ([s, a, b]) => translate(s, a, b),
    'Characters of the second replaced by those of the third.',
  ),
  rowFunction(
    'ascii_text',
    'ascii',
    ['text'],
    'int4',
    ([s]) => s.codePointAt(0) ?? 0,
    'Code of the first character.',
  ),
  rowFunction('chr_int4', 'chr', ['int4'], 'text', ([n]) => chr(n), 'The character of a code.', FAILS),
  rowFunction(
    'overlay_text_text_int4',
    'overlay',
    ['text', 'text', 'int4'],
    'text',
    ([s, b, n]) => overlay(s, b, n, charLength(b)),
    'The second laid over the first at a position.',
    FAILS,
  ),
  rowFunction(
    'overlay_text_text_int4_int4',
    'overlay',
    ['text', 'text', 'int4', 'int4'],
    'text',
    ([s, b, n, len]) => overlay(s, b, n, len),
    'The second in place of so many characters of the first.',
    FAILS,
  ),
  ...(['int4', 'int8'] as const).map((t) =>
    rowFunction(
      `to_hex_${t}`,
      'to_hex',
      [t],
      'text',
      ([n]) => BigInt.asUintN(t === 'int4' ? 32 : 64, BigInt(n)).toString(16),
      'Hexadecimal digits.',
    ),
  ),
];
