/** What a statement answers: rows, or a command's tag; and the shapes of what SHOW answers. */
import type { SqlError } from '../base/error.ts';
import { type Batch, concatBatches, emptyBatch } from '../repr/batch.ts';
import type { CopyFormat } from '../repr/copy-text.ts';
import { batchOf } from '../repr/rows.ts';
import { kindOf, type RelationDesc, type } from '../repr/types.ts';
import type { Statement } from '../sql/ast-statement.ts';

const TEXT = type('text');

export type Result =
  | {
      readonly kind: 'rows';
      readonly desc: RelationDesc;
      readonly rows: Batch;
      readonly tag: (rows: number) => string;
    }
  | { readonly kind: 'command'; readonly tag: string }
  /** Rows that come as they happen. Whoever takes the result closes the stream. */
  | {
      readonly kind: 'stream';
      readonly desc: RelationDesc;
      readonly rows: RowStream;
      /** Asked for by COPY: as its data, not as rows. */
      readonly copy: CopyFormat | null;
      readonly tag: (rows: number) => string;
    };

export interface RowStream {
  /** The next rows, undefined if there are none yet, null at the end; throws what it ended with. */
  poll(): Batch | null | undefined;
  /** Resolves once `poll` may have something to say. */
  ready(): Promise<void>;
  /** Idempotent. With an error: `poll` throws it. */
  close(error?: SqlError): void;
}

/** Rows that are there already, as a stream. */
export function streamOf(rows: Batch): RowStream {
  let left: Batch | null = rows;
  return {
    poll() {
      const next = left;
      left = null;
      return next;
    },
    ready: () => Promise.resolve(),
    close() {
      left = null;
    },
  };
}

/** The next rows, waiting for them; null at the end. */
export async function nextRows(stream: RowStream): Promise<Batch | null> {
  for (;;) {
    const rows = stream.poll();
    if (rows !== undefined) return rows;
    await stream.ready();
  }
}

export const SHOW_CREATE: RelationDesc = textDesc('name', 'create_sql');
export const SHOW_ALL: RelationDesc = textDesc('name', 'setting', 'description');

export function textDesc(...names: readonly string[]): RelationDesc {
  return { columns: names.map((name) => ({ name, type: TEXT, nullable: false })), keys: [] };
}

/** What SHOW answers with, known before it runs. */
export function showResult(s: Statement): RelationDesc | undefined {
  switch (s.kind) {
    case 'showVariable':
      return textDesc(s.name);
    case 'showAll':
      return SHOW_ALL;
    case 'showCreate':
      return SHOW_CREATE;
    default:
      return undefined;
  }
}

export const textBatch = (rows: readonly (readonly string[])[]): Batch =>
  batchOf(
    (rows[0] ?? []).map(() => TEXT),
    rows.map((r) => [...r]),
  );

export function textRows(column: string, lines: readonly string[], tag: string): Result {
  return {
    kind: 'rows',
    desc: textDesc(column),
    rows: textBatch(lines.map((l) => [l])),
    tag: () => tag,
  };
}

/** The stream of a statement that can be cancelled; `onClose` when its reader is done with it. */
export function cancellable(rows: RowStream, signal: AbortSignal, onClose: () => void): RowStream {
  const cancel = (): void => rows.close(signal.reason as SqlError);
  if (signal.aborted) cancel();
  signal.addEventListener('abort', cancel, { once: true });
  return {
    poll: () => rows.poll(),
    ready: () => rows.ready(),
    close: (error) => {
      signal.removeEventListener('abort', cancel);
      rows.close(error);
      onClose();
    },
  };
}

/** The whole of a result; a stream is read to its end. */
export async function whole(r: Result): Promise<Exclude<Result, { kind: 'stream' }>> {
  if (r.kind !== 'stream') return r;
  const parts: Batch[] = [emptyBatch(r.desc.columns.map((c) => kindOf(c.type)))];
  try {
    for (let b = await nextRows(r.rows); b !== null; b = await nextRows(r.rows)) parts.push(b);
  } finally {
    r.rows.close();
  }
  return { kind: 'rows', desc: r.desc, rows: concatBatches(parts), tag: r.tag };
}
