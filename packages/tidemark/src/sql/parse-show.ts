/** SHOW and EXPLAIN. */
import type { Ident, ObjectName, SqlOption } from './ast.ts';
import type {
  ExplainAnalyzeStatement,
  ExplainedObject,
  Explainee,
  ExplainPlanStatement,
  ShowObjectsType,
  Statement,
} from './ast-statement.ts';
import type { Cursor } from './cursor.ts';
import { parseObjectName, parseObjectType } from './parse-alter.ts';
import { parseCreate } from './parse-create.ts';
import {
  parseDelete,
  parseInsert,
  parseSelectStatement,
  parseUpdate,
  parseWithStatement,
} from './parse-data.ts';
import { parseOptionList, parseWithOptions } from './parse-options.ts';
import { parseSettingName } from './parse-session.ts';
import { parseSubscribe } from './parse-stream.ts';

// ---- SHOW

/** Longest first where one begins another. */
const SHOW_OBJECTS: readonly ShowObjectsType[] = [
  'cluster replicas',
  'clusters',
  'objects',
  'tables',
  'views',
  'materialized views',
  'indexes',
  'sources',
  'sinks',
  'schemas',
  'databases',
  'connections',
  'secrets',
  'columns',
];

export function parseShow(c: Cursor): Statement {
  const { pos } = c.expect('show');
  if (c.accept('all')) return { kind: 'showAll', pos };
  if (c.accept('create')) {
    const objectType = parseObjectType(c);
    return { kind: 'showCreate', objectType, name: parseObjectName(c, objectType), pos };
  }
  const objectType = SHOW_OBJECTS.find((words) => c.accept(...words.split(' ')));
  if (objectType === undefined) return { kind: 'showVariable', name: parseSettingName(c), pos };
  return parseShowObjects(c, objectType, pos);
}

function parseShowObjects(c: Cursor, objectType: ShowObjectsType, pos: number): Statement {
  let schema: ObjectName | undefined;
  let on: ObjectName | undefined;
  let cluster: Ident | undefined;
  if (objectType === 'columns') {
    if (c.oneOf(['from', 'on']) === undefined) throw c.syntaxError();
    on = c.name();
  }
  if (c.accept('from')) schema = c.name();
  if (objectType === 'indexes' && c.accept('on')) on = c.name();
  if (c.accept('in', 'cluster')) cluster = c.ident();
  const like = c.accept('like') ? c.stringLiteral() : undefined;
  const where = like === undefined && c.accept('where') ? c.rules.expr(c) : undefined;
  return { kind: 'showObjects', objectType, schema, on, cluster, like, where, pos };
}

// ---- EXPLAIN

export function parseExplain(c: Cursor): Statement {
  const { pos } = c.expect('explain');
  const analyzed = ['memory', 'cpu', 'hydration'].some((word) => c.isWord(word, 1));
  if (c.isWord('analyze') && analyzed) return parseExplainAnalyze(c, pos);
  if (c.accept('timestamp')) {
    const format = parseFormat(c);
    c.expect('for');
    return { kind: 'explainTimestamp', format, explainee: explainedSelect(c), pos };
  }
  const stage = c.oneOf(['raw', 'decorrelated', 'optimized', 'physical']);
  if (stage !== undefined || c.isWord('plan')) {
    c.expect('plan');
    const options = parseWithOptions(c);
    const format = parseFormat(c);
    c.expect('for');
    return { kind: 'explainPlan', stage, options, format, explainee: parseExplainee(c), pos };
  }
  return parsePlainExplain(c, pos);
}

function parseFormat(c: Cursor): 'text' | 'json' {
  if (!c.accept('as')) return 'text';
  const format = c.oneOf(['text', 'json']);
  if (format === undefined) throw c.syntaxError();
  return format;
}

/** `EXPLAIN ANALYZE MEMORY, CPU [WITH SKEW] FOR INDEX i [AS SQL]` */
function parseExplainAnalyze(c: Cursor, pos: number): ExplainAnalyzeStatement {
  c.expect('analyze');
  const properties = c.list(() => {
    const property = c.oneOf(['memory', 'cpu', 'hydration']);
    if (property === undefined) throw c.syntaxError();
    return property;
  });
  const skew = c.accept('with', 'skew');
  c.expect('for');
  const object = parseExplainedObject(c);
  if (object === undefined || object.objectType === 'view') throw c.syntaxError(c.previous);
  return { kind: 'explainAnalyze', properties, skew, asSql: c.accept('as', 'sql'), object, pos };
}

/** PostgreSQL's `EXPLAIN [ANALYZE] [VERBOSE] e` and `EXPLAIN (options) e`. */
function parsePlainExplain(c: Cursor, pos: number): ExplainPlanStatement {
  const options: SqlOption[] = [];
  if (c.isSymbol('(') && !opensSelect(c)) options.push(...parseOptionList(c));
  else {
    for (const words of [['analyze', 'analyse'], ['verbose']] as const) {
      const at = c.pos;
      if (c.oneOf(words) !== undefined) options.push({ name: words[0], value: undefined, pos: at });
    }
  }
  return {
    kind: 'explainPlan',
    stage: undefined,
    options,
    format: 'text',
    explainee: parseExplainee(c),
    pos,
  };
}

const opensSelect = (c: Cursor): boolean =>
  c.isSymbol('(', 1) || ['select', 'values', 'with', 'table'].some((word) => c.isWord(word, 1));

function explainedSelect(c: Cursor): Extract<Explainee, { kind: 'selectStatement' }> {
  if (!startsSelect(c)) throw c.syntaxError();
  return parseSelectStatement(c);
}

const startsSelect = (c: Cursor): boolean =>
  c.isSymbol('(') || ['select', 'values', 'with', 'table'].some((word) => c.isWord(word));

function parseExplainedObject(c: Cursor): ExplainedObject | undefined {
  const { pos } = c.peek();
  for (const objectType of ['view', 'materialized view', 'index'] as const) {
    if (c.accept(...objectType.split(' ')))
      return { kind: 'explainedObject', objectType, name: c.name(), pos };
  }
  return undefined;
}

function parseExplainee(c: Cursor): Explainee {
  const object = parseExplainedObject(c);
  if (object !== undefined) return object;
  if (c.isWord('with')) return parseWithStatement(c);
  if (startsSelect(c)) return parseSelectStatement(c);
  if (c.isWord('insert')) return parseInsert(c);
  if (c.isWord('update')) return parseUpdate(c);
  if (c.isWord('delete')) return parseDelete(c);
  if (c.isWord('subscribe')) return parseSubscribe(c);
  const { pos, text } = c.peek();
  if (c.isWord('create')) {
    const statement = parseCreate(c);
    switch (statement.kind) {
      case 'createView':
      case 'createMaterializedView':
      case 'createIndex':
        return statement;
      default:
        throw c.unsupported('EXPLAIN of this statement', pos);
    }
  }
  if (['declare', 'execute', 'refresh', 'merge'].includes(text)) {
    throw c.unsupported(`EXPLAIN ${text.toUpperCase()}`);
  }
  throw c.syntaxError();
}
