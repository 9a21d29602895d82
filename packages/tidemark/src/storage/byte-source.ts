/**
 * The bytes of a file, read at will. Decoding is synchronous: it runs on a thread of its own, where waiting for a
 * disk holds nobody up, and a decoder that is a plain generator stops between two batches for as long as it is told.
 */
import { SqlError } from '../base/error.ts';
import type { Batch } from '../repr/batch.ts';
import type { FileProgress } from './file-source.ts';

export interface ByteSource {
  /** What errors call it. */
  readonly path: string;
  readonly byteLength: number;
  /** Exactly the bytes [from, to), in memory of their own. Raises `io_error`, with the file named, where they cannot be read. */
  read(from: number, to: number): Uint8Array<ArrayBuffer>;
}

/** What the host's native code does for files. */
export interface FileCodecs {
  /** The decompressed bytes, at most `length` of them; raises on damaged input. */
  readonly zstd: (bytes: Uint8Array, length: number) => Uint8Array;
  readonly gzip: (bytes: Uint8Array, length: number) => Uint8Array;
  readonly brotli: (bytes: Uint8Array, length: number) => Uint8Array;
  readonly crc32: (bytes: Uint8Array) => number;
}

/** `file "x.csv": what is wrong`: the form of every error about a file's content. */
export const fileMessage = (path: string, what: string): string => `file "${path}": ${what}`;

/** The error of a value or a row, with the place where it stands before its message. */
export function inFile(path: string, place: string, error: unknown): unknown {
  if (!(error instanceof SqlError)) return error;
  return new SqlError(error.code, fileMessage(path, `${place}: ${error.message}`), {
    ...error.fields,
    position: undefined,
    cause: error,
  });
}

/** An allocation that the machine refused, which is not the file's fault. */
export const isOutOfMemory = (error: unknown): boolean =>
  error instanceof RangeError && /allocation failed/i.test(error.message);

/** Rows in one batch at most, where the caller does not say. */
export const MAX_BATCH_ROWS = 131_072;
/** A batch of long rows is cut at about so many bytes of the file: two of them must fit in memory anywhere. */
export const BATCH_BYTES: number = 1 << 26;

/** What decoders yield. Times are for the reader of the file to give. */
export interface Decoded {
  readonly batch: Batch;
  readonly progress: FileProgress;
}
