/** COPY, of a table, a query or a SUBSCRIBE. */
import type { Expr, Query, SqlOption } from './ast.ts';
import type { CopyStatement, SubscribeStatement } from './ast-statement.ts';
import type { Cursor } from './cursor.ts';
import { parseOptionList } from './parse-options.ts';
import { parseSubscribe } from './parse-stream.ts';

export function parseCopy(c: Cursor): CopyStatement {
  const { pos } = c.expect('copy');
  if (c.accept('binary')) {
    if (!c.isColumnName()) throw c.syntaxError();
    throw c.unsupported('COPY BINARY', pos);
  }
  const source = c.isSymbol('(') ? parseCopyQuery(c) : parseCopyTable(c);
  const direction = c.oneOf(['from', 'to']);
  if (direction === undefined) throw c.syntaxError();
  if (direction === 'from' && source.kind !== 'copyTable') throw c.syntaxError(c.previous);
  if (c.isWord('program')) throw c.unsupported('COPY PROGRAM');
  const client = c.oneOf(['stdin', 'stdout']) !== undefined;
  const location = client ? undefined : parseLocation(c);
  const options = parseCopyOptions(c);
  if (c.isWord('where')) throw c.unsupported('COPY … WHERE');
  return { kind: 'copy', direction, source, location, options, pos };
}

function parseCopyQuery(c: Cursor): Query | SubscribeStatement {
  c.expectSymbol('(');
  if (['insert', 'update', 'delete', 'merge'].some((word) => c.isWord(word))) {
    throw c.unsupported('COPY of a statement that changes data');
  }
  const query = c.isWord('subscribe') ? parseSubscribe(c) : c.rules.query(c);
  c.expectSymbol(')');
  return query;
}

function parseCopyTable(c: Cursor): CopyStatement['source'] {
  const table = c.name();
  return { kind: 'copyTable', table, columns: c.optionalIdentList(), pos: table.pos };
}

/** A literal or a parameter. */
function parseLocation(c: Cursor): Expr {
  const { type } = c.peek();
  if (type !== 'string' && type !== 'param') throw c.syntaxError();
  return c.rules.primary(c);
}

/** `[WITH] (FORMAT csv, …)`, or the old `[WITH] CSV HEADER DELIMITER ','`. */
function parseCopyOptions(c: Cursor): SqlOption[] {
  const old = oldDelimiters(c);
  c.accept('with');
  if (c.isSymbol('(')) return [...old, ...parseOptionList(c)];
  const options = old;
  for (;;) {
    const option = parseOldOption(c);
    if (option === undefined) return options;
    options.push(option);
  }
}

/** `[USING] DELIMITERS ','`, older still. */
function oldDelimiters(c: Cursor): SqlOption[] {
  const { pos } = c.peek();
  const using = c.accept('using');
  if (!c.accept('delimiters')) {
    if (using) throw c.syntaxError();
    return [];
  }
  return [{ name: 'delimiter', value: stringValue(c), pos }];
}

function stringValue(c: Cursor): SqlOption['value'] {
  const { text, pos } = c.expectType('string');
  return { kind: 'string', value: text, pos };
}

function parseOldOption(c: Cursor): SqlOption | undefined {
  const { pos } = c.peek();
  if (c.accept('binary')) return { name: 'format', value: { kind: 'word', text: 'binary', pos }, pos };
  if (c.accept('csv')) return { name: 'format', value: { kind: 'word', text: 'csv', pos }, pos };
  if (c.accept('header')) return { name: 'header', value: { kind: 'boolean', value: true, pos }, pos };
  if (c.accept('freeze')) throw c.unsupported('COPY FREEZE', pos);
  if (c.accept('force')) return parseForce(c, pos);
  const name = c.oneOf(['delimiter', 'null', 'quote', 'escape', 'encoding']);
  if (name === undefined) return undefined;
  if (name !== 'encoding') c.accept('as');
  return { name, value: stringValue(c), pos };
}

/** `FORCE QUOTE a, b`, `FORCE NOT NULL a`, `FORCE NULL a`. */
function parseForce(c: Cursor, pos: number): SqlOption {
  const name = c.accept('quote') ? 'force_quote' : c.accept('not', 'null') ? 'force_not_null' : 'force_null';
  if (name === 'force_null') c.expect('null');
  const at = c.pos;
  if (name === 'force_quote' && c.acceptSymbol('*'))
    return { name, value: { kind: 'word', text: '*', pos: at }, pos };
  const items = c
    .list(() => c.ident())
    .map((column) => ({ kind: 'word', text: column.name, pos: column.pos }) as const);
  return { name, value: { kind: 'optionList', items, pos: at }, pos };
}
