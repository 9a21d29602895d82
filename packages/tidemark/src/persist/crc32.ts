/**
 * CRC-32 (the polynomial of zip and PNG), eight bytes a step over tables of 8 KiB. A host with one in native code
 * gives that instead; both must agree, since files are read by whichever is there.
 */

const TABLES = buildTables();

function buildTables(): Int32Array {
  const t = new Int32Array(8 * 256);
  for (let n = 0; n < 256; n++) {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
    t[n] = c;
  }
  for (let k = 1; k < 8; k++)
    for (let n = 0; n < 256; n++) {
      const prev = t[(k - 1) * 256 + n]!;
      t[k * 256 + n] = t[prev & 0xff]! ^ (prev >>> 8);
    }
  return t;
}

/** The checksum of `bytes`, unsigned; `seed` is the checksum of what stands before them. */
export function crc32(bytes: Uint8Array, seed = 0): number {
  const t = TABLES;
  const n = bytes.length;
  let c = ~seed;
  let i = 0;
  for (; i + 8 <= n; i += 8) {
    c ^= bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    c =
      t[1792 + (c & 0xff)]! ^
      t[1536 + ((c >>> 8) & 0xff)]! ^
      t[1280 + ((c >>> 16) & 0xff)]! ^
      t[1024 + (c >>> 24)]! ^
      t[768 + bytes[i + 4]!]! ^
      t[512 + bytes[i + 5]!]! ^
      t[256 + bytes[i + 6]!]! ^
      t[bytes[i + 7]!]!;
  }
  for (; i < n; i++) c = t[(c ^ bytes[i]!) & 0xff]! ^ (c >>> 8);
  return ~c >>> 0;
}
