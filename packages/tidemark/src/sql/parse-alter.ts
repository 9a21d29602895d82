/** ALTER, DROP, COMMENT ON, and how statements name an object's type. */
import type { Ident, ObjectName, ObjectType, OptionValue } from './ast.ts';
import type { CommentStatement, DropStatement, Statement } from './ast-statement.ts';
import type { Cursor } from './cursor.ts';
import { parseOptionList, parseOptionName } from './parse-options.ts';
import { parseSetValues, parseVariableName } from './parse-session.ts';

/** Longest first where one begins another. */
const OBJECT_TYPES: readonly ObjectType[] = [
  'cluster replica',
  'cluster',
  'materialized view',
  'table',
  'view',
  'index',
  'source',
  'sink',
  'schema',
  'database',
  'connection',
  'secret',
  'type',
  'function',
  'role',
];

/** PostgreSQL's objects that this engine does not have. */
const REFUSED: readonly string[] =
  `access aggregate cast collation constraint conversion default domain event extension
  foreign group language large operator owned policy procedure publication routine rule sequence server statistics
  subscription tablespace text transform trigger user`.split(/\s+/);

export function parseObjectType(c: Cursor): ObjectType {
  const found = OBJECT_TYPES.find((type) => c.isWords(...type.split(' ')));
  if (found === undefined) {
    const refused = REFUSED.find((word) => c.isWord(word));
    if (refused !== undefined) throw c.unsupported(refused.toUpperCase());
    throw c.syntaxError();
  }
  c.expect(...found.split(' '));
  return found;
}

/** Objects outside any schema: one part. */
const GLOBAL: ReadonlySet<ObjectType> = new Set(['cluster', 'database', 'role']);

export function parseObjectName(c: Cursor, objectType: ObjectType): ObjectName {
  if (objectType === 'cluster replica') {
    const cluster = c.ident();
    c.expectSymbol('.');
    return { parts: [cluster, c.label()], pos: cluster.pos };
  }
  if (!GLOBAL.has(objectType)) return c.name();
  const name = c.ident();
  return { parts: [name], pos: name.pos };
}

// ---- ALTER

interface Target {
  readonly objectType: ObjectType;
  readonly ifExists: boolean;
  readonly name: ObjectName;
  readonly pos: number;
}

type AlterRule = (c: Cursor, target: Target) => Statement;

/** The action's words -> the rest of it. */
const ACTIONS: readonly (readonly [string, AlterRule])[] = [
  ['rename to', (c, target) => ({ kind: 'alterRename', ...target, to: c.ident() })],
  ['set schema', (c, target) => ({ kind: 'alterSetSchema', ...target, schema: c.name() })],
  ['swap with', (c, target) => ({ kind: 'alterSwap', ...target, with: c.ident() })],
  ['owner to', (c, target) => ({ kind: 'alterOwner', ...target, owner: parseRole(c) })],
  ['apply replacement', applyReplacement],
  ['set', alterSet],
  [
    'reset',
    (c, target) => ({ kind: 'alterReset', ...target, options: c.parenList(() => parseOptionName(c)) }),
  ],
  ['as', alterSecret],
];

/** Actions on tables and the like that are recognised. */
const REFUSED_ACTIONS: readonly string[] =
  `add alter attach cluster detach disable drop enable force inherit no of rename replica validate`.split(
    ' ',
  );

export function parseAlter(c: Cursor): Statement {
  const { pos } = c.expect('alter');
  if (c.accept('system')) return parseAlterSystem(c, pos);
  const objectType = parseObjectType(c);
  const ifExists = c.ifExists();
  if (c.isWord('only')) throw c.unsupported('ONLY');
  const target: Target = { objectType, ifExists, name: parseObjectName(c, objectType), pos };
  for (const [words, rule] of ACTIONS) {
    if (c.accept(...words.split(' '))) return rule(c, target);
  }
  const refused = REFUSED_ACTIONS.find((word) => c.isWord(word));
  if (refused !== undefined) {
    throw c.unsupported(`ALTER ${objectType.toUpperCase()} … ${refused.toUpperCase()}`);
  }
  throw c.syntaxError();
}

function alterSet(c: Cursor, target: Target): Statement {
  if (!c.isSymbol('(') && c.peek().type === 'word') {
    throw c.unsupported(`ALTER ${target.objectType.toUpperCase()} … SET ${c.peek().text.toUpperCase()}`);
  }
  return { kind: 'alterSet', ...target, options: parseOptionList(c) };
}

/** A role's name, or one of the words for one's own. */
function parseRole(c: Cursor): Ident {
  const { type, text } = c.peek();
  const own = ['current_user', 'current_role', 'session_user'].includes(text);
  if (type === 'word' && !own && c.keywordClass(c.peek()) === 'reserved') throw c.syntaxError();
  return c.label();
}

function applyReplacement(c: Cursor, target: Target): Statement {
  if (target.objectType !== 'materialized view') throw c.syntaxError(c.previous);
  return { kind: 'alterApplyReplacement', ...target, replacement: c.name() };
}

function alterSecret(c: Cursor, target: Target): Statement {
  if (target.objectType !== 'secret') throw c.syntaxError(c.previous);
  return { kind: 'alterSecret', ...target, value: c.rules.expr(c) };
}

function parseAlterSystem(c: Cursor, pos: number): Statement {
  if (c.accept('reset')) {
    return { kind: 'alterSystemReset', name: c.accept('all') ? undefined : parseVariableName(c), pos };
  }
  c.expect('set');
  const name = parseVariableName(c);
  if (!c.acceptSymbol('=')) c.expect('to');
  const values: readonly OptionValue[] | undefined = parseSetValues(c);
  return { kind: 'alterSystemSet', name, values, pos };
}

// ---- DROP, COMMENT

export function parseDrop(c: Cursor): DropStatement {
  const { pos } = c.expect('drop');
  const objectType = parseObjectType(c);
  if (c.isWord('concurrently')) throw c.unsupported('DROP INDEX CONCURRENTLY');
  const ifExists = c.ifExists();
  const name = () => parseObjectName(c, objectType);
  const names = objectType === 'database' ? [name()] : c.list(name);
  return { kind: 'drop', objectType, ifExists, names, behavior: c.oneOf(['cascade', 'restrict']), pos };
}

export function parseComment(c: Cursor): CommentStatement {
  const { pos } = c.expect('comment', 'on');
  const objectType = c.accept('column') ? 'column' : parseObjectType(c);
  const name = objectType === 'column' ? c.name() : parseObjectName(c, objectType);
  c.expect('is');
  const comment = c.accept('null') ? undefined : c.stringLiteral();
  return { kind: 'comment', objectType, name, comment, pos };
}
