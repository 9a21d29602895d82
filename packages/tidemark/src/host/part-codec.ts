/** Compression and checksums of parts in native code. zstd level 1: 400 MB/s, and columns shrink to a third. */
import { promisify } from 'node:util';
import { constants, crc32, zstdCompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { PartCodec } from '../persist/part.ts';

const params = { [constants.ZSTD_c_compressionLevel]: 1 };
const zstdCompressLater = promisify(zstdCompress);
/** Compressed in half a millisecond: less than the way to another thread and back under load. */
const SOON_FROM = 256 * 1024;

const nativeCrc32 = (bytes: Uint8Array, seed: number): number => crc32(bytes, seed);

export const nodePartCodec: PartCodec = {
  compress: (body) => zstdCompressSync(body, { params }),
  compressSoon: async (body) =>
    body.length < SOON_FROM
      ? zstdCompressSync(body, { params })
      : zstdCompressLater(body, { params, chunkSize: body.length >> 1 }),
  decompress: (stored, length) => zstdDecompressSync(stored, { maxOutputLength: Math.max(length, 1) }),
  crc32: nativeCrc32,
};

/** For what stays in memory: compression would cost more than the room. */
export const memoryPartCodec: PartCodec = { crc32: nativeCrc32 };
