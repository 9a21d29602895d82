/**
 * `(NAME [=] value, …)`: the one shape of options in all statements. A name may have several words; without `=` the
 * table says where it ends.
 */
import type { OptionValue, SqlOption } from './ast.ts';
import type { Cursor } from './cursor.ts';

/** Option names of more than one word, longest first where one begins another. */
const LONG_NAMES: readonly (readonly string[])[] = [
  'introspection debugging',
  'introspection interval',
  'replication factor',
  'memory limit',
  'availability zones',
  'availability zone',
  'batch size',
  'max cardinality',
  'scale factor',
  'tick interval',
  'up to',
  'as of',
  'text columns',
  'exclude columns',
  'ssl certificate authority',
  'ssl certificate',
  'ssl mode',
  'ssl key',
  'retain history',
  'partition by',
  'force_null',
  'logical compaction window',
].map((name) => name.split(' '));

/** `( option, … )`, at least one. */
export function parseOptionList(c: Cursor): SqlOption[] {
  return c.parenList(() => parseOption(c));
}

/** `WITH (…)`, or nothing. */
export function parseWithOptions(c: Cursor): SqlOption[] {
  return c.accept('with') ? parseOptionList(c) : [];
}

/** `option, …` with or without parentheses around them. */
export function parseBareOptions(c: Cursor): SqlOption[] {
  return c.isSymbol('(') ? parseOptionList(c) : c.list(() => parseOption(c));
}

export function parseOption(c: Cursor): SqlOption {
  const { pos } = c.peek();
  const name = parseOptionName(c);
  const given = c.acceptSymbol('=');
  const value = given || startsValue(c) ? parseOptionValue(c) : undefined;
  return { name, value, pos };
}

/** The words up to `=`, or a known name, or one word. */
export function parseOptionName(c: Cursor): string {
  if (c.peek().type === 'quoted') return c.label().name;
  let length = 0;
  while (c.peek(length).type === 'word') length++;
  if (length === 0) throw c.syntaxError();
  if (!c.isSymbol('=', length)) {
    length = LONG_NAMES.find((words) => c.isWords(...words))?.length ?? 1;
  }
  const words: string[] = [];
  while (words.length < length) words.push(c.next().text);
  return words.join(' ');
}

function startsValue(c: Cursor): boolean {
  const { type, text } = c.peek();
  return type === 'symbol' ? text === '(' || text === '-' || text === '+' || text === '*' : type !== 'end';
}

function parseOptionValue(c: Cursor): OptionValue {
  const token = c.peek();
  const { pos, text } = token;
  switch (token.type) {
    case 'string':
      c.next();
      return { kind: 'string', value: text, pos };
    case 'number':
      c.next();
      return { kind: 'number', text, pos };
    case 'quoted':
    case 'word':
      return parseWordValue(c);
    case 'symbol':
      return parseSymbolValue(c);
    default:
      throw c.syntaxError();
  }
}

function parseWordValue(c: Cursor): OptionValue {
  const { text, pos, type } = c.peek();
  if (type === 'word') {
    if (c.isWord('secret') && (c.peek(1).type === 'word' || c.peek(1).type === 'quoted')) {
      c.next();
      return { kind: 'secret', name: c.name(), pos };
    }
    if (text === 'true' || text === 'false') {
      c.next();
      return { kind: 'boolean', value: text === 'true', pos };
    }
  }
  const words = [c.label().name];
  while (c.acceptSymbol('.')) words.push(c.label().name);
  return { kind: 'word', text: words.join('.'), pos };
}

function parseSymbolValue(c: Cursor): OptionValue {
  const { text, pos } = c.peek();
  if (text === '-' || text === '+') {
    c.next();
    const number = c.expectType('number').text;
    return { kind: 'number', text: text === '-' ? `-${number}` : number, pos };
  }
  if (c.acceptSymbol('*')) return { kind: 'word', text: '*', pos };
  if (text !== '(' && text !== '[') throw c.syntaxError();
  c.enter();
  c.next();
  const close = text === '(' ? ')' : ']';
  const items = c.isSymbol(close) ? [] : c.list(() => parseOptionValue(c));
  c.expectSymbol(close);
  c.leave();
  return { kind: 'optionList', items, pos };
}
