/**
 * The file format of a part: updates as the typed arrays they are, so that writing is copying and reading is
 * looking.
 *
 *     header, 32 bytes   magic, version, flags, rows of oks and errs, length of the body, length as stored, CRC-32
 *     body               two batches, oks then errs; compressed as a whole when flag 1 is set
 *       batch header     rows, columns, flags (1: a time a row, 2: a diff a row), the one time, the one diff
 *       column headers   kind, whether it has a validity bitmap, bytes of its values
 *       sections         times, diffs, then per column validity, offsets, values; each from a multiple of 8
 *
 * The checksum covers the header before it and the stored body, so a torn or changed file is never read as data.
 * Little-endian, as every machine that runs this is.
 *
 * Ownership: all columns of decoded `oks` are views of one buffer, the given one where it is aligned and not
 * compressed; transferring one of them to another thread takes the others along (`batchBuffers` lists it once).
 * Decoded `errs` own their arrays. So the caller gives bytes that it owns and does not touch again.
 */
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import { type Batch, emptyBatch, sliceBatch } from '../repr/batch.ts';
import { type Column, columnBytes, NO_OFFSETS, type Values } from '../repr/column.ts';
import type { Kind } from '../repr/types.ts';
import { crc32 as ownCrc32 } from './crc32.ts';
import type { ShardSchema, Updates } from './shard-types.ts';

/** What a host may do faster, or at all. A part written with compression needs it for reading, too. */
export interface PartCodec {
  readonly compress?: (body: Uint8Array) => Uint8Array;
  /** The same off this thread: a large part takes 10 ms, and an event loop has others to serve. */
  readonly compressSoon?: (body: Uint8Array) => Promise<Uint8Array>;
  readonly decompress?: (stored: Uint8Array, length: number) => Uint8Array;
  readonly crc32?: (bytes: Uint8Array, seed: number) => number;
}

const MAGIC = 0x54504d54; // "TMPT"
const PART_VERSION = 1;
const HEADER = 32;
const CRC_AT = 28;
const BATCH_HEADER = 32;
const COMPRESSED = 1;
const TIME_A_ROW = 1;
const DIFF_A_ROW = 2;
/** Position = the byte in the file: append only. */
const KINDS: readonly Kind[] = ['bool', 'i32', 'i64', 'f64', 'bytes'];
/** Below this, compression costs more than it saves. */
const COMPRESS_FROM = 512;

/** A slice for a reader's step: 10 ms to decode and process. */
export const MAX_PART_ROWS = 131_072;
export const MAX_PART_BYTES = 8 << 20;

const align8 = (n: number): number => (n + 7) & ~7;
const widthOf = (k: Kind): number => (k === 'bool' || k === 'bytes' ? 1 : k === 'i32' ? 4 : 8);

function valuesBytes(c: Column): number {
  return c.kind === 'bytes' ? c.offsets[c.length]! - c.offsets[0]! : c.length * widthOf(c.kind);
}

function batchBytes(b: Batch): number {
  let n = BATCH_HEADER + 8 * b.columns.length;
  if (typeof b.times !== 'number') n += 8 * b.length;
  if (typeof b.diffs !== 'number') n += 8 * b.length;
  for (const c of b.columns) {
    if (c.validity !== null) n += align8((c.length + 7) >> 3);
    if (c.kind === 'bytes') n += align8(4 * (c.length + 1));
    n += align8(valuesBytes(c));
  }
  return n;
}

/** The bytes of a part. */
export function encodePart(u: Updates, codec: PartCodec = {}): Uint8Array<ArrayBuffer> {
  const plain = laidOut(u);
  const { compress } = codec;
  const body = compress === undefined || !isWorthIt(plain) ? null : compress(plain.subarray(HEADER));
  return sealed(u, plain, { body, codec });
}

/** The same; what takes long is done off this thread where the host can. The updates are read before it returns. */
export async function encodePartSoon(u: Updates, codec: PartCodec): Promise<Uint8Array<ArrayBuffer>> {
  const { compressSoon } = codec;
  if (compressSoon === undefined) return encodePart(u, codec);
  const plain = laidOut(u);
  const body = isWorthIt(plain) ? await compressSoon(plain.subarray(HEADER)) : null;
  return sealed(u, plain, { body, codec });
}

const isWorthIt = (plain: Uint8Array): boolean => plain.length - HEADER >= COMPRESS_FROM;

/** Room for the header, then the body. */
function laidOut(u: Updates): Uint8Array<ArrayBuffer> {
  const oksBytes = batchBytes(u.oks);
  const length = oksBytes + batchBytes(u.errs);
  assert(length < 2 ** 32, 'a part is shorter than 4 GiB');
  const out = new Uint8Array(HEADER + length);
  writeBatch(out, HEADER, u.oks);
  writeBatch(out, HEADER + oksBytes, u.errs);
  return out;
}

/** `body`: the compressed one, if there is one. */
function sealed(
  u: Updates,
  plain: Uint8Array<ArrayBuffer>,
  o: { readonly body: Uint8Array | null; readonly codec: PartCodec },
): Uint8Array<ArrayBuffer> {
  const length = plain.length - HEADER;
  let stored = plain;
  let flags = 0;
  if (o.body !== null && o.body.length < length) {
    stored = new Uint8Array(HEADER + o.body.length);
    stored.set(o.body, HEADER);
    flags = COMPRESSED;
  }
  const view = new DataView(stored.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint16(4, PART_VERSION, true);
  view.setUint16(6, flags, true);
  view.setUint32(8, u.oks.length, true);
  view.setUint32(12, u.errs.length, true);
  view.setUint32(16, length, true);
  view.setUint32(20, stored.length - HEADER, true);
  view.setUint32(CRC_AT, checksum(stored, o.codec), true);
  return stored;
}

function checksum(bytes: Uint8Array, codec: PartCodec): number {
  const crc = codec.crc32 ?? ownCrc32;
  return crc(bytes.subarray(HEADER), crc(bytes.subarray(0, CRC_AT), 0)) >>> 0;
}

function writeBatch(out: Uint8Array<ArrayBuffer>, start: number, b: Batch): void {
  const view = new DataView(out.buffer);
  const timeARow = typeof b.times !== 'number';
  const diffARow = typeof b.diffs !== 'number';
  view.setUint32(start, b.length, true);
  view.setUint32(start + 4, b.columns.length, true);
  view.setUint32(start + 8, (timeARow ? TIME_A_ROW : 0) | (diffARow ? DIFF_A_ROW : 0), true);
  if (!timeARow) view.setFloat64(start + 16, b.times as number, true);
  if (!diffARow) view.setFloat64(start + 24, b.diffs as number, true);
  let at = start + BATCH_HEADER;
  for (const c of b.columns) {
    assert(c.length === b.length, `a column has the rows of its batch: ${c.length} and ${b.length}`);
    view.setUint8(at, KINDS.indexOf(c.kind));
    view.setUint8(at + 1, c.validity === null ? 0 : 1);
    view.setUint32(at + 4, valuesBytes(c), true);
    at += 8;
  }
  if (timeARow) at = writeBytes(out, at, b.times as Float64Array<ArrayBuffer>, 8 * b.length);
  if (diffARow) at = writeBytes(out, at, b.diffs as Float64Array<ArrayBuffer>, 8 * b.length);
  for (const c of b.columns) at = writeColumn(out, at, c);
}

function writeColumn(out: Uint8Array<ArrayBuffer>, start: number, c: Column): number {
  let at = start;
  if (c.validity !== null) at = writeBytes(out, at, c.validity, (c.length + 7) >> 3);
  if (c.kind !== 'bytes') return writeBytes(out, at, c.values, c.length * widthOf(c.kind));
  const base = c.offsets[0]!;
  if (base === 0) at = writeBytes(out, at, c.offsets, 4 * (c.length + 1));
  else {
    const offsets = new Int32Array(out.buffer, at, c.length + 1);
    for (let i = 0; i <= c.length; i++) offsets[i] = c.offsets[i]! - base;
    at += align8(4 * (c.length + 1));
  }
  return writeBytes(out, at, c.values.subarray(base) as Values, valuesBytes(c));
}

function writeBytes(out: Uint8Array, at: number, array: Values, n: number): number {
  out.set(new Uint8Array(array.buffer, array.byteOffset, n), at);
  return at + align8(n);
}

/**
 * The updates of a part; `name` says which in errors. Empty batches get the schema's kinds, and a part of other
 * kinds than the schema's is an error: it is not this shard's.
 */
export function decodePart(
  given: Uint8Array<ArrayBuffer>,
  name: string,
  schema: ShardSchema,
  codec: PartCodec = {},
): Updates {
  const bytes = given.byteOffset % 8 === 0 ? given : given.slice();
  if (bytes.length < HEADER) throw corrupt(name, `it has ${bytes.length} bytes, less than a header`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0, true) !== MAGIC) throw corrupt(name, 'it does not begin as a part does');
  const version = view.getUint16(4, true);
  if (version !== PART_VERSION)
    throw corrupt(name, `its format version is ${version}, and ${PART_VERSION} is the only one known`);
  const length = view.getUint32(16, true);
  const storedLength = view.getUint32(20, true);
  if (storedLength !== bytes.length - HEADER)
    throw corrupt(name, `it should have ${storedLength + HEADER} bytes and has ${bytes.length}`);
  if (view.getUint32(CRC_AT, true) !== checksum(bytes, codec)) throw corrupt(name, 'its checksum is wrong');
  let body = bytes.subarray(HEADER);
  if ((view.getUint16(6, true) & COMPRESSED) !== 0) body = decompress(body, length, name, codec);
  const reader = new BodyReader(body, name);
  const oks = reader.batch(schema.oks);
  const errs = ownBatch(reader.batch(schema.errs));
  reader.end();
  if (oks.length !== view.getUint32(8, true) || errs.length !== view.getUint32(12, true))
    throw corrupt(name, 'its header and its body disagree about the rows');
  return { oks, errs };
}

function decompress(
  stored: Uint8Array,
  length: number,
  name: string,
  codec: PartCodec,
): Uint8Array<ArrayBuffer> {
  if (codec.decompress === undefined)
    throw corrupt(name, 'it is compressed, and this host does not decompress');
  let body: Uint8Array;
  try {
    body = codec.decompress(stored, length);
  } catch (cause) {
    throw corrupt(name, 'it does not decompress', cause);
  }
  if (body.length !== length) throw corrupt(name, `it decompresses to ${body.length} bytes, not ${length}`);
  const owned = body.buffer instanceof ArrayBuffer && body.byteLength === body.buffer.byteLength;
  // A pooled buffer would be transferred together with strangers.
  return owned ? (body as Uint8Array<ArrayBuffer>) : new Uint8Array(body);
}

export function corrupt(name: string, detail: string, cause?: unknown): SqlError {
  return new SqlError('data_corrupted', `part ${name} is corrupt`, { detail, cause });
}

class BodyReader {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #view: DataView;
  readonly #name: string;
  #at = 0;

  constructor(bytes: Uint8Array<ArrayBuffer>, name: string) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#name = name;
  }

  #take(n: number): number {
    const at = this.#at;
    if (at + n > this.#bytes.length) throw corrupt(this.#name, 'a section ends after the body');
    this.#at = at + align8(n);
    return this.#bytes.byteOffset + at;
  }

  #floats(n: number): Float64Array<ArrayBuffer> {
    return new Float64Array(this.#bytes.buffer, this.#take(8 * n), n);
  }

  batch(kinds: readonly Kind[]): Batch {
    const at = this.#take(BATCH_HEADER) - this.#bytes.byteOffset;
    const n = this.#view.getUint32(at, true);
    const width = this.#view.getUint32(at + 4, true);
    const flags = this.#view.getUint32(at + 8, true);
    const heads = this.#take(8 * width) - this.#bytes.byteOffset;
    const times = flags & TIME_A_ROW ? this.#floats(n) : this.#view.getFloat64(at + 16, true);
    const diffs = flags & DIFF_A_ROW ? this.#floats(n) : this.#view.getFloat64(at + 24, true);
    const columns: Column[] = [];
    for (let k = 0; k < width; k++) columns.push(this.#column(heads + 8 * k, n));
    if (n === 0) return emptyBatch(kinds);
    if (width !== kinds.length || columns.some((c, k) => c.kind !== kinds[k]))
      throw corrupt(this.#name, `its columns are (${columns.map((c) => c.kind)}), the shard's (${kinds})`);
    return { length: n, columns, times, diffs };
  }

  #column(head: number, n: number): Column {
    const kind = KINDS[this.#view.getUint8(head)];
    if (kind === undefined) throw corrupt(this.#name, 'a column has an unknown kind');
    const { buffer } = this.#bytes;
    const size = this.#view.getUint32(head + 4, true);
    const bitmap = (n + 7) >> 3;
    const validity =
      this.#view.getUint8(head + 1) === 0 ? null : new Uint8Array(buffer, this.#take(bitmap), bitmap);
    if (kind === 'bytes') {
      const offsets = new Int32Array(buffer, this.#take(4 * (n + 1)), n + 1);
      const values = new Uint8Array(buffer, this.#take(size), size);
      return { kind, length: n, validity, values, offsets };
    }
    if (size !== n * widthOf(kind)) throw corrupt(this.#name, 'a column has not the size of its rows');
    const at = this.#take(size);
    const values =
      kind === 'f64'
        ? new Float64Array(buffer, at, n)
        : kind === 'bool'
          ? new Uint8Array(buffer, at, n)
          : new Int32Array(buffer, at, size / 4);
    return { kind, length: n, validity, values, offsets: NO_OFFSETS };
  }

  end(): void {
    if (this.#at !== this.#bytes.length) throw corrupt(this.#name, 'the body goes on after the last section');
  }
}

/** The batch with arrays of its own, so that it does not share the fate of its neighbours. */
function ownBatch(b: Batch): Batch {
  return {
    length: b.length,
    columns: b.columns.map((c) => ({
      ...c,
      validity: c.validity === null ? null : c.validity.slice(),
      values: c.values.slice() as Values,
      offsets: c.offsets.slice(),
    })),
    times: typeof b.times === 'number' ? b.times : b.times.slice(),
    diffs: typeof b.diffs === 'number' ? b.diffs : b.diffs.slice(),
  };
}

/** The updates in runs, each at most one part long by rows and, for rows of about one size, by bytes. */
export function splitUpdates(u: Updates): Updates[] {
  const out: Updates[] = [];
  const none = (b: Batch): Batch => emptyBatch(b.columns.map((c) => c.kind));
  for (const run of splitBatch(u.oks)) out.push({ oks: run, errs: none(u.errs) });
  for (const run of splitBatch(u.errs)) out.push({ oks: none(u.oks), errs: run });
  // The common case: a few errors ride along with the last rows.
  const last = out.at(-1);
  const before = out.at(-2);
  if (last !== undefined && before !== undefined && before.errs.length === 0 && last.oks.length === 0)
    if (before.oks.length + last.errs.length <= MAX_PART_ROWS)
      out.splice(-2, 2, { oks: before.oks, errs: last.errs });
  return out;
}

function splitBatch(b: Batch): Batch[] {
  if (b.length === 0) return [];
  let bytes = 16 * b.length;
  for (const c of b.columns) bytes += columnBytes(c).used;
  const pieces = Math.max(Math.ceil(b.length / MAX_PART_ROWS), Math.ceil(bytes / MAX_PART_BYTES));
  const rows = Math.max(1, Math.ceil(b.length / pieces));
  const out: Batch[] = [];
  for (let at = 0; at < b.length; at += rows) out.push(sliceBatch(b, at, Math.min(at + rows, b.length)));
  return out;
}

/** Least and greatest time of the updates; of none, [Infinity, -Infinity]. */
export function timeRange(u: Updates): [number, number] {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (const { length, times } of [u.oks, u.errs]) {
    if (length === 0) continue;
    if (typeof times === 'number') {
      min = Math.min(min, times);
      max = Math.max(max, times);
    } else
      for (let i = 0; i < length; i++) {
        const t = times[i]!;
        if (t < min) min = t;
        if (t > max) max = t;
      }
  }
  return [min, max];
}

/** Updates with a negative diff. */
export function retractions(u: Updates): number {
  let n = 0;
  for (const { length, diffs } of [u.oks, u.errs]) {
    if (typeof diffs === 'number') n += diffs < 0 ? length : 0;
    else for (let i = 0; i < length; i++) if (diffs[i]! < 0) n++;
  }
  return n;
}
