/** Type names: PostgreSQL's multi-word ones under their names in pg_type, `t list`, `map[k => v]`, array bounds. */
import type { Expr, Ident, NumberLiteral, TypeName } from './ast.ts';
import type { Cursor } from './cursor.ts';

const SYNONYMS: Readonly<Record<string, string>> = {
  int: 'int4',
  integer: 'int4',
  smallint: 'int2',
  bigint: 'int8',
  real: 'float4',
  boolean: 'bool',
};

/** Field that may follow `interval` -> the fields it may span to. */
const INTERVAL_SPANS: Readonly<Record<string, readonly string[]>> = {
  year: ['month'],
  month: [],
  day: ['hour', 'minute', 'second'],
  hour: ['minute', 'second'],
  minute: ['second'],
  second: [],
};

type SimpleType = (c: Cursor, pos: number) => TypeName;

/** Keyword -> the rest of the type, the keyword taken. What is not here is an identifier. */
const SIMPLE_TYPES: ReadonlyMap<string, SimpleType> = new Map<string, SimpleType>([
  ...Object.keys(SYNONYMS).map(
    (word) =>
      [word, (_, pos) => namedType(SYNONYMS[word] ?? word, pos)] as const satisfies [string, SimpleType],
  ),
  ...['dec', 'decimal', 'numeric'].map((word) => [word, numericType] as const satisfies [string, SimpleType]),
  ['float', floatType],
  ['bit', bitType],
  ['character', characterType],
  ['char', characterType],
  ['nchar', characterType],
  ['varchar', (c, pos) => namedType('varchar', pos, length(c))],
  ['national', nationalType],
  ['timestamp', (c, pos) => timeType(c, pos, 'timestamp')],
  ['time', (c, pos) => timeType(c, pos, 'time')],
  ['interval', intervalType],
  ['json', (_, pos) => namedType('json', pos)],
]);

export function namedType(name: string, pos: number, modifiers: readonly Expr[] = []): TypeName {
  return {
    name: { parts: [{ name, pos }], pos },
    params: [],
    modifiers,
    arrayBounds: [],
    intervalFields: undefined,
    setof: false,
    pos,
  };
}

/** A type with everything that may follow it. */
export function parseType(c: Cursor): TypeName {
  c.enter();
  const pos = c.pos;
  const setof = c.accept('setof');
  let type = parseSimpleType(c);
  for (;;) {
    if (c.accept('list')) {
      type = { ...namedType('list', type.pos), params: [type] };
      c.link();
    } else if (c.isSymbol('[') || c.isWord('array')) type = { ...type, arrayBounds: arrayBounds(c) };
    else break;
    // `int[] list[]` has bounds at two levels; `int[][]` was read whole.
  }
  c.leave();
  return setof ? { ...type, setof, pos } : type;
}

/** Without array bounds: what may stand before a string as a typed literal. */
export function parseSimpleType(c: Cursor): TypeName {
  const token = c.peek();
  if (token.type === 'word') {
    const rule = SIMPLE_TYPES.get(token.text);
    if (rule !== undefined) {
      c.next();
      return rule(c, token.pos);
    }
    if (c.accept('double', 'precision')) return namedType('float8', token.pos);
    if (token.text === 'map' && c.isSymbol('[', 1)) return mapType(c);
  }
  return genericType(c, c.typeIdent());
}

/** Whether the next word is a keyword that begins a built-in type. */
export function startsBuiltinType(c: Cursor): boolean {
  const token = c.peek();
  return token.type === 'word' && (SIMPLE_TYPES.has(token.text) || c.isWords('double', 'precision'));
}

function genericType(c: Cursor, first: Ident): TypeName {
  const name = c.nameFrom(first);
  const modifiers = c.isSymbol('(') ? c.parenList(() => c.rules.expr(c)) : [];
  return { ...namedType('', name.pos, modifiers), name };
}

function mapType(c: Cursor): TypeName {
  const { pos } = c.expect('map');
  c.expectSymbol('[');
  const key = parseType(c);
  c.expectSymbol('=>');
  const value = parseType(c);
  c.expectSymbol(']');
  return { ...namedType('map', pos), params: [key, value] };
}

function arrayBounds(c: Cursor): (number | undefined)[] {
  if (c.accept('array')) {
    if (!c.acceptSymbol('[')) return [undefined];
    const bound = c.integer();
    c.expectSymbol(']');
    return [bound];
  }
  const bounds: (number | undefined)[] = [];
  while (c.acceptSymbol('[')) {
    bounds.push(c.isSymbol(']') ? undefined : c.integer());
    c.expectSymbol(']');
  }
  return bounds;
}

/** `(n)`, or nothing. */
function length(c: Cursor): NumberLiteral[] {
  if (!c.acceptSymbol('(')) return [];
  const pos = c.pos;
  const n = c.integer();
  c.expectSymbol(')');
  return [{ kind: 'number', text: String(n), pos }];
}

const one = (pos: number): NumberLiteral => ({ kind: 'number', text: '1', pos });

function numericType(c: Cursor, pos: number): TypeName {
  return namedType('numeric', pos, c.isSymbol('(') ? c.parenList(() => c.rules.expr(c)) : []);
}

function floatType(c: Cursor, pos: number): TypeName {
  const [precision] = length(c);
  const bits = Number(precision?.text ?? 53);
  const at = precision?.pos ?? pos;
  if (bits < 1)
    throw c.fail('invalid_parameter_value', 'precision for type float must be at least 1 bit', at);
  if (bits > 53) {
    throw c.fail('invalid_parameter_value', 'precision for type float must be less than 54 bits', at);
  }
  return namedType(bits <= 24 ? 'float4' : 'float8', pos);
}

function bitType(c: Cursor, pos: number): TypeName {
  if (c.accept('varying')) return namedType('varbit', pos, length(c));
  const given = length(c);
  return namedType('bit', pos, given.length > 0 ? given : [one(pos)]);
}

function characterType(c: Cursor, pos: number): TypeName {
  if (c.accept('varying')) return namedType('varchar', pos, length(c));
  const given = length(c);
  return namedType('bpchar', pos, given.length > 0 ? given : [one(pos)]);
}

function nationalType(c: Cursor, pos: number): TypeName {
  if (c.oneOf(['character', 'char']) === undefined) throw c.syntaxError();
  return characterType(c, pos);
}

function timeType(c: Cursor, pos: number, base: 'timestamp' | 'time'): TypeName {
  const precision = length(c);
  const withZone = c.isPair('with', 'time') && c.expect('with', 'time', 'zone') !== undefined;
  if (!withZone && c.isPair('without', 'time')) c.expect('without', 'time', 'zone');
  return namedType(withZone ? `${base}tz` : base, pos, precision);
}

function intervalType(c: Cursor, pos: number): TypeName {
  const precision = length(c);
  if (precision.length > 0) return namedType('interval', pos, precision);
  return withIntervalFields(c, namedType('interval', pos));
}

/** The fields that may follow `interval` or its literal: `year to month`, `second(3)`. */
export function withIntervalFields(c: Cursor, type: TypeName): TypeName {
  const from = c.oneOf(Object.keys(INTERVAL_SPANS));
  if (from === undefined) return type;
  let fields = from;
  if (c.isWord('to')) {
    c.next();
    const to = c.oneOf(INTERVAL_SPANS[from] ?? []);
    if (to === undefined) throw c.syntaxError();
    fields = `${from} to ${to}`;
  }
  const modifiers = fields.endsWith('second') ? length(c) : type.modifiers;
  return { ...type, modifiers, intervalFields: fields };
}
