/** What a statement answers: rows, or a command's tag; and the shapes of what SHOW answers. */
import type { Batch } from '../repr/batch.ts';
import { batchOf } from '../repr/rows.ts';
import { type RelationDesc, type } from '../repr/types.ts';
import type { Statement } from '../sql/ast-statement.ts';

const TEXT = type('text');

export type Result =
  | {
      readonly kind: 'rows';
      readonly desc: RelationDesc;
      readonly rows: Batch;
      readonly tag: (rows: number) => string;
    }
  | { readonly kind: 'command'; readonly tag: string };

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
