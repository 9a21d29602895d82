/** Types as written → `SqlType`: names of pg_type, modifiers, arrays and lists. */
import { SqlError, unsupported } from '../../base/error.ts';
import { arrayOf, listOf, type SqlType, TYPES, type TypeName, type } from '../../repr/types.ts';
import type { Expr, TypeName as WrittenType } from '../../sql/ast.ts';

/** Names that are another type here. */
const ALIASES: Readonly<Record<string, TypeName>> = {
  string: 'text',
  bytes: 'bytea',
  json: 'jsonb',
  decimal: 'numeric',
  boolean: 'bool',
  integer: 'int4',
  int: 'int4',
  smallint: 'int2',
  bigint: 'int8',
  real: 'float4',
};
const SCHEMAS = new Set(['pg_catalog', 'mz_catalog']);
const PSEUDO = new Set<TypeName>(['unknown', 'void', 'record', 'array', 'list']);

export function resolveType(written: WrittenType): SqlType {
  const position = written.pos + 1;
  if (written.setof) throw unsupported('SETOF', { position });
  const base = scalarType(written, position);
  if (written.arrayBounds.length === 0) return base;
  if (base.name === 'array') throw unsupported('array of arrays', { position });
  // As in PostgreSQL the number of dimensions is not part of the type.
  return arrayOf(base);
}

function scalarType(written: WrittenType, position: number): SqlType {
  const parts = written.name.parts.map((p) => p.name);
  const name = parts[parts.length - 1];
  const text = parts.join('.');
  const missing = new SqlError('undefined_object', `type "${text}" does not exist`, { position });
  if (parts.length > 2 || (parts.length === 2 && !SCHEMAS.has(parts[0]))) throw missing;
  if (name === 'list' && written.params.length === 1) return listOf(resolveType(written.params[0]));
  if (name === 'map') throw unsupported('the map type', { position });
  if (name.startsWith('_') && Object.hasOwn(TYPES, name.slice(1)))
    return arrayOf(type(name.slice(1) as TypeName));
  const known = Object.hasOwn(ALIASES, name) ? ALIASES[name] : name;
  if (!Object.hasOwn(TYPES, known) || PSEUDO.has(known as TypeName)) throw missing;
  return withModifiers(known as TypeName, written.modifiers, position);
}

function withModifiers(name: TypeName, modifiers: readonly Expr[], position: number): SqlType {
  if (modifiers.length === 0) return type(name);
  const numbers = modifiers.map((m) => {
    if (m.kind !== 'number' || !/^-?\d+$/.test(m.text))
      throw new SqlError(
        'invalid_parameter_value',
        'type modifiers must be simple constants or identifiers',
        { position },
      );
    return Number(m.text);
  });
  const invalid = (message: string): SqlError =>
    new SqlError('invalid_parameter_value', message, { position });
  if (name === 'numeric') {
    const [precision, scale = 0] = numbers;
    if (numbers.length > 2) throw invalid('invalid NUMERIC type modifier');
    if (precision < 1 || precision > 1000)
      throw invalid(`NUMERIC precision ${precision} must be between 1 and 1000`);
    if (scale < 0 || scale > precision)
      throw unsupported(`NUMERIC scale ${scale} outside of 0 to the precision`, { position });
    return { name, typmod: (precision << 16) | scale };
  }
  if (name === 'varchar' || name === 'bpchar') {
    const shown = name === 'varchar' ? 'varchar' : 'char';
    if (numbers.length !== 1) throw invalid('invalid type modifier');
    if (numbers[0] < 1) throw invalid(`length for type ${shown} must be at least 1`);
    if (numbers[0] > 10_485_760) throw invalid(`length for type ${shown} cannot exceed 10485760`);
    return { name, typmod: numbers[0] };
  }
  if (name === 'timestamp' || name === 'timestamptz' || name === 'time' || name === 'interval') {
    if (numbers[0] >= 6) return type(name);
    throw unsupported(`a precision below 6 of type ${name}`, { position });
  }
  throw new SqlError('syntax_error', `type modifier is not allowed for type "${name}"`, { position });
}
