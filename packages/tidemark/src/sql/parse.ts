/**
 * Text to statements: the entry to the grammar. One table says which rule reads a statement by its first word.
 *
 * Positions in a tree count from the start of the whole text given, as PostgreSQL reports them for a text of several
 * statements. Nothing but `SqlError` comes out of any input: nesting, the tree's height and the text's size are bounded.
 *
 *     parseStatements('select 1; select 2')  // two, with the source text of each
 */
import { SqlError } from '../base/error.ts';
import type { Expr, TypeName } from './ast.ts';
import type { PreparableStatement, Statement } from './ast-statement.ts';
import { Cursor, type Rules } from './cursor.ts';
import { parseAlter, parseComment, parseDrop } from './parse-alter.ts';
import { parseCopy } from './parse-copy.ts';
import { parseCreate } from './parse-create.ts';
import {
  parseDelete,
  parseInsert,
  parseSelectStatement,
  parseUpdate,
  parseWithStatement,
} from './parse-data.ts';
import { parseExpr as exprRule, parseOperand } from './parse-expr.ts';
import { parseQuery, parseQueryRest } from './parse-query.ts';
import {
  parseBegin,
  parseDeallocate,
  parseDiscard,
  parseEnd,
  parseExecute,
  parsePrepare,
  parseReset,
  parseSet,
} from './parse-session.ts';
import { parseExplain, parseShow } from './parse-show.ts';
import { parseClose, parseDeclare, parseFetch, parseSubscribe } from './parse-stream.ts';
import { parseType } from './parse-type.ts';
import { exceedsHeight } from './walk.ts';

export interface ParsedStatement {
  readonly statement: Statement;
  /** Its source, from its first token to its last. */
  readonly text: string;
  /** Where that begins in the whole text, in characters. */
  readonly pos: number;
}

/** Nodes from root to leaf: what a recursive reader of the tree must stand. */
const MAX_HEIGHT = 1000;

const RULES: Rules = { expr: exprRule, primary: parseOperand, query: parseQuery, queryRest: parseQueryRest };

type StatementRule = (c: Cursor) => Statement;

const STATEMENTS: ReadonlyMap<string, StatementRule> = new Map<string, StatementRule>([
  ['select', parseSelectStatement],
  ['values', parseSelectStatement],
  ['table', parseSelectStatement],
  ['with', parseWithStatement],
  ['insert', (c) => parseInsert(c)],
  ['update', (c) => parseUpdate(c)],
  ['delete', (c) => parseDelete(c)],
  ['copy', parseCopy],
  ['subscribe', parseSubscribe],
  ['declare', parseDeclare],
  ['fetch', parseFetch],
  ['close', parseClose],
  ['create', parseCreate],
  ['alter', parseAlter],
  ['drop', parseDrop],
  ['comment', parseComment],
  ['show', parseShow],
  ['explain', parseExplain],
  ['begin', parseBegin],
  ['start', parseBegin],
  ['commit', parseEnd],
  ['end', parseEnd],
  ['rollback', parseEnd],
  ['abort', parseEnd],
  ['set', parseSet],
  ['reset', parseReset],
  ['discard', parseDiscard],
  ['prepare', (c) => parsePrepare(c, parsePreparable)],
  ['execute', parseExecute],
  ['deallocate', parseDeallocate],
]);

/** PostgreSQL's statements that this engine does not have. */
const REFUSED: ReadonlySet<string> = new Set(
  `analyse analyze call checkpoint cluster do grant import listen load lock merge move notify reassign refresh reindex
  release revoke savepoint security truncate unlisten vacuum`.split(/\s+/),
);

const PREPARABLE: ReadonlySet<string> = new Set(
  'select values table with insert update delete subscribe'.split(' '),
);

function parsePreparable(c: Cursor): PreparableStatement {
  const { type, text } = c.peek();
  const rule = type === 'word' && PREPARABLE.has(text) ? STATEMENTS.get(text) : undefined;
  if (rule !== undefined) return rule(c) as PreparableStatement;
  if (c.isSymbol('(')) return parseSelectStatement(c);
  if (c.isWord('merge')) throw c.unsupported('MERGE');
  throw c.syntaxError();
}

function parseOne(c: Cursor): Statement {
  const { type, text } = c.peek();
  if (type === 'symbol' && text === '(') return parseSelectStatement(c);
  const rule = type === 'word' ? STATEMENTS.get(text) : undefined;
  if (rule !== undefined) return rule(c);
  if (type === 'word' && REFUSED.has(text)) throw c.unsupported(text.toUpperCase());
  throw c.syntaxError();
}

function checked<T extends object>(c: Cursor, tree: T): T {
  if (c.mayExceed(MAX_HEIGHT) && exceedsHeight(tree, MAX_HEIGHT)) {
    throw new SqlError('statement_too_complex', 'statement is nested too deeply', {
      detail: `its tree may be at most ${MAX_HEIGHT} nodes high`,
    });
  }
  return tree;
}

/** All statements of a text; between semicolons there may be nothing. */
export function parseStatements(text: string): ParsedStatement[] {
  const c = new Cursor(text, RULES);
  const parsed: ParsedStatement[] = [];
  while (!c.isEnd()) {
    if (c.acceptSymbol(';')) continue;
    const first = c.peek();
    const statement = checked(c, parseOne(c));
    if (!c.isEnd()) {
      const end = c.previous?.end ?? first.start;
      c.expectSymbol(';');
      parsed.push({ statement, text: text.slice(first.start, end), pos: first.pos });
    } else parsed.push({ statement, text: text.slice(first.start, c.previous?.end), pos: first.pos });
  }
  return parsed;
}

/** The one statement of a text, with or without a semicolon. */
export function parseStatement(text: string): Statement {
  const parsed = parseStatements(text);
  const [only, second] = parsed;
  if (only === undefined) throw new SqlError('syntax_error', 'syntax error at end of input', { position: 1 });
  if (second !== undefined) {
    throw new SqlError('syntax_error', 'expected one statement, got more', { position: second.pos + 1 });
  }
  return only.statement;
}

function parseWhole<T extends object>(text: string, rule: (c: Cursor) => T): T {
  const c = new Cursor(text, RULES);
  const tree = rule(c);
  if (!c.isEnd()) throw c.syntaxError();
  return checked(c, tree);
}

export const parseExpr = (text: string): Expr => parseWhole(text, exprRule);

export const parseTypeName = (text: string): TypeName => parseWhole(text, parseType);
