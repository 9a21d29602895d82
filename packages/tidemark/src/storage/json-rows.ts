/**
 * JSON files to batches: an array of objects, or objects one after the other. Columns are the keys of all objects in
 * order of appearance; a key that an object does not have is NULL, like `null`. Of a key given twice the last counts.
 *
 * Types: boolean, bigint, double precision, text, and jsonb for arrays and objects; numbers by the rule of `infer.ts`.
 * Scalars of several types make a text column (numbers and booleans as they stand in the file), nested values among
 * others a jsonb column. The whole file is read for it, at about the speed of loading: a key that only the last row
 * has is a column too, where a sample would lose it.
 *
 * Numbers are read from their digits, never through a double where the column can hold more.
 */
import { SqlError } from '../base/error.ts';
import type { Batch } from '../repr/batch.ts';
import { ColumnBuilder } from '../repr/column.ts';
import { canonicalJson } from '../repr/json.ts';
import { decodeUtf8, encodeUtf8 } from '../repr/text.ts';
import { type ColumnDesc, kindOf, type RelationDesc, type SqlType, type } from '../repr/types.ts';
import {
  BATCH_BYTES,
  type ByteSource,
  type Decoded,
  fileMessage,
  inFile,
  MAX_BATCH_ROWS,
} from './byte-source.ts';
import { type CellParser, cellParser, checkText } from './cell-parser.ts';
import { FileRecords } from './file-records.ts';
import type { FileDescription } from './file-source.ts';
import { ANY_TYPE, BOOL_TYPES, inferredType, numberTypes, type TypeSet } from './infer.ts';
import { type JsonKind, JsonScanner, jsonError, jsonKind } from './json-scanner.ts';

/** Which column a key names, by its bytes; rows mostly repeat the keys of the row before in the same order. */
class Keys {
  readonly #byName = new Map<string, number>();
  /** Per position in an object: the key's bytes that stood there last, and its column. */
  readonly #lastKey: Uint8Array[] = [];
  readonly #lastColumn: number[] = [];
  readonly #onNew: (name: string) => number;

  constructor(names: readonly string[], onNew: (name: string) => number) {
    for (const [i, n] of names.entries()) this.#byName.set(n, i);
    this.#onNew = onNew;
  }

  column(position: number, b: Uint8Array, from: number, to: number): number {
    const last = this.#lastKey[position];
    if (last !== undefined && last.length === to - from) {
      let p = 0;
      while (p < last.length && last[p] === b[from + p]) p++;
      if (p === last.length) return this.#lastColumn[position]!;
    }
    const name = stringValue(b, from, to);
    let i = this.#byName.get(name);
    if (i === undefined) {
      i = this.#onNew(name);
      this.#byName.set(name, i);
    }
    this.#lastKey[position] = b.slice(from, to);
    this.#lastColumn[position] = i;
    return i;
  }
}

/** The string whose characters, without the quotes, are in [from, to). */
function stringValue(b: Uint8Array, from: number, to: number): string {
  checkText(b, from, to);
  const raw = decodeUtf8(b, from, to);
  if (!raw.includes('\\') && !hasControl(b, from, to)) return raw;
  let s: string;
  try {
    s = JSON.parse(`"${raw}"`) as string;
  } catch {
    throw jsonError('invalid string: a control character or an escape that JSON does not have');
  }
  if (s.includes('\0'))
    throw new SqlError('untranslatable_character', 'unsupported Unicode escape sequence', {
      detail: '\\u0000 cannot be converted to text.',
    });
  if (!s.isWellFormed())
    throw new SqlError('invalid_text_representation', 'unsupported Unicode escape sequence', {
      detail: 'a surrogate stands without its pair',
    });
  return s;
}

function hasControl(b: Uint8Array, from: number, to: number): boolean {
  for (let p = from; p < to; p++) if (b[p]! < 32) return true;
  return false;
}

function plainString(b: Uint8Array, from: number, to: number): boolean {
  for (let p = from; p < to; p++) if (b[p]! < 32 || b[p] === 92) return false;
  return true;
}

// --- columns and types

interface Seen {
  readonly name: string;
  types: TypeSet;
  strings: boolean;
  nested: boolean;
  others: boolean;
}

export function describeJson(source: ByteSource): FileDescription {
  const objects = new FileRecords(source, new JsonScanner());
  const { scanner: s } = objects;
  const seen: Seen[] = [];
  const keys = new Keys(
    [],
    (name) => seen.push({ name, types: ANY_TYPE, strings: false, nested: false, others: false }) - 1,
  );
  while (objects.next())
    for (let k = 0; k < s.count; k++) {
      try {
        const i = keys.column(k, s.bytes, s.keyFrom[k]!, s.keyTo[k]!);
        note(seen[i]!, s.bytes, s.from[k]!, s.to[k]!);
      } catch (error) {
        throw inFile(source.path, `row ${s.row}`, error);
      }
    }
  if (seen.length === 0)
    throw new SqlError(
      'bad_copy_file_format',
      fileMessage(source.path, 'has no object to take columns from'),
    );
  const columns = seen.map((c): ColumnDesc => ({ name: c.name, type: columnType(c), nullable: true }));
  return { desc: { columns, keys: [] }, rowsKnown: s.row, bytes: source.byteLength };
}

function note(c: Seen, b: Uint8Array, from: number, to: number): void {
  const kind = jsonKind(b, from, to);
  if (kind === 'null') return;
  if (kind === 'string') c.strings = true;
  else if (kind === 'object' || kind === 'array') c.nested = true;
  else {
    c.others = true;
    c.types &= kind === 'number' ? numberTypes(decodeUtf8(b, from, to)) : BOOL_TYPES;
  }
}

function columnType(c: Seen): SqlType {
  if (c.nested) return type('jsonb');
  if (c.strings || !c.others) return type('text');
  return inferredType(c.types);
}

// --- rows

export function* readJson(
  source: ByteSource,
  desc: RelationDesc,
  maxRows: number = MAX_BATCH_ROWS,
): Generator<Decoded, void> {
  const objects = new FileRecords(source, new JsonScanner());
  const rows = new RowBuilder(source.path, desc);
  let rowsRead = 0;
  let bytesRead = 0;
  while (objects.next()) {
    rows.push(objects.scanner);
    const { consumed } = objects.scanner;
    if (rows.length === maxRows || consumed - bytesRead >= BATCH_BYTES) {
      rowsRead += rows.length;
      bytesRead = consumed;
      yield { batch: rows.finish(), progress: { rowsRead, bytesRead } };
    }
  }
  rowsRead += rows.length;
  if (rows.length > 0) yield { batch: rows.finish(), progress: { rowsRead, bytesRead: source.byteLength } };
}

/** Members of objects to columns; a key that no column has is not read. */
class RowBuilder {
  readonly #path: string;
  readonly #desc: RelationDesc;
  readonly #keys: Keys;
  readonly #builders: readonly ColumnBuilder[];
  readonly #parsers: readonly CellParser[];
  /** Per column: the member of the present object that it takes, or -1. */
  readonly #member: Int32Array;
  #rows = 0;

  constructor(path: string, desc: RelationDesc) {
    this.#path = path;
    this.#desc = desc;
    this.#keys = new Keys(
      desc.columns.map((c) => c.name),
      () => -1,
    );
    this.#builders = desc.columns.map((c) => new ColumnBuilder(kindOf(c.type), 1024));
    this.#parsers = desc.columns.map((c) => cellParser(c.type));
    this.#member = new Int32Array(desc.columns.length);
  }

  get length(): number {
    return this.#rows;
  }

  push(s: JsonScanner): void {
    const b = s.bytes;
    this.#member.fill(-1);
    let column = -1;
    try {
      for (let k = 0; k < s.count; k++) {
        const i = this.#keys.column(k, b, s.keyFrom[k]!, s.keyTo[k]!);
        if (i >= 0) this.#member[i] = k;
        else jsonKind(b, s.from[k]!, s.to[k]!);
      }
      for (column = 0; column < this.#builders.length; column++) {
        const k = this.#member[column]!;
        if (k < 0) this.#builders[column]!.pushNull();
        else this.#cell(column, b, s.from[k]!, s.to[k]!);
      }
    } catch (error) {
      const where = column < 0 ? '' : `, column "${this.#desc.columns[column]!.name}"`;
      throw inFile(this.#path, `row ${s.row}${where}`, error);
    }
    this.#rows++;
  }

  #cell(i: number, b: Uint8Array, from: number, to: number): void {
    const out = this.#builders[i]!;
    const kind = jsonKind(b, from, to);
    if (kind === 'null') out.pushNull();
    else if (this.#desc.columns[i]!.type.name === 'jsonb') {
      checkText(b, from, to);
      out.pushBytes(encodeUtf8(canonicalJson(decodeUtf8(b, from, to))));
    } else if (kind === 'string') {
      if (plainString(b, from + 1, to - 1)) this.#parsers[i]!(b, from + 1, to - 1, out);
      else {
        const text = encodeUtf8(stringValue(b, from + 1, to - 1));
        this.#parsers[i]!(text, 0, text.length, out);
      }
    } else this.#scalar(i, kind, b, from, to);
  }

  #scalar(i: number, kind: JsonKind, b: Uint8Array, from: number, to: number): void {
    if (kind === 'object' || kind === 'array') {
      // Valid or not is said first: a damaged file is not a mismatch of types.
      canonicalJson(decodeUtf8(b, from, to));
      if (kindOf(this.#desc.columns[i]!.type) !== 'bytes')
        throw new SqlError('datatype_mismatch', `an ${kind} stands where a scalar is expected`);
    }
    this.#parsers[i]!(b, from, to, this.#builders[i]!);
  }

  finish(): Batch {
    const length = this.#rows;
    this.#rows = 0;
    return { length, columns: this.#builders.map((b) => b.finish()), times: 0, diffs: 1 };
  }
}
