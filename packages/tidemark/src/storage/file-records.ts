/** The records of a file, one after the other: a scanner that is given the file chunk by chunk as it asks for more. */
import { SqlError } from '../base/error.ts';
import { type ByteSource, fileMessage } from './byte-source.ts';

const CHUNK_BYTES = 1 << 20;

/** Finds records in bytes that come in pieces; keeps the present one until it moves on. */
export interface RecordScanner {
  push(chunk: Uint8Array): void;
  /** No more bytes come: what is left is the last record. */
  finish(): void;
  /** Moves to the next record; false: more bytes are needed, or after `finish` that there is none. */
  next(): boolean;
}

export class FileRecords<S extends RecordScanner> {
  readonly scanner: S;
  readonly #source: ByteSource;
  #read = 0;

  constructor(source: ByteSource, scanner: S) {
    this.scanner = scanner;
    this.#source = source;
  }

  /** False: there is none left. */
  next(): boolean {
    const { scanner } = this;
    try {
      while (!scanner.next()) {
        if (this.#read === this.#source.byteLength) {
          scanner.finish();
          return scanner.next();
        }
        const to = Math.min(this.#read + CHUNK_BYTES, this.#source.byteLength);
        scanner.push(this.#source.read(this.#read, to));
        this.#read = to;
      }
      return true;
    } catch (error) {
      if (!(error instanceof SqlError) || error.code === 'io_error') throw error;
      throw new SqlError(error.code, fileMessage(this.#source.path, error.message), error.fields);
    }
  }
}
