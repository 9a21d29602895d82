/**
 * Errors of rows as cells: what stands in the one `bytes` column of an errs batch. Equal errors have equal bytes,
 * so that a retraction finds what it retracts. Layout: code, message, detail, hint as UTF-8, separated by 0 bytes.
 */
import { type ErrorCode, SQLSTATE, SqlError } from '../base/error.ts';
import type { Batch } from '../repr/batch.ts';
import { decodeUtf8, encodeUtf8 } from '../repr/text.ts';
import type { RowError } from './scalar.ts';

/** SQL text holds no zero byte, but a message may quote a bytea or a client's parameter. */
const clean = (s: string): string => s.replaceAll('\0', '\\0');

export function encodeEvalError(e: RowError): Uint8Array<ArrayBuffer> {
  return encodeUtf8([e.code, e.message, e.detail ?? '', e.hint ?? ''].map(clean).join('\0'));
}

export function decodeEvalError(bytes: Uint8Array, from = 0, to = bytes.length): RowError {
  const [code, message, detail, hint] = decodeUtf8(bytes, from, to).split('\0');
  return {
    code: code ?? 'internal_error',
    message: message ?? '',
    ...(detail && { detail }),
    ...(hint && { hint }),
  };
}

/** The error in a row of an errs batch. */
export function rowErrorAt(errs: Batch, row: number): RowError {
  const { values, offsets } = errs.columns[0]!;
  return decodeEvalError(values as Uint8Array, offsets[row]!, offsets[row + 1]!);
}

export function evalErrorOf(e: SqlError): RowError {
  return {
    code: e.code,
    message: e.message,
    ...(e.detail !== undefined && { detail: e.detail }),
    ...(e.hint !== undefined && { hint: e.hint }),
  };
}

export function sqlErrorOf(e: RowError): SqlError {
  const code = Object.hasOwn(SQLSTATE, e.code) ? (e.code as ErrorCode) : 'internal_error';
  return new SqlError(code, e.message, { detail: e.detail, hint: e.hint });
}

/** Whether an evaluation result is an error: a class of its own keeps it apart from every datum. */
export const isEvalError = (x: unknown): x is FailedEval => x instanceof FailedEval;

/** The outcome of a constant expression that fails. */
export class FailedEval {
  readonly error: RowError;
  constructor(error: RowError) {
    this.error = error;
  }
}
