/** Transactions, settings, prepared statements. */
import type { OptionValue } from './ast.ts';
import type { PreparableStatement, Statement, TransactionModes } from './ast-statement.ts';
import type { Cursor } from './cursor.ts';
import { parseType } from './parse-type.ts';

// ---- Transactions

const ISOLATION_LEVELS = [
  'strict serializable',
  'serializable',
  'repeatable read',
  'read committed',
  'read uncommitted',
] as const;

/** Modes in any order, commas optional; the last of a kind counts. */
function parseModes(c: Cursor): TransactionModes {
  let modes: TransactionModes = { isolation: undefined, readOnly: undefined, deferrable: undefined };
  for (;;) {
    const mode = parseMode(c);
    if (mode === undefined) return modes;
    modes = { ...modes, ...mode };
    if (c.acceptSymbol(',') && !startsMode(c)) throw c.syntaxError();
  }
}

const startsMode = (c: Cursor): boolean =>
  ['isolation', 'read', 'deferrable', 'not'].some((word) => c.isWord(word));

function parseMode(c: Cursor): Partial<TransactionModes> | undefined {
  if (c.accept('isolation')) {
    c.expect('level');
    const isolation = ISOLATION_LEVELS.find((level) => c.accept(...level.split(' ')));
    if (isolation === undefined) throw c.syntaxError();
    return { isolation };
  }
  if (c.accept('read')) {
    const readOnly = c.accept('only');
    if (!readOnly) c.expect('write');
    return { readOnly };
  }
  if (c.accept('deferrable')) return { deferrable: true };
  if (!c.accept('not')) return undefined;
  c.expect('deferrable');
  return { deferrable: false };
}

/** BEGIN, START TRANSACTION. */
export function parseBegin(c: Cursor): Statement {
  const { pos } = c.peek();
  if (c.accept('start')) c.expect('transaction');
  else {
    c.expect('begin');
    c.oneOf(['work', 'transaction']);
  }
  return { kind: 'begin', modes: parseModes(c), pos };
}

/** COMMIT, END, ROLLBACK, ABORT. */
export function parseEnd(c: Cursor): Statement {
  const word = c.next();
  const kind = word.text === 'commit' || word.text === 'end' ? 'commit' : 'rollback';
  if (c.isWord('prepared')) throw c.unsupported('a prepared transaction');
  c.oneOf(['work', 'transaction']);
  if (kind === 'rollback' && c.isWord('to')) throw c.unsupported('SAVEPOINT');
  let chain = false;
  if (c.accept('and')) {
    chain = !c.accept('no');
    c.expect('chain');
  }
  return { kind, chain, pos: word.pos };
}

// ---- Settings

/** Settings with a syntax of their own -> their name. */
const SPECIAL_NAMES: readonly (readonly [string, string])[] = [
  ['time zone', 'timezone'],
  ['transaction isolation level', 'transaction_isolation'],
  ['session authorization', 'session_authorization'],
];

/** A setting's name for SHOW and RESET. */
export function parseSettingName(c: Cursor): string {
  const special = SPECIAL_NAMES.find(([words]) => c.accept(...words.split(' ')));
  return special === undefined ? parseVariableName(c) : special[1];
}

/** `a` or `a.b`, case folded: names of settings are not case-sensitive, quoted or not. */
export function parseVariableName(c: Cursor): string {
  const parts = [c.ident().name];
  while (c.acceptSymbol('.')) parts.push(c.ident().name);
  return parts.join('.').toLowerCase();
}

export function parseSet(c: Cursor): Statement {
  const { pos } = c.expect('set');
  if (c.accept('session', 'characteristics')) {
    c.expect('as', 'transaction');
    return { kind: 'setTransaction', scope: 'session', modes: parseRequiredModes(c), pos };
  }
  // The words are settings' names too when `=` or TO follows.
  const qualifier = followedByName(c) ? c.oneOf(['session', 'local']) : undefined;
  const scope = qualifier === 'local' ? 'local' : 'session';
  if (c.isWord('transaction') && !isAssignment(c, 1)) {
    c.next();
    if (c.isWord('snapshot')) throw c.unsupported('SET TRANSACTION SNAPSHOT');
    return { kind: 'setTransaction', scope: 'transaction', modes: parseRequiredModes(c), pos };
  }
  const special = parseSpecialSet(c);
  if (special !== undefined) return { kind: 'set', scope, ...special, pos };
  const name = parseVariableName(c);
  if (c.isWords('from', 'current')) throw c.unsupported('SET … FROM CURRENT');
  if (!c.acceptSymbol('=')) c.expect('to');
  return { kind: 'set', scope, name, values: parseSetValues(c), pos };
}

const isAssignment = (c: Cursor, ahead: number): boolean => c.isSymbol('=', ahead) || c.isWord('to', ahead);
const followedByName = (c: Cursor): boolean =>
  !isAssignment(c, 1) && !c.isSymbol('.', 1) && !c.isWord('from', 1) && !c.isWord('authorization', 1);

function parseRequiredModes(c: Cursor): TransactionModes {
  if (!startsMode(c)) throw c.syntaxError();
  return parseModes(c);
}

type Setting = { readonly name: string; readonly values: readonly OptionValue[] | undefined };

/** TIME ZONE, SCHEMA, NAMES, ROLE, SESSION AUTHORIZATION. */
function parseSpecialSet(c: Cursor): Setting | undefined {
  const value = () => [parseSetValue(c)];
  if (c.accept('time', 'zone')) {
    const unset = c.oneOf(['default', 'local']) !== undefined;
    if (c.isWord('interval')) throw c.unsupported('SET TIME ZONE INTERVAL');
    if (!unset && c.keywordClass(c.peek()) !== undefined) throw c.syntaxError();
    return { name: 'timezone', values: unset ? undefined : value() };
  }
  const text = c.peek(1).type === 'string';
  if (c.isWord('schema') && text) {
    c.next();
    return { name: 'search_path', values: value() };
  }
  if (c.isWord('catalog') && text) throw c.unsupported('SET CATALOG');
  if (c.isWords('xml', 'option')) throw c.unsupported('SET XML OPTION');
  if (isAssignment(c, 1) || c.isWord('from', 1)) return undefined;
  if (c.accept('names')) {
    const unset = c.accept('default') || c.isEnd() || c.isSymbol(';');
    if (!unset && c.peek().type !== 'string') throw c.syntaxError();
    return { name: 'client_encoding', values: unset ? undefined : value() };
  }
  if (c.accept('role')) return { name: 'role', values: [parseRole(c)] };
  if (c.accept('session', 'authorization')) {
    return { name: 'session_authorization', values: c.accept('default') ? undefined : [parseRole(c)] };
  }
  return undefined;
}

function parseRole(c: Cursor): OptionValue {
  const { type, text } = c.peek();
  const named = type === 'word' || type === 'quoted' || type === 'string';
  if (!named || (type === 'word' && ['true', 'false', 'on'].includes(text))) throw c.syntaxError();
  return parseSetValue(c);
}

/** One value or more; undefined for DEFAULT. */
export function parseSetValues(c: Cursor): OptionValue[] | undefined {
  return c.accept('default') ? undefined : c.list(() => parseSetValue(c));
}

function parseSetValue(c: Cursor): OptionValue {
  const { type, text, pos } = c.peek();
  if (type === 'string') return { kind: 'string', value: c.next().text, pos };
  const sign = type === 'symbol' && (text === '-' || text === '+') ? c.next().text : '';
  if (sign !== '' || type === 'number') {
    return { kind: 'number', text: (sign === '-' ? '-' : '') + c.expectType('number').text, pos };
  }
  const boolean = c.oneOf(['true', 'false']);
  if (boolean !== undefined) return { kind: 'boolean', value: boolean === 'true', pos };
  const reserved = c.keywordClass(c.peek()) === 'reserved' && !c.isWord('on');
  if (reserved) throw c.syntaxError();
  return { kind: 'word', text: c.label().name, pos };
}

export function parseReset(c: Cursor): Statement {
  const { pos } = c.expect('reset');
  return { kind: 'reset', name: c.accept('all') ? undefined : parseSettingName(c), pos };
}

export function parseDiscard(c: Cursor): Statement {
  const { pos } = c.expect('discard');
  const what = c.oneOf(['all', 'plans', 'sequences', 'temp', 'temporary']);
  if (what === undefined) throw c.syntaxError();
  return { kind: 'discard', what: what === 'temporary' ? 'temp' : what, pos };
}

// ---- Prepared statements

export function parsePrepare(c: Cursor, statement: (c: Cursor) => PreparableStatement): Statement {
  const { pos } = c.expect('prepare');
  if (c.isWord('transaction') && c.peek(1).type === 'string') throw c.unsupported('PREPARE TRANSACTION');
  const name = c.ident();
  const types = c.isSymbol('(') ? c.parenList(() => parseType(c)) : [];
  c.expect('as');
  return { kind: 'prepare', name, types, statement: statement(c), pos };
}

export function parseExecute(c: Cursor): Statement {
  const { pos } = c.expect('execute');
  const name = c.ident();
  const args = c.isSymbol('(') ? c.parenList(() => c.rules.expr(c)) : [];
  return { kind: 'execute', name, args, pos };
}

export function parseDeallocate(c: Cursor): Statement {
  const { pos } = c.expect('deallocate');
  // `DEALLOCATE prepare` names a statement called prepare.
  if (c.isWord('prepare') && (c.isColumnName(1) || c.isWord('all', 1))) c.next();
  return { kind: 'deallocate', name: c.accept('all') ? undefined : c.ident(), pos };
}
