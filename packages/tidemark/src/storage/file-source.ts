/**
 * A file as a source: described once at creation, loaded once, and then kept like a table. Decoding runs off the
 * environment's thread; what reads files implements `FileReader`.
 */
import type { Batch } from '../repr/batch.ts';
import type { RelationDesc } from '../repr/types.ts';

export const FILE_FORMATS = ['parquet', 'csv', 'json'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

export interface FileOrigin {
  readonly path: string;
  readonly format: FileFormat;
  /** CSV: the first line names the columns. */
  readonly header?: boolean;
  /** CSV: one character; a comma if absent. */
  readonly delimiter?: string;
}

export interface FileDescription {
  readonly desc: RelationDesc;
  /** Where the format says. */
  readonly rowsKnown: number | null;
  readonly bytes: number;
}

export interface FileProgress {
  readonly rowsRead: number;
  readonly bytesRead: number;
}

export interface FileReader {
  /** Names and types of the columns, inferred where the format has none. Errors name the file and what is wrong with it. */
  describe(origin: FileOrigin): Promise<FileDescription>;
  /**
   * Decodes the file into batches of the given columns, at most 128 K rows each, one at a time: the next is not
   * decoded much before `onBatch` of the last has resolved. A value that does not fit its column's type ends the load.
   */
  read(
    origin: FileOrigin,
    desc: RelationDesc,
    onBatch: (batch: Batch, progress: FileProgress) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
}
