/** Identifiers, names, literals and options as text that reads back as the same. */
import type { Expr, Ident, ObjectName, OptionValue, SqlOption } from './ast.ts';
import { KEYWORDS } from './keywords.ts';

const SIMPLE = /^[a-z_][a-z0-9_]*$/;
/** Unreserved words that mean something where a name may stand: AS OF, UNBOUNDED PRECEDING. */
const AMBIGUOUS: ReadonlySet<string> = new Set(['of', 'unbounded']);

const inQuotes = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** The identifier, in quotes where it needs them anywhere. */
export function quoteIdent(name: string): string {
  const keyword = KEYWORDS.get(name);
  const plain =
    SIMPLE.test(name) && (keyword === undefined || keyword === 'unreserved') && !AMBIGUOUS.has(name);
  return plain ? name : inQuotes(name);
}

/** In quotes also when it is one of these words. */
export const quoteUnless = (name: string, taken: ReadonlySet<string>): string =>
  taken.has(name) ? inQuotes(name) : quoteIdent(name);

export const printIdent = (ident: Ident): string => quoteIdent(ident.name);

export const printName = (name: ObjectName): string => name.parts.map(printIdent).join('.');

export const printIdents = (idents: readonly Ident[]): string => idents.map(printIdent).join(', ');

/** ` (a, b)`, or nothing for no columns. */
export const printColumns = (columns: readonly Ident[]): string =>
  columns.length === 0 ? '' : ` (${printIdents(columns)})`;

export const quoteString = (value: string): string => `'${value.replaceAll("'", "''")}'`;

/** The parts that are there, one space between. */
export const words = (...parts: readonly (string | false | undefined)[]): string =>
  parts.filter((part) => part !== false && part !== undefined && part !== '').join(' ');

/** Whether the keyword of this name, written without quotes, gives this type back. */
export function isBareType(name: string, modifiers: readonly Expr[]): boolean {
  const precision =
    modifiers.every((m) => m.kind === 'number' && /^\d{1,9}$/.test(m.text)) && modifiers.length <= 1;
  switch (name) {
    case 'numeric':
      return true;
    case 'json':
      return modifiers.length === 0;
    case 'bit':
      // Without a length it is `bit(1)`.
      return precision && modifiers.length === 1;
    case 'interval':
    case 'timestamp':
    case 'time':
      return precision;
    default:
      return false;
  }
}

// ---- Options

/** Words that read as something else where an option's name or value stands. */
const OPTION_NAMES: ReadonlySet<string> = new Set(['refresh']);
const OPTION_WORDS: ReadonlySet<string> = new Set(['true', 'false']);

export function printOptionName(name: string): string {
  const plain = name.split(' ').every((word) => SIMPLE.test(word)) && !OPTION_NAMES.has(name);
  return plain ? name.toUpperCase() : inQuotes(name);
}

export const printOption = (option: SqlOption): string => withValue(option, ' = ');

function withValue({ name, value }: SqlOption, between: string): string {
  return value === undefined
    ? printOptionName(name)
    : printOptionName(name) + between + printOptionValue(value);
}

/** `(a = 1, b = 2)` */
export const printOptions = (options: readonly SqlOption[]): string =>
  `(${options.map(printOption).join(', ')})`;

/** `(a 1, b 2)`: as PostgreSQL wants them in COPY and EXPLAIN. Only names of several words need their `=`. */
export const printPlainOptions = (options: readonly SqlOption[]): string =>
  `(${options.map((option) => withValue(option, option.name.includes(' ') ? ' = ' : ' ')).join(', ')})`;

/** `WITH (…)`, or nothing for no options. */
export const printWithOptions = (options: readonly SqlOption[]): string =>
  options.length === 0 ? '' : `WITH ${printOptions(options)}`;

function printOptionValue(value: OptionValue): string {
  switch (value.kind) {
    case 'string':
      return quoteString(value.value);
    case 'number':
      return value.text;
    case 'boolean':
      return value.value ? 'true' : 'false';
    case 'secret':
      return `SECRET ${printName(value.name)}`;
    case 'optionList':
      return `(${value.items.map(printOptionValue).join(', ')})`;
    case 'word':
      if (value.text === '*') return '*';
      return SIMPLE.test(value.text) && !OPTION_WORDS.has(value.text) ? value.text : inQuotes(value.text);
  }
}

/** A value of SET: reserved words need quotes there, but for ON. */
export function printSetValue(value: OptionValue): string {
  if (value.kind !== 'word' || value.text === 'on') return printOptionValue(value);
  return KEYWORDS.get(value.text) === 'reserved' ? inQuotes(value.text) : printOptionValue(value);
}

/** A setting's name, its dots between identifiers. */
export const printSetting = (name: string, taken: ReadonlySet<string> = new Set()): string =>
  name
    .split('.')
    .map((part) => quoteUnless(part, taken))
    .join('.');
