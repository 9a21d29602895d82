/**
 * What clients and tools ask about the session and the catalog, bytes in text forms, and other odds and ends.
 *
 * Functions of volatility `catalog` are answered by `EvalContext.catalog`, called with the function's id; its list
 * is `CATALOG_FUNCTION_IDS`.
 */
import { SqlError } from '../../base/error.ts';
import { SqlArray } from '../../repr/array.ts';
import { datumComparator } from '../../repr/compare.ts';
import { encodeUtf8 } from '../../repr/text.ts';
import { type Datum, type SqlType, TYPES, typeByOid, typeToString } from '../../repr/types.ts';
import { sessionOf } from '../context.ts';
import type { FunctionDef, Pattern } from '../functions.ts';
import type { RowCall, RowFunction } from '../kernels/per-row.ts';
import { FAILS, type Options, rowFunction } from './define.ts';

const CONTEXTUAL: Options = { volatility: 'contextual', fallible: true, nullable: true, strict: false };

const SESSION: readonly (readonly [name: string, returns: Pattern, (c: RowCall) => Datum, doc: string])[] = [
  ['current_user', 'name', (c) => sessionOf(c.context, 'current_user').user, 'Name of the user.'],
  [
    'session_user',
    'name',
    (c) => sessionOf(c.context, 'session_user').user,
    'Name of the user who connected.',
  ],
  ['user', 'name', (c) => sessionOf(c.context, 'user').user, 'Name of the user.'],
  ['current_role', 'name', (c) => sessionOf(c.context, 'current_role').user, 'Name of the user.'],
  [
    'current_database',
    'name',
    (c) => sessionOf(c.context, 'current_database()').database,
    'Name of the database.',
  ],
  [
    'current_catalog',
    'name',
    (c) => sessionOf(c.context, 'current_catalog').database,
    'Name of the database.',
  ],
  [
    'current_schema',
    'name',
    (c) => sessionOf(c.context, 'current_schema()').schemas[0] ?? null,
    'First schema of the search path.',
  ],
  ['version', 'text', (c) => sessionOf(c.context, 'version()').version, 'Which server this is.'],
  [
    'pg_backend_pid',
    'int4',
    (c) => sessionOf(c.context, 'pg_backend_pid()').backendPid,
    'Number of the session.',
  ],
  [
    'pg_is_in_recovery',
    'bool',
    (c) => sessionOf(c.context, 'pg_is_in_recovery()').standsBy,
    'Whether the server stands by for another one, which writes.',
  ],
];

const SYSTEM_SCHEMAS = ['mz_catalog', 'pg_catalog'];

const session: FunctionDef[] = [
  ...SESSION.map(([name, returns, f, doc]) =>
    rowFunction(name, name, [], returns, (_, c) => f(c), doc, CONTEXTUAL),
  ),
  rowFunction(
    'current_schemas_bool',
    'current_schemas',
    ['bool'],
    'name[]',
    ([system], c) => {
      const { schemas } = sessionOf(c.context, 'current_schemas()');
      return SqlArray.of(system ? [...SYSTEM_SCHEMAS, ...schemas] : [...schemas]);
    },
    'Schemas of the search path.',
    { volatility: 'contextual', fallible: true },
  ),
  ...([false, true] as const).map((flag) =>
    rowFunction(
      `current_setting_text${flag ? '_bool' : ''}`,
      'current_setting',
      flag ? ['text', 'bool'] : ['text'],
      'text',
      ([name, missingOk], c) => {
        const v = sessionOf(c.context, 'current_setting()').setting(name);
        if (v === undefined && missingOk !== true)
          throw new SqlError('undefined_object', `unrecognized configuration parameter "${name}"`);
        return v ?? null;
      },
      'Value of a parameter.',
      { volatility: 'contextual', fallible: true, nullable: true },
    ),
  ),
];

/** id, arguments, result, description; the name is the id without what follows a dot. */
const CATALOG: readonly (readonly [id: string, args: readonly Pattern[], returns: Pattern, doc: string])[] = [
  ['pg_get_userbyid', ['oid'], 'name', 'Name of a role.'],
  ['pg_table_is_visible', ['oid'], 'bool', 'Whether a relation is found without its schema.'],
  ['pg_type_is_visible', ['oid'], 'bool', 'Whether a type is found without its schema.'],
  ['pg_function_is_visible', ['oid'], 'bool', 'Whether a function is found without its schema.'],
  ['pg_operator_is_visible', ['oid'], 'bool', 'Whether an operator is found without its schema.'],
  ['pg_opclass_is_visible', ['oid'], 'bool', 'Whether an operator class is found without its schema.'],
  ['pg_opfamily_is_visible', ['oid'], 'bool', 'Whether an operator family is found without its schema.'],
  ['pg_collation_is_visible', ['oid'], 'bool', 'Whether a collation is found without its schema.'],
  ['pg_conversion_is_visible', ['oid'], 'bool', 'Whether a conversion is found without its schema.'],
  ['pg_get_expr', ['text', 'oid'], 'text', 'Text of a stored expression.'],
  ['pg_get_expr.pretty', ['text', 'oid', 'bool'], 'text', 'Text of a stored expression.'],
  ['obj_description', ['oid', 'name'], 'text', 'Comment on an object.'],
  ['obj_description.oid', ['oid'], 'text', 'Comment on an object.'],
  ['col_description', ['oid', 'int4'], 'text', 'Comment on a column.'],
  ['shobj_description', ['oid', 'name'], 'text', 'Comment on a shared object.'],
  ['pg_get_indexdef', ['oid'], 'text', 'Statement that makes an index.'],
  ['pg_get_indexdef.column', ['oid', 'int4', 'bool'], 'text', 'One key of an index.'],
  ['pg_get_constraintdef', ['oid'], 'text', 'Text of a constraint.'],
  ['pg_get_constraintdef.pretty', ['oid', 'bool'], 'text', 'Text of a constraint.'],
  ['pg_get_viewdef', ['oid'], 'text', 'Query of a view.'],
  ['pg_get_viewdef.pretty', ['oid', 'bool'], 'text', 'Query of a view.'],
  ['pg_get_viewdef.name', ['text'], 'text', 'Query of a view.'],
  ['pg_get_ruledef', ['oid'], 'text', 'Text of a rule.'],
  ['pg_get_ruledef.pretty', ['oid', 'bool'], 'text', 'Text of a rule.'],
  ['pg_get_triggerdef', ['oid'], 'text', 'Text of a trigger.'],
  ['pg_get_triggerdef.pretty', ['oid', 'bool'], 'text', 'Text of a trigger.'],
  ['pg_get_functiondef', ['oid'], 'text', 'Text of a function.'],
  ['pg_get_function_result', ['oid'], 'text', 'Result type of a function.'],
  ['pg_get_function_arguments', ['oid'], 'text', 'Arguments of a function.'],
  ['pg_get_function_identity_arguments', ['oid'], 'text', 'Arguments that identify a function.'],
  ['pg_get_serial_sequence', ['text', 'text'], 'text', 'Sequence of a column: there is none.'],
  ['pg_get_partkeydef', ['oid'], 'text', 'Partition key of a table: there is none.'],
  ['pg_get_statisticsobjdef_columns', ['oid'], 'text', 'Columns of a statistics object.'],
  ['pg_relation_size', ['regclass'], 'int8', 'Bytes of a relation.'],
  ['pg_table_size', ['regclass'], 'int8', 'Bytes of a relation.'],
  ['pg_indexes_size', ['regclass'], 'int8', 'Bytes of the indexes of a relation.'],
  ['pg_total_relation_size', ['regclass'], 'int8', 'Bytes of a relation and its indexes.'],
  ['pg_database_size', ['name'], 'int8', 'Bytes of a database.'],
  ['to_regclass', ['text'], 'regclass', 'OID of a relation, NULL if there is none.'],
  ['to_regtype', ['text'], 'regtype', 'OID of a type, NULL if there is none.'],
  ['to_regproc', ['text'], 'regproc', 'OID of a function, NULL if there is none.'],
  ['to_regnamespace', ['text'], 'regnamespace', 'OID of a schema, NULL if there is none.'],
  ['regclass_out', ['regclass'], 'text', 'Name of a relation.'],
  ['regtype_out', ['regtype'], 'text', 'Name of a type.'],
  ['regproc_out', ['regproc'], 'text', 'Name of a function.'],
  ['regnamespace_out', ['regnamespace'], 'text', 'Name of a schema.'],
  ['regclass_in', ['text'], 'regclass', 'OID of a relation.'],
  ['regtype_in', ['text'], 'regtype', 'OID of a type.'],
  ['regproc_in', ['text'], 'regproc', 'OID of a function.'],
  ['regnamespace_in', ['text'], 'regnamespace', 'OID of a schema.'],
  ['pg_get_function_sqlbody', ['oid'], 'text', 'Body of a function: there is none to show.'],
  ['pg_get_partition_constraintdef', ['oid'], 'text', 'Constraint of a partition: there is none.'],
  ['pg_postmaster_start_time', [], 'timestamptz', 'When the server started.'],
  ['pg_tablespace_location', ['oid'], 'text', 'Directory of a tablespace: there is none.'],
  ['pg_describe_object', ['oid', 'oid', 'int4'], 'text', 'Description of an object.'],
];

const catalog: FunctionDef[] = CATALOG.map(([id, args, returns, doc]) =>
  rowFunction(
    id.replace('.', '_'),
    id.replace(/\..*/, ''),
    args,
    returns,
    (values, c) => {
      const f = c.context.catalog;
      const name = id.replace(/\..*/, '');
      if (f === undefined)
        throw new SqlError('feature_not_supported', `${name}() cannot be used in a maintained query`);
      return f(id.replace('.', '_'), values);
    },
    doc,
    { volatility: 'catalog', fallible: true, nullable: true },
  ),
);

/** Everybody may do everything: there are no grants yet. */
const PRIVILEGES: readonly [string, readonly Pattern[][]][] = [
  [
    'has_table_privilege',
    [
      ['text', 'text'],
      ['oid', 'text'],
      ['name', 'text', 'text'],
      ['name', 'oid', 'text'],
    ],
  ],
  [
    'has_schema_privilege',
    [
      ['text', 'text'],
      ['oid', 'text'],
      ['name', 'text', 'text'],
      ['name', 'oid', 'text'],
    ],
  ],
  [
    'has_database_privilege',
    [
      ['text', 'text'],
      ['oid', 'text'],
      ['name', 'text', 'text'],
      ['name', 'oid', 'text'],
    ],
  ],
  [
    'has_function_privilege',
    [
      ['text', 'text'],
      ['oid', 'text'],
      ['name', 'text', 'text'],
      ['name', 'oid', 'text'],
    ],
  ],
  [
    'has_sequence_privilege',
    [
      ['text', 'text'],
      ['oid', 'text'],
      ['name', 'text', 'text'],
      ['name', 'oid', 'text'],
    ],
  ],
  [
    'has_type_privilege',
    [
      ['text', 'text'],
      ['oid', 'text'],
      ['name', 'text', 'text'],
      ['name', 'oid', 'text'],
    ],
  ],
  [
    'has_any_column_privilege',
    [
      ['text', 'text'],
      ['oid', 'text'],
      ['name', 'text', 'text'],
      ['name', 'oid', 'text'],
    ],
  ],
  [
    'has_column_privilege',
    [
      ['text', 'text', 'text'],
      ['oid', 'int2', 'text'],
      ['oid', 'text', 'text'],
    ],
  ],
  [
    'pg_has_role',
    [
      ['name', 'text'],
      ['oid', 'text'],
      ['name', 'name', 'text'],
      ['name', 'oid', 'text'],
    ],
  ],
];
const privileges: FunctionDef[] = PRIVILEGES.flatMap(([name, overloads]) =>
  overloads.map((args) =>
    rowFunction(
      `${name}_${args.join('_')}`,
      name,
      args,
      'bool',
      () => true,
      'Whether an action is permitted.',
    ),
  ),
);

/** `format_type(oid, typmod)`; as pg_attribute stores modifiers, with their offset of 4. */
function formatType(oid: number | null, typmod: number | null): Datum {
  if (oid === null) return null;
  if (oid === 0) return '-';
  const t = typeByOid(oid);
  if (t === undefined) return '???';
  if (t.name === 'list') return 'list';
  if (typmod === null || typmod < 0 || t.elem !== undefined) return typeToString(t);
  const offset = ['numeric', 'varchar', 'bpchar'].includes(t.name) ? 4 : 0;
  return typeToString({ ...t, typmod: typmod - offset });
}

const ENCODINGS: Readonly<Record<number, string>> = { 0: 'SQL_ASCII', 6: 'UTF8', 8: 'LATIN1' };
function encodingNumber(name: string): number {
  const bare = name.toUpperCase().replaceAll('-', '');
  const found = Object.entries(ENCODINGS).find(([, n]) => n === bare);
  return found === undefined ? -1 : Number(found[0]);
}

/** The greatest or least of the values that are not NULL. */
const extreme =
  (sign: 1 | -1): RowFunction =>
  (args, { argTypes }) => {
    const compare = datumComparator(argTypes[0]!);
    let best: Datum = null;
    for (const v of args) if (v !== null && (best === null || sign * compare(v, best) > 0)) best = v;
    return best;
  };

const commonResult = (args: readonly SqlType[]): SqlType => args[0] ?? { name: 'text' };

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];
function sizePretty(n: bigint): string {
  let v = n;
  let unit = 0;
  // Ten times the next unit is where PostgreSQL moves on, rounding half up.
  while (unit < UNITS.length - 1 && (v < 0n ? -v : v) >= 10240n) {
    v = (v / 512n + (v < 0n ? -1n : 1n)) / 2n;
    unit++;
  }
  return `${v} ${UNITS[unit]}`;
}

export const SYSTEM: readonly FunctionDef[] = [
  ...session,
  ...catalog,
  ...privileges,
  rowFunction(
    'greatest',
    'greatest',
    ['anycompatible'],
    commonResult,
    extreme(1),
    'The greatest value that is not NULL.',
    {
      variadic: 'anycompatible',
      strict: false,
    },
  ),
  rowFunction(
    'least',
    'least',
    ['anycompatible'],
    commonResult,
    extreme(-1),
    'The least value that is not NULL.',
    {
      variadic: 'anycompatible',
      strict: false,
    },
  ),
  rowFunction(
    'format_type',
    'format_type',
    ['oid', 'int4'],
    'text',
    ([o, m]) => formatType(o, m),
    'Name of a type.',
    {
      strict: false,
    },
  ),
  rowFunction(
    'pg_encoding_to_char',
    'pg_encoding_to_char',
    ['int4'],
    'name',
    ([n]) => ENCODINGS[n] ?? '',
    'Name of an encoding.',
  ),
  rowFunction(
    'pg_char_to_encoding',
    'pg_char_to_encoding',
    ['name'],
    'int4',
    ([name]) => encodingNumber(name),
    'Number of an encoding.',
  ),
  rowFunction(
    'pg_relation_is_publishable',
    'pg_relation_is_publishable',
    ['regclass'],
    'bool',
    () => false,
    'Whether a relation can be published: nothing is.',
  ),
  ...['inet_server_port', 'inet_client_port'].map((name) =>
    rowFunction(name, name, [], 'int4', () => null, 'Port of the connection: not told.', { nullable: true }),
  ),
  rowFunction(
    'pg_size_pretty',
    'pg_size_pretty',
    ['int8'],
    'text',
    ([n]) => sizePretty(n),
    'Bytes in a readable unit.',
  ),
  rowFunction('pg_my_temp_schema', 'pg_my_temp_schema', [], 'oid', () => 0, 'OID of the temporary schema.'),
  rowFunction(
    'pg_is_other_temp_schema',
    'pg_is_other_temp_schema',
    ['oid'],
    'bool',
    () => false,
    'Whether a schema is the temporary one of another session.',
  ),
  rowFunction(
    'pg_column_size',
    'pg_column_size',
    ['any'],
    'int4',
    ([d], c) => Math.max(TYPES[c.argTypes[0]!.name].len, typeof d === 'string' ? encodeUtf8(d).length : 0),
    'Bytes of a value.',
  ),
  rowFunction(
    'mz_error_if_null',
    'mz_error_if_null',
    ['anyelement', 'text'],
    'anyelement',
    ([v, message]) => {
      if (v === null) throw new SqlError('null_value_not_allowed', message ?? 'null value');
      return v;
    },
    'The value, or an error with the given message where it is NULL.',
    { strict: false, fallible: true, nullable: false },
  ),
  rowFunction(
    'error_more_than_one_row',
    null,
    ['int8'],
    'int8',
    ([n]) => {
      if (n > 1n)
        throw new SqlError(
          'cardinality_violation',
          'more than one row returned by a subquery used as an expression',
        );
      return n;
    },
    'The count of a scalar subquery’s rows, an error above one.',
    FAILS,
  ),
];
