/**
 * The token stream all grammar files share: one token of lookahead in use, any number on demand, the ways to take a
 * name, PostgreSQL's error messages, and the bounds (nesting, size) that keep any input from exhausting the stack.
 *
 * Expressions hold queries and queries hold expressions: `rules` are the entry points a grammar file calls upwards,
 * so that files do not import each other in a circle. `parse.ts` ties them.
 */
import { SqlError, unsupported } from '../base/error.ts';
import type { Expr, Ident, ObjectName, Query } from './ast.ts';
import { KEYWORDS, type KeywordClass } from './keywords.ts';
import { Lexer, type Token } from './lexer.ts';

/** Levels of parentheses, subqueries, CASE … within one statement. */
const MAX_NESTING = 500;
/** UTF-16 units of one text. */
export const MAX_TEXT = 16 * 1024 * 1024;

/** Nodes that one level of nesting can add to a path: subquery, query, select, table. */
const NODES_A_LEVEL = 4;

export interface Rules {
  /** `a_expr` of PostgreSQL's grammar. */
  readonly expr: (c: Cursor) => Expr;
  /** `c_expr`: without operators. */
  readonly primary: (c: Cursor) => Expr;
  /** A query without its own parentheses, to its last clause. */
  readonly query: (c: Cursor) => Query;
  /** The rest of a query whose first operand, in parentheses, was read already. */
  readonly queryRest: (c: Cursor, first: Query) => Query;
}

const COLUMN_NAMES: ReadonlySet<KeywordClass> = new Set(['unreserved', 'colName']);
const TYPE_NAMES: ReadonlySet<KeywordClass> = new Set(['unreserved', 'typeFunc']);

export class Cursor {
  readonly text: string;
  readonly rules: Rules;
  readonly #lexer: Lexer;
  readonly #tokens: Token[] = [];
  #index = 0;
  /** How far a phrase of several words matched before it failed. */
  #farthest = 0;
  #depth = 0;
  /** Deepest nesting seen, and all links of left-deep chains: together they bound the height of the tree. */
  #reach = 0;
  #links = 0;

  constructor(text: string, rules: Rules) {
    if (text.length > MAX_TEXT) {
      throw new SqlError('program_limit_exceeded', 'statement is too large', {
        detail: `it has ${text.length} characters, at most ${MAX_TEXT} are read`,
      });
    }
    this.text = text;
    this.rules = rules;
    this.#lexer = new Lexer(text);
  }

  // ---- Tokens

  peek(ahead = 0): Token {
    const tokens = this.#tokens;
    while (tokens.length <= this.#index + ahead) tokens.push(this.#lexer.next());
    return tokens[this.#index + ahead] as Token;
  }

  next(): Token {
    const token = this.peek();
    if (token.type !== 'end') this.#index++;
    return token;
  }

  get pos(): number {
    return this.peek().pos;
  }

  /** The token taken last. */
  get previous(): Token | undefined {
    return this.#tokens[this.#index - 1];
  }

  mark(): number {
    return this.#index;
  }

  /** Back to a mark: for the few places where a bounded prefix fits two rules. */
  reset(mark: number): void {
    this.#index = mark;
  }

  isWord(word: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.type === 'word' && token.text === word;
  }

  isWords(...words: readonly string[]): boolean {
    const matched = words.findIndex((word, i) => !this.isWord(word, i));
    if (matched < 0) return true;
    // Some rule went along with what is here: an error is where it stopped, as a table-driven parser reports it.
    if (matched > 0) this.#farthest = Math.max(this.#farthest, this.#index + matched);
    return false;
  }

  /** Two words that are one token to PostgreSQL: if the second is missing, the first is what an error names. */
  isPair(first: string, second: string): boolean {
    return this.isWord(first) && this.isWord(second, 1);
  }

  isSymbol(symbol: string, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.type === 'symbol' && token.text === symbol;
  }

  isEnd(): boolean {
    return this.peek().type === 'end';
  }

  /** Takes the words if all of them come next, else nothing. */
  accept(...words: readonly string[]): boolean {
    if (!this.isWords(...words)) return false;
    this.#index += words.length;
    return true;
  }

  acceptPair(first: string, second: string): boolean {
    if (!this.isPair(first, second)) return false;
    this.#index += 2;
    return true;
  }

  acceptSymbol(symbol: string): boolean {
    if (!this.isSymbol(symbol)) return false;
    this.#index++;
    return true;
  }

  expect(...words: readonly string[]): Token {
    const first = this.peek();
    for (const word of words) if (!this.accept(word)) throw this.syntaxError();
    return first;
  }

  expectSymbol(symbol: string): Token {
    const token = this.peek();
    if (!this.acceptSymbol(symbol)) throw this.syntaxError();
    return token;
  }

  expectType(type: Token['type']): Token {
    const token = this.peek();
    if (token.type !== type) throw this.syntaxError();
    this.#index++;
    return token;
  }

  /** The word of the table that comes next, taken; undefined when none does. */
  oneOf<W extends string>(words: readonly W[]): W | undefined {
    const token = this.peek();
    const found = token.type === 'word' ? words.find((word) => word === token.text) : undefined;
    if (found !== undefined) this.#index++;
    return found;
  }

  // ---- Lists

  /** One or more, between commas. */
  list<T>(item: () => T): T[] {
    const items = [item()];
    while (this.acceptSymbol(',')) items.push(item());
    return items;
  }

  /** `( item, … )`, one or more. */
  parenList<T>(item: () => T): T[] {
    this.expectSymbol('(');
    const items = this.list(item);
    this.expectSymbol(')');
    return items;
  }

  // ---- Names

  keywordClass(token: Token): KeywordClass | undefined {
    return token.type === 'word' ? KEYWORDS.get(token.text) : undefined;
  }

  #isName(ahead: number, allowed: ReadonlySet<KeywordClass>): boolean {
    const token = this.peek(ahead);
    if (token.type === 'quoted') return true;
    if (token.type !== 'word') return false;
    // Tokens of their own in PostgreSQL.
    if (token.text === 'nulls' && (this.isWord('first', ahead + 1) || this.isWord('last', ahead + 1)))
      return false;
    if (token.text === 'without' && this.isWord('time', ahead + 1)) return false;
    const keyword = KEYWORDS.get(token.text);
    return keyword === undefined || allowed.has(keyword);
  }

  /** ColId: what may name a column or table. */
  isColumnName(ahead = 0): boolean {
    return this.#isName(ahead, COLUMN_NAMES);
  }

  isTypeName(ahead = 0): boolean {
    return this.#isName(ahead, TYPE_NAMES);
  }

  ident(): Ident {
    if (!this.isColumnName()) throw this.syntaxError();
    return this.#takeIdent();
  }

  typeIdent(): Ident {
    if (!this.isTypeName()) throw this.syntaxError();
    return this.#takeIdent();
  }

  /** ColLabel: any word at all. */
  label(): Ident {
    const { type } = this.peek();
    if (type !== 'word' && type !== 'quoted') throw this.syntaxError();
    return this.#takeIdent();
  }

  #takeIdent(): Ident {
    const token = this.next();
    return { name: token.text, pos: token.pos };
  }

  /** `a.b.c`: reserved words may follow a dot. */
  name(): ObjectName {
    return this.nameFrom(this.ident());
  }

  nameFrom(first: Ident): ObjectName {
    const parts = [first];
    while (this.isSymbol('.')) {
      this.#index++;
      parts.push(this.label());
    }
    if (parts.length > 4) {
      const written = parts.map((p) => p.name).join('.');
      throw new SqlError('syntax_error', `improper qualified name (too many dotted names): ${written}`, {
        position: first.pos + 1,
      });
    }
    return { parts, pos: first.pos };
  }

  identList(): Ident[] {
    return this.parenList(() => this.ident());
  }

  /** Columns in parentheses, or none. */
  optionalIdentList(): Ident[] {
    return this.isSymbol('(') ? this.identList() : [];
  }

  stringLiteral(): string {
    return this.expectType('string').text;
  }

  /** A whole number that fits an int4. */
  integer(): number {
    const token = this.peek();
    if (token.type !== 'number' || !/^\d+$/.test(token.text) || Number(token.text) > 2_147_483_647) {
      throw this.syntaxError();
    }
    this.#index++;
    return Number(token.text);
  }

  ifExists(): boolean {
    return this.accept('if', 'exists');
  }

  ifNotExists(): boolean {
    return this.accept('if', 'not', 'exists');
  }

  // ---- Errors and bounds

  syntaxError(at?: Token): SqlError {
    const token = at ?? this.peek(Math.max(0, this.#farthest - this.#index));
    const where =
      token.type === 'end' ? 'at end of input' : `at or near "${this.text.slice(token.start, token.end)}"`;
    return new SqlError('syntax_error', `syntax error ${where}`, { position: token.pos + 1 });
  }

  unsupported(what: string, pos: number = this.pos): SqlError {
    return unsupported(what, { position: pos + 1 });
  }

  fail(code: SqlError['code'], message: string, pos: number): SqlError {
    return new SqlError(code, message, { position: pos + 1 });
  }

  /** Every rule that may contain itself enters and leaves; after an error the cursor is not used again. */
  enter(): void {
    this.#depth++;
    if (this.#depth > this.#reach) this.#reach = this.#depth;
    if (this.#depth > MAX_NESTING) {
      throw new SqlError('statement_too_complex', 'statement is nested too deeply', {
        detail: `at most ${MAX_NESTING} levels are read`,
        position: this.pos + 1,
      });
    }
  }

  leave(): void {
    this.#depth--;
  }

  /** One more link of a left-deep chain (`a + b + c`, UNION, JOIN): the parser loops, the tree grows. */
  link(): void {
    this.#links++;
  }

  /** Whether the tree may be higher than `limit`: an upper bound, to be confirmed by a walk. */
  mayExceed(limit: number): boolean {
    return this.#reach * NODES_A_LEVEL + this.#links > limit;
  }
}
