/**
 * Control messages between operators: plain data as rows of one `bytes` column. Byte arrays inside (inline parts) travel
 * in base64, for they are at most a few kilobytes.
 */
import { type Batch, timeAt } from '../repr/batch.ts';
import { ColumnBuilder } from '../repr/column.ts';
import { decodeUtf8, encodeUtf8 } from '../repr/text.ts';
import { EMPTY, type Timestamp } from '../time/timestamp.ts';

export function encodeControl(messages: readonly unknown[], time: Timestamp): Batch {
  const b = new ColumnBuilder('bytes', messages.length);
  for (const m of messages) b.pushBytes(encodeUtf8(JSON.stringify(m, pack)));
  return { length: messages.length, columns: [b.finish()], times: time, diffs: 1 };
}

export function* decodeControl<T>(batch: Batch): Iterable<{ readonly value: T; readonly time: Timestamp }> {
  const c = batch.columns[0]!;
  for (let i = 0; i < batch.length; i++) {
    const text = decodeUtf8(c.values as Uint8Array, c.offsets[i]!, c.offsets[i + 1]!);
    yield { value: JSON.parse(text, unpack) as T, time: timeAt(batch, i) };
  }
}

/** JSON has neither bytes nor the empty frontier. */
function pack(_key: string, value: unknown): unknown {
  if (value instanceof Uint8Array)
    return { $bytes: btoa(Array.from(value, (b) => String.fromCharCode(b)).join('')) };
  if (value === EMPTY) return { $empty: true };
  return value;
}

function unpack(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('$bytes' in value) return Uint8Array.from(atob(value.$bytes as string), (c) => c.charCodeAt(0));
  return '$empty' in value ? EMPTY : value;
}
