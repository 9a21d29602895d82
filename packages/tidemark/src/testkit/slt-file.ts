/**
 * The text form of SQL behaviour: records of a keyword line and the lines below it, parted by empty lines. Read into
 * records and printed back, with nothing lost, so that `--rewrite` changes expected blocks alone.
 *
 *     # One row a group, also for the group of NULL.
 *     table t (a int4, b text)
 *     1, 'x'
 *     2, NULL
 *
 *     query
 *     SELECT b, count(*) FROM t GROUP BY b
 *     ----
 *     NULL | 1
 *     x | 1
 *
 *     statement
 *     INSERT INTO t VALUES (1 / 0, 'y')
 *     ----
 *     error 22012: division by zero
 *
 * - `section`: tables go, and views with them.
 * - `table`: a table and its rows, as SQL values. Its columns are `name type` alone.
 * - `query`: read in every way there is. Words after it: `ordered` (rows come in this order), `direct` (it cannot be a
 *   view), `ours` (PostgreSQL answers otherwise, or lacks it; the comment above says why).
 * - `statement`: run once, its tag expected, or its rows (RETURNING), or its error. `ours` as with queries.
 *
 * Cells are parted by ` | `; the empty string is `(empty)`, NULL is `NULL`, a line feed is `\n`.
 */
import { assert } from '../base/assert.ts';
import type { TextRow } from './engine.ts';

export interface SltColumn {
  readonly name: string;
  readonly type: string;
}

interface At {
  /** From 1, of the keyword. */
  readonly line: number;
  /** Comment and empty lines above. */
  readonly before: readonly string[];
}

export interface SltTable extends At {
  readonly kind: 'table';
  readonly name: string;
  readonly columns: readonly SltColumn[];
  /** Values in SQL, one row a line. */
  readonly rows: readonly string[];
}

export interface SltRun extends At {
  readonly kind: 'query' | 'statement';
  readonly words: readonly string[];
  readonly sql: string;
  readonly expected: readonly string[];
}

export interface SltSection {
  readonly line: number;
  readonly before: readonly string[];
  readonly records: readonly (SltTable | SltRun)[];
}

export interface SltFile {
  readonly sections: readonly SltSection[];
  readonly after: readonly string[];
}

const WORDS: Readonly<Record<'query' | 'statement', readonly string[]>> = {
  query: ['ordered', 'direct', 'ours'],
  statement: ['ours'],
};

export function parseSlt(text: string): SltFile {
  const lines = text.replace(/\n$/, '').split('\n');
  const sections: { line: number; before: readonly string[]; records: (SltTable | SltRun)[] }[] = [
    { line: 0, before: [], records: [] },
  ];
  let before: string[] = [];
  for (let i = 0; i < lines.length; ) {
    const head = lines[i]!;
    if (head === '' || head.startsWith('#')) {
      before.push(head);
      i++;
      continue;
    }
    const at = { line: i + 1, before };
    before = [];
    const [kind, ...rest] = head.split(' ');
    let end = i + 1;
    while (end < lines.length && lines[end] !== '') end++;
    const body = lines.slice(i + 1, end);
    if (kind === 'section') sections.push({ ...at, records: [] });
    else if (kind === 'table')
      sections.at(-1)!.records.push({ ...at, kind, ...parseTable(head), rows: body });
    else {
      assert(kind === 'query' || kind === 'statement', `line ${i + 1} begins with a keyword`);
      const unknown = rest.find((w) => !WORDS[kind].includes(w));
      assert(unknown === undefined, `line ${i + 1}: ${kind} knows the word ${unknown}`);
      const cut = body.indexOf('----');
      sections.at(-1)!.records.push({
        ...at,
        kind,
        words: rest,
        sql: (cut === -1 ? body : body.slice(0, cut)).join('\n'),
        expected: cut === -1 ? [] : body.slice(cut + 1),
      });
    }
    i = end;
  }
  return { sections, after: before };
}

function parseTable(head: string): { name: string; columns: readonly SltColumn[] } {
  const match = /^table (\w+) \((.*)\)$/.exec(head);
  assert(match !== null, `'${head}' reads: table name (column type, ...)`);
  const columns = match[2]!.split(/,(?![^(]*\))/).map((c) => {
    const [name, ...type] = c.trim().split(' ');
    return { name: name!, type: type.join(' ') };
  });
  return { name: match[1]!, columns };
}

/** `expected`: what a record expects from now on, where that has changed. */
export function printSlt(file: SltFile, expected: ReadonlyMap<SltRun, readonly string[]>): string {
  const out: string[] = [];
  for (const [i, s] of file.sections.entries()) {
    out.push(...s.before);
    if (i > 0) out.push('section');
    for (const r of s.records) {
      out.push(...r.before);
      if (r.kind === 'table') {
        out.push(`table ${r.name} (${r.columns.map((c) => `${c.name} ${c.type}`).join(', ')})`, ...r.rows);
        continue;
      }
      out.push([r.kind, ...r.words].join(' '), r.sql, '----', ...(expected.get(r) ?? r.expected));
    }
  }
  out.push(...file.after);
  return `${out.join('\n')}\n`;
}

const cellText = (cell: string | null): string =>
  cell === null ? 'NULL' : cell === '' ? '(empty)' : cell.replaceAll('\n', '\\n');

export const rowText = (row: TextRow): string => row.map(cellText).join(' | ');
