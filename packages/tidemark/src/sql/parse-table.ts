/** `CREATE TABLE`: columns and constraints as PostgreSQL writes them; what it has beyond that is refused. */
import type { SqlError } from '../base/error.ts';
import type { Ident, ObjectName } from './ast.ts';
import type { ColumnConstraint, ColumnDef, CreateTableStatement, TableConstraint } from './ast-statement.ts';
import type { Cursor } from './cursor.ts';
import { parseBExpr } from './parse-expr.ts';
import { parseWithOptions } from './parse-options.ts';
import { parseType } from './parse-type.ts';

export function parseCreateTable(
  c: Cursor,
  { pos, temporary }: { readonly pos: number; readonly temporary: boolean },
): CreateTableStatement {
  const ifNotExists = c.ifNotExists();
  const name = c.name();
  if (c.isWord('as')) throw c.unsupported('CREATE TABLE AS');
  if (c.isWord('of')) throw c.unsupported('CREATE TABLE OF');
  if (c.isWords('partition', 'of')) throw c.unsupported('CREATE TABLE PARTITION OF');
  const columns: ColumnDef[] = [];
  const constraints: TableConstraint[] = [];
  c.expectSymbol('(');
  if (!c.isSymbol(')')) {
    c.list(() => {
      if (startsConstraint(c)) constraints.push(parseTableConstraint(c));
      else columns.push(parseColumn(c, columns.length === 0));
    });
  }
  c.expectSymbol(')');
  for (const clause of ['inherits', 'partition', 'using', 'tablespace', 'as']) {
    if (c.isWord(clause)) throw c.unsupported(`${clause.toUpperCase()} of CREATE TABLE`);
  }
  const options = parseWithOptions(c);
  if (c.isWords('on', 'commit')) throw c.unsupported('ON COMMIT');
  return { kind: 'createTable', temporary, ifNotExists, name, columns, constraints, options, pos };
}

function startsConstraint(c: Cursor): boolean {
  if (c.isWord('like')) throw c.unsupported('CREATE TABLE LIKE');
  if (c.isWord('exclude') && (c.isWord('using', 1) || c.isSymbol('(', 1))) throw c.unsupported('EXCLUDE');
  return ['constraint', 'check', 'unique', 'primary', 'foreign'].some((word) => c.isWord(word));
}

function parseColumn(c: Cursor, first: boolean): ColumnDef {
  const name = c.ident();
  if (first && (c.isSymbol(',') || c.isSymbol(')'))) throw refusedNames(c);
  const type = parseType(c);
  const constraints: ColumnConstraint[] = [];
  let collation: ObjectName | undefined;
  for (;;) {
    if (c.accept('collate')) {
      if (collation !== undefined) {
        throw c.fail('syntax_error', 'multiple COLLATE clauses not allowed', c.previous?.pos ?? name.pos);
      }
      collation = c.name();
      continue;
    }
    const constraint = parseColumnConstraint(c);
    if (constraint === undefined) return { name, type, collation, constraints, pos: name.pos };
    constraints.push(constraint);
  }
}

/** Names without types are the columns of CREATE TABLE … AS. */
function refusedNames(c: Cursor): SqlError {
  while (c.acceptSymbol(',')) c.ident();
  c.expectSymbol(')');
  return c.isWord('as') ? c.unsupported('CREATE TABLE AS') : c.syntaxError();
}

function parseConstraintName(c: Cursor): Ident | undefined {
  return c.accept('constraint') ? c.ident() : undefined;
}

function parseColumnConstraint(c: Cursor): ColumnConstraint | undefined {
  const { pos } = c.peek();
  const name = parseConstraintName(c);
  if (c.accept('not', 'null')) return { kind: 'notNull', name, pos };
  if (c.accept('null')) return { kind: 'nullable', name, pos };
  if (c.accept('default')) return { kind: 'columnDefault', name, expr: parseBExpr(c), pos };
  if (c.accept('unique')) return { kind: 'columnUnique', name, primary: false, pos };
  if (c.accept('primary', 'key')) return { kind: 'columnUnique', name, primary: true, pos };
  if (c.accept('check')) return { kind: 'check', name, expr: parseCheck(c), pos };
  if (c.accept('references')) {
    const table = c.name();
    const columns = c.optionalIdentList();
    refuseReferenceOptions(c);
    return { kind: 'columnReferences', name, table, columns, pos };
  }
  if (c.isWord('generated')) throw c.unsupported('a generated column');
  if (name !== undefined) throw c.syntaxError();
  return undefined;
}

function parseCheck(c: Cursor): TableConstraintExpr {
  c.expectSymbol('(');
  const expr = c.rules.expr(c);
  c.expectSymbol(')');
  return expr;
}
type TableConstraintExpr = Extract<TableConstraint, { kind: 'check' }>['expr'];

function parseTableConstraint(c: Cursor): TableConstraint {
  const { pos } = c.peek();
  const name = parseConstraintName(c);
  if (c.accept('check')) return { kind: 'check', name, expr: parseCheck(c), pos };
  if (c.accept('unique')) return { kind: 'unique', name, primary: false, columns: c.identList(), pos };
  if (c.accept('primary', 'key')) return { kind: 'unique', name, primary: true, columns: c.identList(), pos };
  c.expect('foreign', 'key');
  const columns = c.identList();
  c.expect('references');
  const table = c.name();
  const foreignColumns = c.optionalIdentList();
  refuseReferenceOptions(c);
  return { kind: 'foreignKey', name, columns, table, foreignColumns, pos };
}

function refuseReferenceOptions(c: Cursor): void {
  if (c.isWord('match')) throw c.unsupported('MATCH of a foreign key');
  if (c.isWords('on', 'delete') || c.isWords('on', 'update'))
    throw c.unsupported('an action of a foreign key');
}
