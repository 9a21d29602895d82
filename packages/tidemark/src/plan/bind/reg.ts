/** `'name'::regclass` and its family: the name is looked up while planning, the value is an OID. */
import { SqlError } from '../../base/error.ts';
import { oidOf, type SqlType, TYPES, type TypeName, type } from '../../repr/types.ts';
import type { HExpr } from '../hir.ts';
import { type BindContext, missingRelation } from './context.ts';

/** The literal's OID, or undefined for another type than these. */
export function regLiteral(context: BindContext, text: string, to: SqlType, pos: number): HExpr | undefined {
  if (!to.name.startsWith('reg')) return undefined;
  const literal = (oid: number): HExpr => ({ kind: 'literal', value: oid, type: type(to.name) });
  if (/^\d+$/.test(text)) return literal(Number(text));
  if (text === '-') return literal(0);
  const parts = splitName(text, pos);
  if (to.name === 'regclass') {
    const item = context.options.catalog.resolve(parts, context.options.names);
    if (item === undefined) throw missingRelation([parts.join('.')], pos + 1);
    return literal(item.oid);
  }
  const name = parts[parts.length - 1];
  if (to.name === 'regproc')
    throw new SqlError('undefined_function', `function "${text}" does not exist`, { position: pos + 1 });
  if (to.name === 'regnamespace') {
    const schema = context.options.catalog.schemaOid(parts, context.options.names);
    if (schema === undefined)
      throw new SqlError('invalid_schema_name', `schema "${text}" does not exist`, { position: pos + 1 });
    return literal(schema);
  }
  const found = (Object.keys(TYPES) as TypeName[]).find(
    (t) => t === name || TYPES[t].sqlName === text.toLowerCase(),
  );
  if (found === undefined)
    throw new SqlError('undefined_object', `type "${text}" does not exist`, { position: pos + 1 });
  return literal(oidOf(type(found)));
}

/** `a."B c".d` into its parts, unquoted ones folded. */
function splitName(text: string, pos: number): readonly string[] {
  const parts: string[] = [];
  const pattern = /\s*(?:"((?:[^"]|"")+)"|([\p{L}_][\p{L}\p{N}_$]*))\s*(\.|$)/uy;
  for (;;) {
    const m = pattern.exec(text);
    if (m === null) throw new SqlError('invalid_name', 'invalid name syntax', { position: pos + 1 });
    parts.push(m[1] === undefined ? m[2].toLowerCase() : m[1].replaceAll('""', '"'));
    if (m[3] === '') return parts;
  }
}
