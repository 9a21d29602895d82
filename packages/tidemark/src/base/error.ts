/**
 * Errors for users. One table of SQLSTATEs; every error that reaches a client is a `SqlError` whose code is a
 * key of it. Messages follow PostgreSQL's habit: lower case, no full stop, they say what was being done.
 */

/** Condition name -> SQLSTATE, PostgreSQL's appendix A as far as we raise them. */
export const SQLSTATE = {
  successful_completion: '00000',
  warning: '01000',
  connection_failure: '08006',
  protocol_violation: '08P01',
  feature_not_supported: '0A000',
  cardinality_violation: '21000',
  data_exception: '22000',
  string_data_right_truncation: '22001',
  substring_error: '22011',
  null_value_not_allowed: '22004',
  numeric_value_out_of_range: '22003',
  invalid_datetime_format: '22007',
  datetime_field_overflow: '22008',
  division_by_zero: '22012',
  interval_field_overflow: '22015',
  time_zone_displacement_overflow: '22009',
  invalid_argument_for_logarithm: '2201E',
  invalid_argument_for_power_function: '2201F',
  invalid_row_count_in_limit_clause: '2201W',
  invalid_row_count_in_result_offset_clause: '2201X',
  invalid_regular_expression: '2201B',
  invalid_parameter_value: '22023',
  invalid_escape_sequence: '22025',
  invalid_text_representation: '22P02',
  invalid_binary_representation: '22P03',
  bad_copy_file_format: '22P04',
  untranslatable_character: '22P05',
  array_subscript_error: '2202E',
  character_not_in_repertoire: '22021',
  not_null_violation: '23502',
  unique_violation: '23505',
  active_sql_transaction: '25001',
  read_only_sql_transaction: '25006',
  no_active_sql_transaction: '25P01',
  in_failed_sql_transaction: '25P02',
  invalid_sql_statement_name: '26000',
  invalid_authorization_specification: '28000',
  invalid_password: '28P01',
  dependent_objects_still_exist: '2BP01',
  invalid_cursor_name: '34000',
  invalid_catalog_name: '3D000',
  invalid_schema_name: '3F000',
  serialization_failure: '40001',
  syntax_error: '42601',
  insufficient_privilege: '42501',
  invalid_name: '42602',
  reserved_name: '42939',
  cannot_coerce: '42846',
  grouping_error: '42803',
  windowing_error: '42P20',
  invalid_recursion: '42P19',
  invalid_column_reference: '42P10',
  wrong_object_type: '42809',
  undefined_column: '42703',
  undefined_function: '42883',
  undefined_table: '42P01',
  undefined_parameter: '42P02',
  undefined_object: '42704',
  duplicate_column: '42701',
  duplicate_cursor: '42P03',
  duplicate_database: '42P04',
  duplicate_prepared_statement: '42P05',
  duplicate_schema: '42P06',
  duplicate_table: '42P07',
  duplicate_alias: '42712',
  duplicate_object: '42710',
  ambiguous_column: '42702',
  ambiguous_function: '42725',
  ambiguous_parameter: '42P08',
  ambiguous_alias: '42P09',
  datatype_mismatch: '42804',
  indeterminate_datatype: '42P18',
  invalid_object_definition: '42P17',
  insufficient_resources: '53000',
  disk_full: '53100',
  out_of_memory: '53200',
  too_many_connections: '53300',
  program_limit_exceeded: '54000',
  statement_too_complex: '54001',
  too_many_columns: '54011',
  object_not_in_prerequisite_state: '55000',
  object_in_use: '55006',
  query_canceled: '57014',
  admin_shutdown: '57P01',
  cannot_connect_now: '57P03',
  system_error: '58000',
  io_error: '58030',
  undefined_file: '58P01',
  duplicate_file: '58P02',
  internal_error: 'XX000',
  data_corrupted: 'XX001',
} as const;

export type ErrorCode = keyof typeof SQLSTATE;

export interface SqlErrorFields {
  readonly detail?: string | undefined;
  readonly hint?: string | undefined;
  /** 1-based character position in the statement's text, as PostgreSQL counts it. */
  readonly position?: number | undefined;
  readonly schema?: string | undefined;
  readonly table?: string | undefined;
  readonly column?: string | undefined;
  readonly constraint?: string | undefined;
  readonly cause?: unknown;
}

/** An error that a user caused or must act on. */
export class SqlError extends Error {
  override readonly name = 'SqlError';
  readonly code: ErrorCode;
  readonly detail: string | undefined;
  readonly hint: string | undefined;
  readonly position: number | undefined;
  readonly fields: SqlErrorFields;

  constructor(code: ErrorCode, message: string, fields: SqlErrorFields = {}) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.code = code;
    this.detail = fields.detail;
    this.hint = fields.hint;
    this.position = fields.position;
    this.fields = fields;
  }

  /** The five characters that go on the wire. */
  get sqlstate(): string {
    return SQLSTATE[this.code];
  }

  /** The same error with a position, for a caller that knows where it stands; an inner position wins. */
  at(position: number | undefined): SqlError {
    if (this.position !== undefined || position === undefined) return this;
    return new SqlError(this.code, this.message, { ...this.fields, position });
  }
}

/** A construct of the dialect that is recognised and not supported: names it, never ignores it. */
export function unsupported(what: string, fields: SqlErrorFields = {}): SqlError {
  return new SqlError('feature_not_supported', `${what} is not supported`, fields);
}
