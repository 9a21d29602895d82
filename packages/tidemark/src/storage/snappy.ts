/**
 * Snappy's raw format, decompressed into a buffer of known length. Parquet's library has one too, which on a damaged
 * literal length goes back in its input and never ends; here each step moves forward and stays within both buffers.
 */
import { SqlError } from '../base/error.ts';

const damaged = (): SqlError => new SqlError('data_corrupted', 'a snappy block is damaged');

export function unsnappy(input: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(length);
  let p = 0;
  // The preamble repeats the length, as a varint.
  while (p < input.length && input[p]! >= 0x80) p++;
  p++;
  let at = 0;
  while (p < input.length) {
    const tag = input[p++]!;
    if ((tag & 3) === 0) {
      let n = tag >>> 2;
      if (n >= 60) {
        const bytes = n - 59;
        n = littleEndian(input, p, bytes);
        p += bytes;
      }
      n++;
      if (p + n > input.length || at + n > length) throw damaged();
      out.set(input.subarray(p, p + n), at);
      p += n;
      at += n;
      continue;
    }
    const short = (tag & 3) === 1;
    const n = short ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1;
    const bytes = short ? 1 : (tag & 3) === 2 ? 2 : 4;
    const back = littleEndian(input, p, bytes) + (short ? (tag >>> 5) << 8 : 0);
    p += bytes;
    if (back === 0 || back > at || at + n > length) throw damaged();
    // A copy may overlap what it writes: byte by byte then repeats the pattern.
    for (const end = at + n; at < end; at++) out[at] = out[at - back]!;
  }
  if (at !== length) throw damaged();
  return out;
}

function littleEndian(b: Uint8Array, p: number, n: number): number {
  if (p + n > b.length) throw damaged();
  let v = 0;
  for (let k = n - 1; k >= 0; k--) v = v * 256 + b[p + k]!;
  return v;
}
