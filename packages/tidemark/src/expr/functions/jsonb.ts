/** jsonb: access, containment, building, changing. A datum is the canonical text. */
import { SqlError } from '../../base/error.ts';
import type { SqlArray, SqlList, SqlRecord } from '../../repr/array.ts';
import { textOf } from '../../repr/format.ts';
import {
  canonicalJson,
  jsonArrayLength,
  jsonArrayText,
  jsonContains,
  jsonElements,
  jsonEntries,
  jsonExists,
  jsonGet,
  jsonIndex,
  jsonObjectText,
  jsonPath,
  jsonPretty,
  jsonQuote,
  jsonScalarText,
  jsonToText,
  jsonTypeof,
} from '../../repr/json.ts';
import { type Json, JsonObject, parseJson } from '../../repr/json-parse.ts';
import type { Datum, SqlType } from '../../repr/types.ts';
import { formatContext } from '../context.ts';
import type { EvalContext, FunctionDef } from '../functions.ts';
import type { RowFunction } from '../kernels/per-row.ts';
import { FAILS, MAYBE, type Options, rowFunction } from './define.ts';

const invalid = (message: string, hint?: string): SqlError =>
  new SqlError('invalid_parameter_value', message, { hint });

/** Any value as jsonb text; NULL is `null`. */
export function jsonOf(d: Datum, type: SqlType, context: EvalContext): string {
  if (d === null) return 'null';
  switch (type.name) {
    case 'bool':
      return d ? 'true' : 'false';
    case 'int2':
    case 'int4':
    case 'int8':
    case 'uint2':
    case 'uint4':
    case 'uint8':
      return String(d);
    case 'float4':
    case 'float8':
    case 'numeric': {
      const text = textOf(type, d);
      return /^-?\d/.test(text) ? canonicalJson(text) : jsonQuote(text);
    }
    case 'jsonb':
      return d as string;
    case 'array':
      return arrayJson(d as SqlArray, type.elem!, context);
    case 'list':
      return jsonArrayText((d as SqlList).items.map((x) => jsonOf(x, type.elem!, context)));
    case 'record':
      return jsonObjectText(
        (d as SqlRecord).items.map((x, k) => [`f${k + 1}`, jsonOf(x, type.fields![k]!, context)]),
      );
    case 'timestamp':
    case 'timestamptz': {
      // ISO 8601: a T, and minutes in the offset.
      const text = textOf(type, d, formatContext(context)).replace(' ', 'T');
      return jsonQuote(type.name === 'timestamptz' ? text.replace(/([+-]\d\d)$/, '$1:00') : text);
    }
    default:
      return jsonQuote(textOf(type, d, formatContext(context)));
  }
}

function arrayJson(a: SqlArray, elem: SqlType, context: EvalContext): string {
  let at = 0;
  const level = (d: number): string => {
    if (d === a.dims.length) return jsonOf(a.items[at++]!, elem, context);
    return jsonArrayText(Array.from({ length: a.dims[d]! }, () => level(d + 1)));
  };
  return a.dims.length === 0 ? '[]' : level(0);
}

/** A key of jsonb_build_object: text of a value that is neither NULL nor structured. */
export function jsonKey(d: Datum, type: SqlType, context: EvalContext, position: number): string {
  if (d === null) throw invalid(`argument ${position}: key must not be null`);
  if (type.name === 'array' || type.name === 'list' || type.name === 'record' || type.name === 'jsonb')
    throw invalid('key value must be scalar, not array, composite, or json');
  return textOf(type, d, formatContext(context));
}

const buildObject: RowFunction = (args, { argTypes, context }) => {
  if (args.length % 2 !== 0)
    throw invalid(
      'argument list must have even number of elements',
      'The arguments of jsonb_build_object() must consist of alternating keys and values.',
    );
  const entries: [string, string][] = [];
  for (let k = 0; k < args.length; k += 2)
    entries.push([
      jsonKey(args[k], argTypes[k]!, context, k + 1),
      jsonOf(args[k + 1], argTypes[k + 1]!, context),
    ]);
  return jsonObjectText(entries);
};

const path = (a: SqlArray): string[] | null =>
  a.items.some((x) => x === null) ? null : (a.items as string[]);

/** Objects merge; whatever is no array beside an array, or beside another kind, counts as one element. */
function concatJson(a: string, b: string): string {
  const x = jsonTypeof(a);
  const y = jsonTypeof(b);
  if (x === 'object' && y === 'object') return jsonObjectText([...jsonEntries(a), ...jsonEntries(b)]);
  const items = (t: string, kind: string): string[] => (kind === 'array' ? jsonElements(t) : [t]);
  return jsonArrayText([...items(a, x), ...items(b, y)]);
}

/** A scalar answers to a position as the array of itself does. */
function elementAt(j: string, i: number): string | undefined {
  const kind = jsonTypeof(j);
  if (kind === 'array' || kind === 'object') return jsonIndex(j, i);
  return i === 0 || i === -1 ? j : undefined;
}

type Steps = readonly (string | null)[];

function deleteKeys(text: string, keys: ReadonlySet<string>): string {
  const kind = jsonTypeof(text);
  if (kind === 'object') return jsonObjectText(jsonEntries(text).filter(([k]) => !keys.has(k)));
  if (kind !== 'array') throw invalid('cannot delete from scalar');
  const quoted = new Set([...keys].map(jsonQuote));
  return jsonArrayText(jsonElements(text).filter((e) => !quoted.has(e)));
}

function deleteIndex(text: string, index: number): string {
  const kind = jsonTypeof(text);
  if (kind === 'object') throw invalid('cannot delete from object using integer index');
  if (kind !== 'array') throw invalid('cannot delete from scalar');
  const items = jsonElements(text);
  const at = index < 0 ? index + items.length : index;
  return jsonArrayText(items.filter((_, i) => i !== at));
}

function deletePath(text: string, steps: Steps, depth = 0): string {
  if (depth === steps.length) return text;
  const kind = jsonTypeof(text);
  const last = depth === steps.length - 1;
  if (kind === 'object') {
    const key = stepAt(steps, depth);
    const child = jsonGet(text, key);
    if (child === undefined) return text;
    if (last) return deleteKeys(text, new Set([key]));
    return jsonObjectText(
      jsonEntries(text).map(([k, v]) => [k, k === key ? deletePath(v, steps, depth + 1) : v]),
    );
  }
  if (kind !== 'array') return text;
  const i = indexAt(steps, depth);
  const items = jsonElements(text);
  const at = i < 0 ? i + items.length : i;
  if (last) return jsonArrayText(items.filter((_, k) => k !== at));
  return jsonArrayText(items.map((v, k) => (k === at ? deletePath(v, steps, depth + 1) : v)));
}

function stepAt(steps: Steps, depth: number): string {
  const step = steps[depth]!;
  if (step === null)
    throw new SqlError('null_value_not_allowed', `path element at position ${depth + 1} is null`);
  return step;
}

function indexAt(steps: Steps, depth: number): number {
  const step = stepAt(steps, depth);
  if (/^\s*[+-]?\d+$/.test(step)) return Number(step);
  throw new SqlError(
    'invalid_text_representation',
    `path element at position ${depth + 1} is not an integer: "${step}"`,
  );
}

/** `jsonb_set`: replaces what stands at the path, or adds the last step if `create`. */
function setPath(text: string, steps: Steps, value: string, create: boolean, depth = 0): string {
  if (depth === steps.length) return text;
  const kind = jsonTypeof(text);
  const last = depth === steps.length - 1;
  if (kind === 'object') {
    const key = stepAt(steps, depth);
    const child = jsonGet(text, key);
    if (child === undefined && !(last && create)) return text;
    const next = last ? value : setPath(child!, steps, value, create, depth + 1);
    return jsonObjectText([...jsonEntries(text).filter(([k]) => k !== key), [key, next]]);
  }
  if (kind !== 'array') return text;
  const items = jsonElements(text);
  const i = indexAt(steps, depth);
  const at = i < 0 ? i + items.length : i;
  if (at < 0 || at >= items.length) {
    if (!(last && create)) return text;
    return jsonArrayText(at < 0 ? [value, ...items] : [...items, value]);
  }
  return jsonArrayText(
    items.map((v, k) => (k !== at ? v : last ? value : setPath(v, steps, value, create, depth + 1))),
  );
}

const isEmpty = (j: string): boolean => j === '[]' || j === '{}';

function stripNulls(v: Json): Json {
  if (v instanceof JsonObject) {
    const keep = v.keys.map((_, i) => i).filter((i) => v.values[i] !== null);
    return new JsonObject(
      keep.map((i) => v.keys[i]!),
      keep.map((i) => stripNulls(v.values[i]!)),
    );
  }
  return Array.isArray(v) ? (v as Json[]).map(stripNulls) : v;
}

/** `->` and `->>` by key and index, `#>` and `#>>` by path. */
const access: readonly FunctionDef[] = (
  [
    ['get', '->', 'text', (j: string, k: string) => jsonGet(j, k), 'The value of a key.'],
    ['get', '->', 'int4', (j: string, k: number) => elementAt(j, k), 'The element at a position, from 0.'],
    [
      'get_path',
      '#>',
      'text[]',
      (j: string, p: SqlArray) => {
        const steps = path(p);
        return steps === null ? undefined : jsonPath(j, steps);
      },
      'The value at a path.',
    ],
  ] as const
).flatMap(([id, symbol, key, f, doc]) => {
  const get = f as (j: string, k: unknown) => string | undefined;
  const type = key.replace('[]', '_array');
  const options: Options = MAYBE;
  const asText: RowFunction = ([j, k]) => {
    const v = get(j, k);
    return v === undefined ? null : jsonScalarText(v);
  };
  return [
    rowFunction(
      `${id}_jsonb_${type}`,
      symbol,
      ['jsonb', key],
      'jsonb',
      ([j, k]) => get(j, k) ?? null,
      doc,
      options,
    ),
    rowFunction(
      `${id}_text_jsonb_${type}`,
      `${symbol}>`,
      ['jsonb', key],
      'text',
      asText,
      `${doc} As text.`,
      options,
    ),
  ];
});

const VARIADIC: Options = { variadic: 'any', strict: false, nullable: false, volatility: 'stable' };

export const JSONB: readonly FunctionDef[] = [
  ...access,
  rowFunction(
    'contains_jsonb_jsonb',
    '@>',
    ['jsonb', 'jsonb'],
    'bool',
    ([a, b]) => jsonContains(a, b),
    'Whether the first contains the second.',
  ),
  rowFunction(
    'contained_jsonb_jsonb',
    '<@',
    ['jsonb', 'jsonb'],
    'bool',
    ([a, b]) => jsonContains(b, a),
    'Whether the second contains the first.',
  ),
  rowFunction(
    'exists_jsonb_text',
    '?',
    ['jsonb', 'text'],
    'bool',
    ([j, k]) => jsonExists(j, k),
    'Whether a key exists.',
  ),
  rowFunction(
    'exists_any_jsonb_text_array',
    '?|',
    ['jsonb', 'text[]'],
    'bool',
    ([j, a]) => a.items.some((k: string | null) => k !== null && jsonExists(j, k)),
    'Whether any of the keys exists.',
  ),
  rowFunction(
    'exists_all_jsonb_text_array',
    '?&',
    ['jsonb', 'text[]'],
    'bool',
    ([j, a]) => a.items.every((k: string | null) => k === null || jsonExists(j, k)),
    'Whether all of the keys exist.',
  ),
  rowFunction(
    'concat_jsonb_jsonb',
    '||',
    ['jsonb', 'jsonb'],
    'jsonb',
    ([a, b]) => concatJson(a, b),
    'Both joined.',
    FAILS,
  ),
  rowFunction(
    'delete_jsonb_text',
    '-',
    ['jsonb', 'text'],
    'jsonb',
    ([j, k]) => deleteKeys(j, new Set([k])),
    'Without a key.',
    FAILS,
  ),
  rowFunction(
    'delete_jsonb_text_array',
    '-',
    ['jsonb', 'text[]'],
    'jsonb',
    ([j, a]) => deleteKeys(j, new Set(a.items.filter((k: string | null) => k !== null))),
    'Without some keys.',
    FAILS,
  ),
  rowFunction(
    'delete_jsonb_int4',
    '-',
    ['jsonb', 'int4'],
    'jsonb',
    ([j, i]) => deleteIndex(j, i),
    'Without the element at a position.',
    FAILS,
  ),
  rowFunction(
    'delete_path_jsonb_text_array',
    '#-',
    ['jsonb', 'text[]'],
    'jsonb',
    ([j, p]) => {
      if (!['object', 'array'].includes(jsonTypeof(j))) throw invalid('cannot delete path in scalar');
      return isEmpty(j) ? j : deletePath(j, p.items);
    },
    'Without what stands at a path.',
    FAILS,
  ),
  rowFunction(
    'jsonb_typeof',
    'jsonb_typeof',
    ['jsonb'],
    'text',
    ([j]) => jsonTypeof(j),
    'Kind of the value.',
  ),
  rowFunction(
    'jsonb_array_length',
    'jsonb_array_length',
    ['jsonb'],
    'int4',
    ([j]) => {
      const kind = jsonTypeof(j);
      if (kind === 'array') return jsonArrayLength(j);
      throw invalid(
        kind === 'object' ? 'cannot get array length of a non-array' : 'cannot get array length of a scalar',
      );
    },
    'Number of elements.',
    FAILS,
  ),
  rowFunction(
    'jsonb_pretty',
    'jsonb_pretty',
    ['jsonb'],
    'text',
    ([j]) => jsonPretty(parseJson(j)),
    'With indents.',
  ),
  rowFunction(
    'jsonb_strip_nulls',
    'jsonb_strip_nulls',
    ['jsonb'],
    'jsonb',
    ([j]) => jsonToText(stripNulls(parseJson(j))),
    'Objects without keys whose value is null.',
  ),
  rowFunction(
    'jsonb_build_object',
    'jsonb_build_object',
    [],
    'jsonb',
    buildObject,
    'An object from keys and values.',
    {
      ...VARIADIC,
      fallible: true,
    },
  ),
  rowFunction(
    'jsonb_build_array',
    'jsonb_build_array',
    [],
    'jsonb',
    (args, { argTypes, context }) => jsonArrayText(args.map((d, k) => jsonOf(d, argTypes[k]!, context))),
    'An array from values.',
    VARIADIC,
  ),
  rowFunction(
    'to_jsonb',
    'to_jsonb',
    ['anyelement'],
    'jsonb',
    ([d], { argTypes, context }) => jsonOf(d, argTypes[0]!, context),
    'Any value as jsonb.',
    { volatility: 'stable' },
  ),
  rowFunction(
    'jsonb_extract_path',
    'jsonb_extract_path',
    ['jsonb'],
    'jsonb',
    ([j, ...p]) => jsonPath(j, p) ?? null,
    'The value at a path.',
    { variadic: 'text', nullable: true },
  ),
  rowFunction(
    'jsonb_extract_path_text',
    'jsonb_extract_path_text',
    ['jsonb'],
    'text',
    ([j, ...p]) => {
      const v = jsonPath(j, p);
      return v === undefined ? null : jsonScalarText(v);
    },
    'The value at a path, as text.',
    { variadic: 'text', nullable: true },
  ),
  ...([false, true] as const).map((flag) =>
    rowFunction(
      `jsonb_set${flag ? '_flag' : ''}`,
      'jsonb_set',
      flag ? ['jsonb', 'text[]', 'jsonb', 'bool'] : ['jsonb', 'text[]', 'jsonb'],
      'jsonb',
      ([j, p, v, create]) => {
        if (!['object', 'array'].includes(jsonTypeof(j))) throw invalid('cannot set path in scalar');
        const adds = create ?? true;
        return isEmpty(j) && !adds ? j : setPath(j, p.items, v, adds);
      },
      'With another value at a path.',
      FAILS,
    ),
  ),
];
