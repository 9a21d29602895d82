/** Compression and checksums of parts in native code. zstd level 1: 400 MB/s, and columns shrink to a third. */
import { constants, crc32, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { PartCodec } from '../persist/part.ts';

const nativeCrc32 = (bytes: Uint8Array, seed: number): number => crc32(bytes, seed);

export const nodePartCodec: PartCodec = {
  compress: (body) => zstdCompressSync(body, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
  decompress: (stored, length) => zstdDecompressSync(stored, { maxOutputLength: Math.max(length, 1) }),
  crc32: nativeCrc32,
};

/** For what stays in memory: compression would cost more than the room. */
export const memoryPartCodec: PartCodec = { crc32: nativeCrc32 };
