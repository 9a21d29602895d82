/** Errors of the machine's files, as users see them. */
import { SqlError } from '../base/error.ts';

const FULL = new Set(['ENOSPC', 'EDQUOT']);

/** `what` says what was being done: `part u7/x could not be written`. */
export function ioError(what: string, cause: unknown): SqlError {
  if (cause instanceof SqlError) return cause;
  const code = (cause as { code?: unknown }).code;
  const detail = cause instanceof Error ? cause.message : String(cause);
  return new SqlError(FULL.has(String(code)) ? 'disk_full' : 'io_error', what, { detail, cause });
}

/** There is no such file; a directory of that name is none. */
export const isMissing = (e: unknown): boolean => {
  const { code } = e as { code?: unknown };
  return code === 'ENOENT' || code === 'EISDIR';
};
