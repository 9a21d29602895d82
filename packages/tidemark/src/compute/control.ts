/**
 * Control messages between operators: plain data as rows of two `bytes` columns, JSON and the byte arrays that it names. Every query
 * that reads the catalog sends dozens of them, so nothing here is called a property: no replacer, no reviver, and
 * bytes (inline parts, a few kilobytes each) stay bytes.
 */
import { type Batch, timeAt } from '../repr/batch.ts';
import { type Column, ColumnBuilder } from '../repr/column.ts';
import { decodeUtf8, encodeUtf8 } from '../repr/text.ts';
import { EMPTY, type Timestamp } from '../time/timestamp.ts';

export function encodeControl(messages: readonly unknown[], time: Timestamp): Batch {
  const text = new ColumnBuilder('bytes', messages.length);
  const bytes = new ColumnBuilder('bytes', messages.length);
  for (const m of messages) {
    const attached: Uint8Array[] = [];
    text.pushBytes(encodeUtf8(JSON.stringify(detach(m, attached))));
    bytes.pushBytes(joined(attached));
  }
  return { length: messages.length, columns: [text.finish(), bytes.finish()], times: time, diffs: 1 };
}

export function* decodeControl<T>(batch: Batch): Iterable<{ readonly value: T; readonly time: Timestamp }> {
  const [text, bytes] = batch.columns as [Column, Column];
  for (let i = 0; i < batch.length; i++) {
    const json = decodeUtf8(text.values as Uint8Array, text.offsets[i]!, text.offsets[i + 1]!);
    const all = (bytes.values as Uint8Array).subarray(bytes.offsets[i]!, bytes.offsets[i + 1]!);
    yield { value: attach(JSON.parse(json), all) as T, time: timeAt(batch, i) };
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) {
    out.set(p, at);
    at += p.length;
  }
  return out;
}

/** A copy for JSON, which has neither bytes nor the empty frontier: byte arrays go to `attached`, their lengths stay. */
function detach(value: unknown, attached: Uint8Array[]): unknown {
  if (value === EMPTY) return { $empty: true };
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) {
    attached.push(value);
    return { $bytes: value.length };
  }
  if (Array.isArray(value)) return value.map((v) => detach(v, attached));
  const out: Record<string, unknown> = {};
  for (const key in value) out[key] = detach((value as Record<string, unknown>)[key], attached);
  return out;
}

/** Puts back what `detach` took out, in place and in the same order. `bytes` are copied: the reader owns them. */
function attach(root: unknown, bytes: Uint8Array): unknown {
  let at = 0;
  const restore = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    const o = value as Record<string, unknown>;
    if (typeof o['$bytes'] === 'number') return bytes.slice(at, (at += o['$bytes']));
    if (o['$empty'] === true) return EMPTY;
    for (const key in o) {
      const v = o[key];
      if (typeof v === 'object' && v !== null) o[key] = restore(v);
    }
    return o;
  };
  return restore(root);
}
