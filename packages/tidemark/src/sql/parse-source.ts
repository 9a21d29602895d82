/** `CREATE SOURCE s [(columns)] [IN CLUSTER c] FROM … [FOR …] [WITH (…)]`. */
import type { ObjectName } from './ast.ts';
import type { CreateSourceStatement, SourceOrigin, SourceTables } from './ast-statement.ts';
import type { Cursor } from './cursor.ts';
import { parseTypedColumns } from './parse-from.ts';
import { parseOptionList, parseWithOptions } from './parse-options.ts';

export function parseCreateSource(c: Cursor, pos: number): CreateSourceStatement {
  const ifNotExists = c.ifNotExists();
  const name = c.name();
  const columns = c.isSymbol('(') ? parseTypedColumns(c) : [];
  const cluster = c.accept('in', 'cluster') ? c.ident() : undefined;
  c.expect('from');
  const from = parseOrigin(c);
  const tables = parseSourceTables(c);
  return {
    kind: 'createSource',
    name,
    ifNotExists,
    cluster,
    columns,
    from,
    tables,
    options: parseWithOptions(c),
    pos,
  };
}

function parseOrigin(c: Cursor): SourceOrigin {
  const { pos, type, text } = c.peek();
  const options = () => (c.isSymbol('(') ? parseOptionList(c) : []);
  if (c.accept('load', 'generator'))
    return { kind: 'loadGenerator', generator: c.ident(), options: options(), pos };
  if (c.accept('file')) return { kind: 'file', path: c.stringLiteral(), options: options(), pos };
  if (c.accept('postgres')) {
    c.expect('connection');
    return { kind: 'postgres', connection: c.name(), options: options(), pos };
  }
  if (type === 'word' && c.isWord('connection', 1))
    throw c.unsupported(`a source from ${text.toUpperCase()}`);
  throw c.syntaxError();
}

function parseSourceTables(c: Cursor): SourceTables | undefined {
  if (!c.isWord('for')) return undefined;
  const { pos } = c.next();
  if (c.accept('all', 'tables')) return { tables: [], schemas: [], pos };
  if (c.accept('schemas')) return { tables: [], schemas: c.identList(), pos };
  c.expect('tables');
  const tables = c.parenList(() => {
    const name = c.name();
    const as: ObjectName | undefined = c.accept('as') ? c.name() : undefined;
    return { name, as };
  });
  return { tables, schemas: [], pos };
}
