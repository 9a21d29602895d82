/**
 * The server's messages with contents, each one function over the send buffer. Messages without are
 * `out.empty(BACKEND.…)`.
 */
import { SQLSTATE, SqlError } from '../base/error.ts';
import type { Format, Notice, TransactionStatus, WireColumn } from './backend.ts';
import type { MessageWriter } from './message-writer.ts';
import { AUTHENTICATION, BACKEND, STARTUP } from './messages.ts';

export type ErrorSeverity = 'ERROR' | 'FATAL' | 'PANIC';

/** The fields of ErrorResponse and NoticeResponse, in the order they are sent. */
const FIELD = {
  severity: 'S',
  /** The severity once more, never translated. */
  severityRaw: 'V',
  code: 'C',
  message: 'M',
  detail: 'D',
  hint: 'H',
  position: 'P',
  schema: 's',
  table: 't',
  column: 'c',
  constraint: 'n',
} as const;

type Fields = { readonly [name in keyof typeof FIELD]?: string | number | undefined };

function fieldsMessage(out: MessageWriter, type: number, fields: Fields): void {
  out.begin(type);
  for (const [name, letter] of Object.entries(FIELD)) {
    const value = fields[name as keyof typeof FIELD];
    if (value === undefined) continue;
    out.byte(letter.charCodeAt(0));
    out.cstring(String(value));
  }
  out.byte(0);
  out.end();
}

export function errorResponse(out: MessageWriter, severity: ErrorSeverity, error: SqlError): void {
  fieldsMessage(out, BACKEND.errorResponse, {
    ...error.fields,
    severity,
    severityRaw: severity,
    code: error.sqlstate,
    message: error.message,
  });
}

export function noticeResponse(out: MessageWriter, notice: Notice): void {
  const { severity } = notice;
  fieldsMessage(out, BACKEND.noticeResponse, {
    ...notice,
    severityRaw: severity,
    code: SQLSTATE[notice.code],
  });
}

/** What a user sees of an error: their own as it is, a fault of ours as XX000 with the message. */
export function toSqlError(error: unknown): SqlError {
  if (error instanceof SqlError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new SqlError('internal_error', `internal error: ${message}`, { cause: error });
}

export function parameterStatus(out: MessageWriter, name: string, value: string): void {
  out.begin(BACKEND.parameterStatus);
  out.cstring(name);
  out.cstring(value);
  out.end();
}

export function authentication(out: MessageWriter, code: number, data?: Uint8Array): void {
  out.begin(BACKEND.authentication);
  out.long(code);
  if (data !== undefined) out.raw(data);
  out.end();
}

export function authenticationSasl(out: MessageWriter, mechanisms: readonly string[]): void {
  out.begin(BACKEND.authentication);
  out.long(AUTHENTICATION.sasl);
  for (const mechanism of mechanisms) out.cstring(mechanism);
  out.byte(0);
  out.end();
}

export function backendKeyData(out: MessageWriter, pid: number, secret: Uint8Array): void {
  out.begin(BACKEND.backendKeyData);
  out.long(pid);
  out.raw(secret);
  out.end();
}

/** We speak 3.0; a client that asked for more, or for options, learns which of them it did not get. */
export function negotiateProtocolVersion(out: MessageWriter, unknownOptions: readonly string[]): void {
  out.begin(BACKEND.negotiateProtocolVersion);
  // The whole version, as libpq reads it, though the manual speaks of the minor number alone.
  out.long(STARTUP.protocol3);
  out.long(unknownOptions.length);
  for (const option of unknownOptions) out.cstring(option);
  out.end();
}

export function readyForQuery(out: MessageWriter, status: TransactionStatus): void {
  out.begin(BACKEND.readyForQuery);
  out.byte(status.charCodeAt(0));
  out.end();
}

export function commandComplete(out: MessageWriter, tag: string): void {
  out.begin(BACKEND.commandComplete);
  out.cstring(tag);
  out.end();
}

export function parameterDescription(out: MessageWriter, oids: readonly number[]): void {
  out.begin(BACKEND.parameterDescription);
  out.short(oids.length);
  for (const oid of oids) out.long(oid);
  out.end();
}

export function rowDescription(out: MessageWriter, columns: readonly WireColumn[]): void {
  out.begin(BACKEND.rowDescription);
  out.short(columns.length);
  for (const column of columns) {
    out.cstring(column.name);
    out.long(column.tableOid ?? 0);
    out.short(column.columnId ?? 0);
    out.long(column.oid);
    out.short(column.typlen);
    out.long(column.typmod);
    out.short(column.format);
  }
  out.end();
}

/** CopyInResponse and CopyOutResponse have one layout. */
export function copyResponse(
  out: MessageWriter,
  type: number,
  copy: { readonly format: Format; readonly columnFormats: readonly Format[] },
): void {
  out.begin(type);
  out.byte(copy.format);
  out.short(copy.columnFormats.length);
  for (const format of copy.columnFormats) out.short(format);
  out.end();
}

export function copyData(out: MessageWriter, chunk: Uint8Array): void {
  out.begin(BACKEND.copyData);
  out.raw(chunk);
  out.end();
}
