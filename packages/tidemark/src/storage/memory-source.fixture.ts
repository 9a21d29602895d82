/** Files in memory, and batches as text: what tests of the file formats share. */
import { brotliDecompressSync, crc32, gunzipSync, zstdDecompressSync } from 'node:zlib';
import type { Batch } from '../repr/batch.ts';
import { encodedCell, textEncoder } from '../repr/cell-encoder.ts';
import { decodeUtf8 } from '../repr/text.ts';
import { type RelationDesc, typeToString } from '../repr/types.ts';
import type { ByteSource, Decoded, FileCodecs } from './byte-source.ts';

export function memorySource(content: string | Uint8Array, path = 'x'): ByteSource {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : Uint8Array.from(content);
  return {
    path,
    byteLength: bytes.length,
    read(from, to) {
      if (!(from >= 0 && from <= to && to <= bytes.length)) throw new Error(`read of [${from}, ${to})`);
      return bytes.slice(from, to);
    },
  };
}

const limit = (n: number): { maxOutputLength: number } => ({ maxOutputLength: Math.max(n, 1) });
export const codecs: FileCodecs = {
  zstd: (b, n) => zstdDecompressSync(b, limit(n)),
  gzip: (b, n) => gunzipSync(b, limit(n)),
  brotli: (b, n) => brotliDecompressSync(b, limit(n)),
  crc32: (b) => crc32(b),
};

/** Rows as PostgreSQL prints their cells. */
export function rowTexts(desc: RelationDesc, b: Batch): (string | null)[][] {
  return Array.from({ length: b.length }, (_, i) =>
    desc.columns.map((c, k) => {
      const cell = encodedCell(textEncoder(c.type), b.columns[k]!, i);
      return cell === null ? null : decodeUtf8(cell);
    }),
  );
}

export const allRows = (desc: RelationDesc, decoded: Iterable<Decoded>): (string | null)[][] =>
  [...decoded].flatMap((d) => rowTexts(desc, d.batch));

/** `name type, …` */
export const shape = (desc: RelationDesc): string =>
  desc.columns.map((c) => `${c.name} ${typeToString(c.type)}`).join(', ');

export const SEED = process.env['SEED'] === undefined ? Date.now() & 0x7fffffff : Number(process.env['SEED']);
export const RUNS = Number(process.env['RUNS'] ?? 200);

/** Real data that nobody here made. */
export const VEGA = new URL('../../../../node_modules/vega-datasets/data/', import.meta.url);
