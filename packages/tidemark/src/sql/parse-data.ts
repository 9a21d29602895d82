/** SELECT as a statement, INSERT, UPDATE, DELETE. */
import type { Expr, Ident, SelectItem, With } from './ast.ts';
import type {
  Assignment,
  DeleteStatement,
  InsertStatement,
  SelectStatement,
  UpdateStatement,
} from './ast-statement.ts';
import type { Cursor } from './cursor.ts';
import { parseFrom } from './parse-from.ts';
import { startsQuery } from './parse-primary.ts';
import { parseAsOf, parseQueryAfterWith, parseSelectItems, parseWith } from './parse-query.ts';

/** SELECT, VALUES, TABLE, `(`. */
export function parseSelectStatement(c: Cursor): SelectStatement {
  const { pos } = c.peek();
  const query = c.rules.query(c);
  return { kind: 'selectStatement', query, asOf: parseAsOf(c), pos };
}

type Changing = InsertStatement | UpdateStatement | DeleteStatement;

/** WITH before a query or a statement that changes data. */
export function parseWithStatement(c: Cursor): SelectStatement | Changing {
  const { pos } = c.peek();
  const ctes = parseWith(c);
  const rule = c.peek().type === 'word' ? CHANGING.get(c.peek().text) : undefined;
  if (rule === undefined) {
    const query = parseQueryAfterWith(c, ctes, pos);
    return { kind: 'selectStatement', query, asOf: parseAsOf(c), pos };
  }
  if (ctes?.kind === 'withMutuallyRecursive') {
    throw c.unsupported('WITH MUTUALLY RECURSIVE before a statement other than a query', pos);
  }
  return { ...rule(c, ctes), pos };
}

const CHANGING: ReadonlyMap<string, (c: Cursor, ctes: With | undefined) => Changing> = new Map<
  string,
  (c: Cursor, ctes: With | undefined) => Changing
>([
  ['insert', parseInsert],
  ['update', parseUpdate],
  ['delete', parseDelete],
  [
    'merge',
    (c) => {
      throw c.unsupported('MERGE');
    },
  ],
]);

// ---- INSERT

export function parseInsert(c: Cursor, ctes: With | undefined = undefined): InsertStatement {
  const { pos } = c.expect('insert', 'into');
  const table = c.name();
  const alias = c.accept('as') ? c.ident() : undefined;
  // A parenthesis opens the columns, or the query.
  const columns = c.isSymbol('(') && !opensQuery(c) ? c.parenList(() => parseTarget(c)) : [];
  if (c.isWord('overriding')) throw c.unsupported('OVERRIDING');
  const source = c.accept('default', 'values') ? undefined : c.rules.query(c);
  if (c.isWords('on', 'conflict')) throw c.unsupported('ON CONFLICT');
  return { kind: 'insert', with: ctes, table, alias, columns, source, returning: parseReturning(c), pos };
}

function opensQuery(c: Cursor): boolean {
  if (c.isSymbol('(', 1)) return true;
  const mark = c.mark();
  c.next();
  const found = startsQuery(c);
  c.reset(mark);
  return found;
}

/** A column to assign to; parts of columns are recognised. */
function parseTarget(c: Cursor): Ident {
  const column = c.ident();
  if (c.isSymbol('.') || c.isSymbol('[')) throw c.unsupported('assigning to a part of a column', column.pos);
  return column;
}

function parseReturning(c: Cursor): SelectItem[] {
  if (!c.accept('returning')) return [];
  if (c.isWord('with') && c.isSymbol('(', 1)) throw c.unsupported('RETURNING WITH');
  return parseSelectItems(c);
}

// ---- UPDATE, DELETE

interface Changed {
  readonly table: InsertStatement['table'];
  readonly alias: Ident | undefined;
}

/** The table to change and its alias; SET is not an alias without AS. */
function parseChanged(c: Cursor): Changed {
  if (c.isWord('only')) throw c.unsupported('ONLY');
  const table = c.name();
  if (c.isSymbol('*')) throw c.unsupported('table inheritance');
  if (c.accept('as')) return { table, alias: c.ident() };
  return { table, alias: c.isColumnName() && !c.isWord('set') ? c.ident() : undefined };
}

export function parseUpdate(c: Cursor, ctes: With | undefined = undefined): UpdateStatement {
  const { pos } = c.expect('update');
  const { table, alias } = parseChanged(c);
  c.expect('set');
  const assignments = c.list(() => parseAssignment(c)).flat();
  const from = parseFrom(c);
  const where = parseWhere(c);
  return {
    kind: 'update',
    with: ctes,
    table,
    alias,
    assignments,
    from,
    where,
    returning: parseReturning(c),
    pos,
  };
}

function parseWhere(c: Cursor): Expr | undefined {
  if (!c.accept('where')) return undefined;
  if (c.isWords('current', 'of')) throw c.unsupported('WHERE CURRENT OF');
  return c.rules.expr(c);
}

/** `a = e`, `(a, b) = (e, f)`, `(a, b) = ROW (e, f)`. */
function parseAssignment(c: Cursor): Assignment[] {
  if (!c.isSymbol('(')) {
    const column = parseTarget(c);
    c.expectSymbol('=');
    return [{ column, value: c.rules.expr(c), pos: column.pos }];
  }
  const columns = c.parenList(() => parseTarget(c));
  c.expectSymbol('=');
  const source = c.rules.expr(c);
  if (source.kind === 'subquery') throw c.unsupported('assigning a subquery to several columns', source.pos);
  const values = source.kind === 'row' ? source.elements : [source];
  if (values.length !== columns.length) {
    throw c.fail('syntax_error', 'number of columns does not match number of values', source.pos);
  }
  return columns.map((column, i) => ({ column, value: values[i] as Expr, pos: column.pos }));
}

export function parseDelete(c: Cursor, ctes: With | undefined = undefined): DeleteStatement {
  const { pos } = c.expect('delete', 'from');
  const { table, alias } = parseChanged(c);
  const using = parseFrom(c, 'using');
  const where = parseWhere(c);
  return { kind: 'delete', with: ctes, table, alias, using, where, returning: parseReturning(c), pos };
}
