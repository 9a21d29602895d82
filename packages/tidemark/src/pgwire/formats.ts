/**
 * The rule of Bind for format codes: none means text, one means that one for all, else one each.
 */
import { SqlError } from '../base/error.ts';
import type { Format } from './backend.ts';

/** One format for each of `count` parameters or columns; `what` names them in the error. */
export function expandFormats(
  formats: readonly Format[],
  count: number,
  what: 'parameter' | 'result',
): readonly Format[] {
  if (formats.length === count) return formats;
  if (formats.length <= 1) return new Array<Format>(count).fill(formats[0] ?? 0);
  const of = what === 'parameter' ? `${count} parameters` : `the query has ${count} columns`;
  throw new SqlError('protocol_violation', `bind message has ${formats.length} ${what} formats but ${of}`);
}
