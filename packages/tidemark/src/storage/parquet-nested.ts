/**
 * Columns of a Parquet file that are lists, maps or structs: rows put together again from the definition and
 * repetition levels of their leaves. A list of primitive values is an SQL array, everything else jsonb.
 *
 * A node reads its part of the next row from its leaves' cursors. An entry of a leaf below says by its definition level
 * how much of the path to it exists, and by its repetition level which list it continues.
 *
 * Nested columns are decoded a row group at a time: rows of several pages hang together.
 */
import type { SchemaElement, SchemaTree } from 'hyparquet/src/types.js';
import { SqlError, unsupported } from '../base/error.ts';
import { SqlArray } from '../repr/array.ts';
import { type Column, ColumnBuilder, concatColumns, gather, sliceColumn } from '../repr/column.ts';
import { datumAt, pushDatum } from '../repr/datum.ts';
import { textOf } from '../repr/format.ts';
import { canonicalJson, jsonQuote } from '../repr/json.ts';
import { encodeUtf8 } from '../repr/text.ts';
import { arrayOf, type Datum, type SqlType, type } from '../repr/types.ts';
import { type LeafType, leafType } from './parquet-columns.ts';
import type { ChunkPages } from './parquet-pages.ts';

// --- shape

export interface LeafNode {
  readonly kind: 'leaf';
  readonly path: readonly string[];
  readonly leaf: LeafType;
  /** Position among the column's leaves. */
  readonly index: number;
}
/** `def`: the definition level from which on the node exists. */
interface OptionalNode {
  readonly kind: 'optional';
  readonly def: number;
  readonly inner: NestedNode;
}
interface ListNode {
  readonly kind: 'list';
  readonly def: number;
  readonly rep: number;
  readonly item: NestedNode;
}
interface MapNode {
  readonly kind: 'map';
  readonly def: number;
  readonly rep: number;
  readonly key: NestedNode;
  readonly value: NestedNode;
}
interface StructNode {
  readonly kind: 'struct';
  readonly fields: readonly { readonly name: string; readonly node: NestedNode }[];
}
type NestedNode = LeafNode | OptionalNode | ListNode | MapNode | StructNode;

export interface NestedShape {
  readonly root: NestedNode;
  readonly leaves: readonly LeafNode[];
  readonly type: SqlType;
}

const annotated = (e: SchemaElement, ...names: string[]): boolean =>
  names.includes(e.logical_type?.type ?? '') || names.includes(e.converted_type ?? '');

export function nestedShape(column: SchemaTree): NestedShape {
  const leaves: LeafNode[] = [];
  const root = build(column, 0, 0, leaves);
  return { root, leaves, type: shapeType(root) };
}

function build(t: SchemaTree, def: number, rep: number, leaves: LeafNode[]): NestedNode {
  switch (t.element.repetition_type) {
    case 'OPTIONAL':
      return { kind: 'optional', def: def + 1, inner: content(t, def + 1, rep, leaves) };
    case 'REPEATED':
      return { kind: 'list', def: def + 1, rep: rep + 1, item: content(t, def + 1, rep + 1, leaves) };
    default:
      return content(t, def, rep, leaves);
  }
}

/** The node without what its own repetition says. */
function content(t: SchemaTree, def: number, rep: number, leaves: LeafNode[]): NestedNode {
  const { element: e, children } = t;
  if (annotated(e, 'VARIANT')) throw unsupported(`column "${t.path[0]}": Parquet type VARIANT`);
  if (children.length === 0) {
    const leaf: LeafNode = { kind: 'leaf', path: t.path, leaf: leafType(e), index: leaves.length };
    leaves.push(leaf);
    return leaf;
  }
  const only =
    children.length === 1 && children[0]!.element.repetition_type === 'REPEATED' ? children[0]! : null;
  if (only !== null && annotated(e, 'LIST'))
    return { kind: 'list', def: def + 1, rep: rep + 1, item: listItem(e, only, def + 1, rep + 1, leaves) };
  if (only !== null && annotated(e, 'MAP', 'MAP_KEY_VALUE') && only.children.length === 2) {
    const key = build(only.children[0]!, def + 1, rep + 1, leaves);
    const value = build(only.children[1]!, def + 1, rep + 1, leaves);
    return { kind: 'map', def: def + 1, rep: rep + 1, key, value };
  }
  return {
    kind: 'struct',
    fields: children.map((c) => ({ name: c.element.name, node: build(c, def, rep, leaves) })),
  };
}

/** Old writers put the element where others put a group around it; the format's rules tell them apart by name. */
function listItem(
  list: SchemaElement,
  repeated: SchemaTree,
  def: number,
  rep: number,
  leaves: LeafNode[],
): NestedNode {
  const { name } = repeated.element;
  const wrapper = repeated.children.length === 1 && name !== 'array' && name !== `${list.name}_tuple`;
  return wrapper ? build(repeated.children[0]!, def, rep, leaves) : content(repeated, def, rep, leaves);
}

const present = (n: NestedNode): NestedNode => (n.kind === 'optional' ? n.inner : n);

function shapeType(root: NestedNode): SqlType {
  const n = present(root);
  const item = n.kind === 'list' ? present(n.item) : n;
  return n.kind === 'list' && item.kind === 'leaf' ? arrayOf(item.leaf.type) : type('jsonb');
}

// --- rows

const damaged = (what: string): SqlError => new SqlError('data_corrupted', what);

/** Entries of one leaf over a row group, and how far they are read. */
class Entries {
  readonly type: SqlType;
  readonly #length: number;
  readonly #definitions: Uint8Array;
  readonly #repetitions: Uint8Array;
  readonly #values: Column;
  readonly #max: number;
  #at = 0;
  #valueAt = 0;

  constructor(pages: ChunkPages) {
    this.type = pages.leaf.type;
    this.#max = pages.maxDefinition;
    if (Math.max(pages.maxDefinition, pages.maxRepetition) > 255)
      throw unsupported('nesting of more than 255 levels');
    const definitions: Uint8Array[] = [];
    const repetitions: Uint8Array[] = [];
    const values: Column[] = [];
    let length = 0;
    for (let p = pages.next(); p !== null; p = pages.next()) {
      length += p.length;
      definitions.push(p.definitions ?? new Uint8Array(p.length).fill(this.#max));
      repetitions.push(p.repetitions ?? new Uint8Array(p.length));
      values.push(p.indices === null ? p.values : gather(p.values, p.indices, p.indices.length));
    }
    this.#length = length;
    this.#definitions = joined(definitions, length);
    this.#repetitions = joined(repetitions, length);
    this.#values = values.length === 0 ? pages.leaf.convert([], 0) : concatColumns(values);
  }

  get definition(): number {
    if (this.#at >= this.#length) throw damaged('the leaves of a nested column do not agree');
    return this.#definitions[this.#at]!;
  }

  /** Whether the next entry continues the list of this level. */
  continues(rep: number): boolean {
    return this.#at < this.#length && this.#repetitions[this.#at] === rep;
  }

  skip(): void {
    this.#at++;
  }

  take(): Datum {
    if (this.definition !== this.#max) throw damaged('a value that must be there is missing');
    this.#at++;
    return datumAt(this.type, this.#values, this.#valueAt++);
  }

  get done(): boolean {
    return this.#at === this.#length && this.#valueAt === this.#values.length;
  }
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const out = new Uint8Array(length);
  let at = 0;
  for (const p of parts) {
    out.set(p, at);
    at += p.length;
  }
  return out;
}

export class NestedReader {
  readonly #shape: NestedShape;
  readonly #entries: readonly Entries[];

  /** `chunks`: one a leaf, in the shape's order. */
  constructor(shape: NestedShape, chunks: readonly ChunkPages[]) {
    this.#shape = shape;
    this.#entries = chunks.map((c) => new Entries(c));
  }

  take(n: number): Column {
    const { root, type: sqlType } = this.#shape;
    const out = new ColumnBuilder('bytes', n);
    for (let i = 0; i < n; i++) {
      if (!this.#exists(root)) out.pushNull();
      else if (sqlType.name === 'array')
        pushDatum(sqlType, out, SqlArray.of(this.#items(present(root) as ListNode)));
      else out.pushBytes(encodeUtf8(canonicalJson(this.#json(present(root)))));
    }
    return out.finish();
  }

  /** After the last row of the group: nothing may be left. */
  finish(): void {
    if (!this.#entries.every((e) => e.done))
      throw damaged('a nested column has more values than its row group');
  }

  #first(n: NestedNode): Entries {
    switch (n.kind) {
      case 'leaf':
        return this.#entries[n.index]!;
      case 'optional':
        return this.#first(n.inner);
      case 'list':
        return this.#first(n.item);
      case 'map':
        return this.#first(n.key);
      case 'struct':
        return this.#first(n.fields[0]!.node);
    }
  }

  /** Whether an optional node is there; if not, its entry is consumed. */
  #exists(n: NestedNode): boolean {
    if (n.kind !== 'optional' || this.#first(n).definition >= n.def) return true;
    this.#skip(n);
    return false;
  }

  /** What is not there has one entry in each leaf below. */
  #skip(n: NestedNode): void {
    switch (n.kind) {
      case 'leaf':
        this.#entries[n.index]!.skip();
        break;
      case 'optional':
        this.#skip(n.inner);
        break;
      case 'list':
        this.#skip(n.item);
        break;
      case 'map':
        this.#skip(n.key);
        this.#skip(n.value);
        break;
      case 'struct':
        for (const f of n.fields) this.#skip(f.node);
        break;
    }
  }

  /** Calls `item` for each item of a list or map. */
  #each(n: ListNode | MapNode, item: () => void): void {
    const first = this.#first(n);
    if (first.definition < n.def) {
      this.#skip(n);
      return;
    }
    do item();
    while (first.continues(n.rep));
  }

  #items(list: ListNode): Datum[] {
    const out: Datum[] = [];
    const leaf = present(list.item) as LeafNode;
    this.#each(list, () => out.push(this.#exists(list.item) ? this.#entries[leaf.index]!.take() : null));
    return out;
  }

  #json(n: NestedNode): string {
    switch (n.kind) {
      case 'leaf':
        return jsonOf(n.leaf.type, this.#entries[n.index]!.take());
      case 'optional':
        return this.#exists(n) ? this.#json(n.inner) : 'null';
      case 'list': {
        const items: string[] = [];
        this.#each(n, () => items.push(this.#json(n.item)));
        return `[${items.join(',')}]`;
      }
      case 'map': {
        const items: string[] = [];
        this.#each(n, () => {
          const key = this.#json(n.key);
          items.push(`${key.startsWith('"') ? key : jsonQuote(key)}:${this.#json(n.value)}`);
        });
        return `{${items.join(',')}}`;
      }
      case 'struct':
        return `{${n.fields.map((f) => `${jsonQuote(f.name)}:${this.#json(f.node)}`).join(',')}}`;
    }
  }
}

/** A value as `to_jsonb` gives it. */
function jsonOf(t: SqlType, d: Datum): string {
  const text = textOf(t, d);
  switch (t.name) {
    case 'bool':
      return d === true ? 'true' : 'false';
    case 'jsonb':
      return text;
    case 'float4':
    case 'float8':
      return Number.isFinite(d) ? text : jsonQuote(text);
    case 'int2':
    case 'int4':
    case 'int8':
    case 'uint8':
    case 'numeric':
      return text;
    case 'timestamp':
    case 'timestamptz':
      return jsonQuote(text.replace(' ', 'T'));
    default:
      return jsonQuote(text);
  }
}

/** Rows [from, to) in memory of their own. */
export function ownedSlice(c: Column, from: number, to: number): Column {
  const s = sliceColumn(c, from, to);
  if (s.kind !== 'bytes') {
    const width = s.kind === 'i64' ? 2 : 1;
    return { ...s, values: s.values.slice(0, s.length * width) };
  }
  const start = s.offsets[0]!;
  return {
    ...s,
    values: (s.values as Uint8Array<ArrayBuffer>).slice(start, s.offsets[s.length]),
    offsets: s.offsets.map((o) => o - start),
  };
}
