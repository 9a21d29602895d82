/** SUBSCRIBE and cursors. */
import type {
  CloseStatement,
  DeclareCursorStatement,
  FetchStatement,
  SelectStatement,
  SubscribeOutput,
  SubscribeStatement,
} from './ast-statement.ts';
import type { Cursor } from './cursor.ts';
import { parseOrderBy } from './parse-call.ts';
import { parseSelectStatement } from './parse-data.ts';
import { parseWithOptions } from './parse-options.ts';
import { parseSubquery } from './parse-primary.ts';
import { parseAsOf } from './parse-query.ts';

/** ENVELOPE and WITHIN TIMESTAMP may stand before or after AS OF and UP TO, once. */
export function parseSubscribe(c: Cursor): SubscribeStatement {
  const { pos } = c.expect('subscribe');
  c.accept('to');
  const relation = c.isSymbol('(') ? parseSubquery(c) : c.name();
  const before = parseOutput(c);
  const options = parseWithOptions(c);
  const asOf = parseAsOf(c);
  const upTo = c.accept('up', 'to') ? c.rules.expr(c) : undefined;
  const output = before ?? parseOutput(c);
  return { kind: 'subscribe', relation, options, asOf, upTo, output, pos };
}

function parseOutput(c: Cursor): SubscribeOutput | undefined {
  const { pos } = c.peek();
  if (c.accept('envelope')) {
    if (c.isWord('debezium')) throw c.unsupported('ENVELOPE DEBEZIUM', pos);
    c.expect('upsert');
    c.expectSymbol('(');
    c.expect('key');
    const key = c.identList();
    c.expectSymbol(')');
    return { kind: 'envelopeUpsert', key, pos };
  }
  if (!c.accept('within', 'timestamp')) return undefined;
  if (!c.isWord('order')) throw c.syntaxError();
  return { kind: 'withinTimestampOrderBy', orderBy: parseOrderBy(c), pos };
}

export function parseDeclare(c: Cursor): DeclareCursorStatement {
  const { pos } = c.expect('declare');
  const name = c.ident();
  let binary = false;
  let scroll: boolean | undefined;
  for (;;) {
    if (c.accept('binary')) binary = true;
    else if (c.accept('no', 'scroll')) scroll = false;
    else if (c.accept('scroll')) scroll = true;
    else if (c.oneOf(['insensitive', 'asensitive']) === undefined) break;
  }
  c.expect('cursor');
  const hold = c.accept('with', 'hold');
  if (!hold) c.accept('without', 'hold');
  c.expect('for');
  return { kind: 'declareCursor', name, binary, scroll, hold, statement: parseCursorStatement(c), pos };
}

function parseCursorStatement(c: Cursor): SelectStatement | SubscribeStatement {
  return c.isWord('subscribe') ? parseSubscribe(c) : parseSelectStatement(c);
}

/** `FETCH [FORWARD] [n | ALL | NEXT] [FROM | IN] c [WITH (…)]`: cursors go forward only. */
export function parseFetch(c: Cursor): FetchStatement {
  const { pos } = c.expect('fetch');
  const count = parseCount(c);
  c.oneOf(['from', 'in']);
  const cursor = c.ident();
  return { kind: 'fetch', cursor, count, options: parseWithOptions(c), pos };
}

const BACKWARD = ['prior', 'first', 'last', 'absolute', 'relative', 'backward'] as const;

function parseCount(c: Cursor): number | 'all' {
  // A cursor may bear a direction's name: it is one only when something to fetch from follows.
  const next = c.peek(1);
  const direction =
    next.type !== 'end' && !(next.type === 'symbol' && next.text === ';') && !c.isWord('with', 1);
  if (direction) {
    const backward = BACKWARD.find((word) => c.isWord(word));
    if (backward !== undefined) throw c.unsupported(`FETCH ${backward.toUpperCase()}`);
    if (c.accept('next')) return 1;
    if (c.accept('forward') && !c.isWord('all') && c.peek().type !== 'number') return 1;
  }
  if (c.accept('all')) return 'all';
  if (c.isSymbol('-')) throw c.unsupported('FETCH of a negative count');
  return c.peek().type === 'number' ? c.integer() : 1;
}

export function parseClose(c: Cursor): CloseStatement {
  const { pos } = c.expect('close');
  return { kind: 'close', cursor: c.accept('all') ? undefined : c.ident(), pos };
}
