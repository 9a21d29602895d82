/**
 * Pages of one column chunk: levels and values. Thrift, encodings and compression are hyparquet's; how a page is laid
 * out is read here, so that levels and dictionary positions go into typed arrays (the library boxes them, three times
 * slower), and so that damage is an error: sizes are checked against what is there, runs against the number of values,
 * checksums where the file has them, dictionary positions against the dictionary.
 */
import { alpDecode } from 'hyparquet/src/alp.js';
import { parquetHeader } from 'hyparquet/src/column.js';
import { decompressPage } from 'hyparquet/src/datapage.js';
import { deltaBinaryUnpack, deltaByteArray, deltaLengthByteArray } from 'hyparquet/src/delta.js';
import { byteStreamSplit, readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';
import { readPlain } from 'hyparquet/src/plain.js';
import { getMaxDefinitionLevel, getMaxRepetitionLevel } from 'hyparquet/src/schema.js';
import type {
  ColumnMetaData,
  CompressionCodec,
  Compressors,
  DataPageHeader,
  DataPageHeaderV2,
  DecodedArray,
  PageHeader,
  ParquetType,
  SchemaElement,
  SchemaTree,
} from 'hyparquet/src/types.js';
import { AssertionError } from '../base/assert.ts';
import { SqlError, unsupported } from '../base/error.ts';
import type { Column } from '../repr/column.ts';
import { type FileCodecs, isOutOfMemory } from './byte-source.ts';
import type { LeafType } from './parquet-columns.ts';
import { unsnappy } from './snappy.ts';

export interface Page {
  /** Entries: rows of a flat column. */
  readonly length: number;
  /** Per entry; null: all are at the greatest level, no NULL among them. */
  readonly definitions: Uint8Array | null;
  /** Per entry; null: no column above is repeated. */
  readonly repetitions: Uint8Array | null;
  /** The values that are not NULL: one after the other, or the dictionary. */
  readonly values: Column;
  /** Positions in the dictionary, one a value; null: the values as they are. */
  readonly indices: Int32Array<ArrayBuffer> | null;
}

/** What a page may hold before compression; the format's own sizes are 31 bits. */
const MAX_PAGE_BYTES = 0x7fffffff;

const damaged = (what: string, cause?: unknown): SqlError => new SqlError('data_corrupted', what, { cause });

/** A library's complaint in our words: what it does not know is unsupported, everything else is damage. */
export function parquetError(error: unknown): SqlError {
  if (error instanceof SqlError) return error;
  if (error instanceof AssertionError) throw error;
  // Where the footer lacks a field, the library trips over it.
  if (error instanceof TypeError) return damaged('its metadata is damaged', error);
  const message = error instanceof Error ? error.message.replace(/^parquet /, '') : String(error);
  if (isOutOfMemory(error)) return new SqlError('out_of_memory', 'does not fit in memory', { cause: error });
  if (/^unsupported /.test(message))
    return unsupported(message.slice('unsupported '.length), { cause: error });
  return damaged(message, error);
}

interface Reader {
  readonly view: DataView;
  offset: number;
}

interface Levels {
  readonly definitions: Uint8Array | null;
  readonly repetitions: Uint8Array | null;
}

export class ChunkPages {
  readonly leaf: LeafType;
  readonly maxDefinition: number;
  readonly maxRepetition: number;
  readonly #element: SchemaElement;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #reader: Reader;
  readonly #codec: CompressionCodec;
  readonly #compressors: Compressors;
  readonly #crc32: FileCodecs['crc32'];
  /** Entries of the chunk that are not read yet. */
  #left: number;
  #dictionary: Column | null = null;

  constructor(
    bytes: Uint8Array<ArrayBuffer>,
    path: SchemaTree[],
    leaf: LeafType,
    meta: ColumnMetaData,
    codecs: FileCodecs,
  ) {
    this.leaf = leaf;
    this.maxDefinition = getMaxDefinitionLevel(path);
    this.maxRepetition = getMaxRepetitionLevel(path);
    if (path.length > 255) throw unsupported('nesting of more than 255 levels');
    this.#element = path.at(-1)!.element;
    if (this.#element.type !== meta.type) throw damaged('schema and column chunk name different types');
    this.#bytes = bytes;
    this.#reader = readerOf(bytes);
    this.#codec = meta.codec;
    this.#compressors = { ZSTD: codecs.zstd, GZIP: codecs.gzip, BROTLI: codecs.brotli, SNAPPY: unsnappy };
    this.#crc32 = codecs.crc32;
    this.#left = Number(meta.num_values);
  }

  /** The next data page; null after the last. */
  next(): Page | null {
    while (this.#left > 0) {
      if (this.#reader.offset >= this.#bytes.length)
        throw damaged(`the column ends ${this.#left} values early`);
      const header = parquetHeader(this.#reader);
      const body = this.#body(header);
      if (header.type === 'DICTIONARY_PAGE') this.#readDictionary(header, body);
      else if (header.type === 'DATA_PAGE' || header.type === 'DATA_PAGE_V2') {
        const h2 = header.data_page_header_v2;
        const page = h2 === undefined ? this.#page(header, body) : this.#pageV2(header, h2, body);
        this.#left -= page.length;
        return page;
      } else if (header.type !== 'INDEX_PAGE') throw damaged('a page of no known type');
    }
    return null;
  }

  #body(header: PageHeader): Uint8Array<ArrayBuffer> {
    const { compressed_page_size: size, uncompressed_page_size: length } = header;
    const from = this.#reader.offset;
    if (!(size >= 0) || from + size > this.#bytes.length) throw damaged('a page reaches beyond its column');
    if (!(length >= 0 && length <= MAX_PAGE_BYTES)) throw damaged('a page has no size');
    this.#reader.offset += size;
    const body = this.#bytes.subarray(from, from + size);
    if (header.crc !== undefined && this.#crc32(body) >>> 0 !== header.crc >>> 0)
      throw damaged('the checksum of a page is wrong');
    return body;
  }

  #decompress(bytes: Uint8Array, length: number): Uint8Array {
    // A page without values may have no bytes at all, which no codec takes.
    if (length === 0) return new Uint8Array(0);
    return decompressPage(bytes, length, this.#codec, this.#compressors);
  }

  #readDictionary(header: PageHeader, body: Uint8Array): void {
    const h = header.dictionary_page_header;
    if (h === undefined || this.#dictionary !== null) throw damaged('a dictionary page out of place');
    const page = this.#decompress(body, header.uncompressed_page_size);
    checkCount(h.num_values, page.length * 8);
    this.#dictionary = this.#convert(this.#plain(readerOf(page), h.num_values), h.num_values);
  }

  #page(header: PageHeader, body: Uint8Array): Page {
    const h = header.data_page_header;
    if (h === undefined) throw damaged('a data page without a header');
    const entries = h.num_values;
    checkCount(entries, this.#left);
    const reader = readerOf(this.#decompress(body, header.uncompressed_page_size));
    const levels = (max: number): Uint8Array | null => {
      if (max === 0) return null;
      const length = reader.view.getUint32(reader.offset, true);
      reader.offset += 4;
      return readLevels(reader, max, entries, length);
    };
    const repetitions = levels(this.maxRepetition);
    return this.#finish(h, reader, { repetitions, definitions: levels(this.maxDefinition) });
  }

  #pageV2(header: PageHeader, h: DataPageHeaderV2, body: Uint8Array): Page {
    const entries = h.num_values;
    checkCount(entries, this.#left);
    const { repetition_levels_byte_length: repBytes, definition_levels_byte_length: defBytes } = h;
    const before = repBytes + defBytes;
    if (!(repBytes >= 0 && defBytes >= 0 && before <= body.length && before <= header.uncompressed_page_size))
      throw damaged('the levels of a page reach beyond it');
    const levels = readerOf(body.subarray(0, before));
    const repetitions =
      this.maxRepetition === 0 ? null : readLevels(levels, this.maxRepetition, entries, repBytes);
    levels.offset = repBytes;
    const definitions =
      this.maxDefinition === 0 ? null : readLevels(levels, this.maxDefinition, entries, defBytes);
    const rest = body.subarray(before);
    const page =
      h.is_compressed === false ? rest : this.#decompress(rest, header.uncompressed_page_size - before);
    return this.#finish(h, readerOf(page), { repetitions, definitions });
  }

  #finish(h: DataPageHeader | DataPageHeaderV2, reader: Reader, { repetitions, definitions }: Levels): Page {
    const length = h.num_values;
    const n = definitions === null ? length : countAt(definitions, this.maxDefinition);
    const page = { length, repetitions, definitions: n === length ? null : definitions };
    if (h.encoding !== 'PLAIN_DICTIONARY' && h.encoding !== 'RLE_DICTIONARY')
      return { ...page, values: this.#convert(this.#decode(h.encoding, reader, n), n), indices: null };
    const values = this.#dictionary;
    if (values === null) throw damaged('a page refers to a dictionary that is not there');
    const indices = new Int32Array(n);
    const width = n === 0 ? 0 : reader.view.getUint8(reader.offset++);
    if (width > 31) throw damaged('a page refers past its dictionary');
    if (width > 0) readRuns(reader, width, indices, reader.view.byteLength - reader.offset);
    for (let i = 0; i < n; i++)
      if (indices[i]! >= values.length) throw damaged('a page refers past its dictionary');
    return { ...page, values, indices };
  }

  /** Values by any encoding but the dictionary's. */
  #decode(encoding: string, reader: Reader, n: number): DecodedArray {
    const type = this.#element.type!;
    switch (encoding) {
      case 'PLAIN':
        return this.#plain(reader, n);
      case 'RLE': {
        const out = new Uint8Array(n);
        const length = reader.view.getUint32(reader.offset, true);
        reader.offset += 4;
        readRuns(reader, 1, out, length);
        return out;
      }
      case 'DELTA_BINARY_PACKED': {
        const out = type === 'INT32' ? new Int32Array(n) : new BigInt64Array(n);
        if (n > 0) deltaBinaryUnpack(reader, n, out);
        return out;
      }
      case 'DELTA_LENGTH_BYTE_ARRAY':
      case 'DELTA_BYTE_ARRAY': {
        const out = new Array<Uint8Array>(n);
        if (n > 0) (encoding === 'DELTA_BYTE_ARRAY' ? deltaByteArray : deltaLengthByteArray)(reader, n, out);
        return out;
      }
      case 'BYTE_STREAM_SPLIT':
        return byteStreamSplit(reader, n, type, this.#element.type_length);
      case 'ALP':
        return alpDecode(reader, n, type);
      default:
        throw unsupported(`Parquet encoding ${encoding}`);
    }
  }

  /** Plain values, all of them within the page: the library's views are on the buffer, which may hold more than it. */
  #plain(reader: Reader, n: number): DecodedArray {
    const type: ParquetType = this.#element.type!;
    const raw = readPlain(reader, type, n, this.#element.type_length);
    if (reader.offset > reader.view.byteLength) throw damaged('a page has fewer values than it says');
    return raw;
  }

  #convert(raw: DecodedArray, n: number): Column {
    if (raw.length < n) throw damaged('a page has fewer values than it says');
    return this.leaf.convert(raw, n);
  }
}

/** A count from the file, before anything is allocated by it. */
function checkCount(n: number, most: number): void {
  if (!(n >= 0 && n <= most)) throw damaged(`a page says it has ${n} values`);
}

const readerOf = (b: Uint8Array): Reader => ({
  view: new DataView(b.buffer, b.byteOffset, b.byteLength),
  offset: 0,
});

function readLevels(reader: Reader, max: number, n: number, length: number): Uint8Array {
  const out = new Uint8Array(n);
  readRuns(reader, 32 - Math.clz32(max), out, length);
  for (let i = 0; i < n; i++) if (out[i]! > max) throw damaged('a level is beyond the schema');
  return out;
}

/** Runs of `length` bytes into `out`. The library trusts their counts: a damaged one would keep it busy for hours. */
function readRuns(reader: Reader, width: number, out: Uint8Array | Int32Array, length: number): void {
  const { view, offset } = reader;
  const end = offset + length;
  if (end > view.byteLength) throw damaged('the levels of a page reach beyond it');
  for (let seen = 0, p = offset; seen < out.length; ) {
    let header = 0;
    let shift = 0;
    let byte = 0;
    do {
      if (p >= end || shift > 28) throw damaged('a run of values is damaged');
      byte = view.getUint8(p++);
      header |= (byte & 0x7f) << shift;
      shift += 7;
    } while (byte >= 0x80);
    const count = header >>> 1;
    const packed = (header & 1) === 1;
    if (count === 0 || (packed ? count > end : count > out.length - seen))
      throw damaged('a run of values is damaged');
    seen += packed ? count * 8 : count;
    p += packed ? count * width : (width + 7) >> 3;
  }
  readRleBitPackedHybrid(reader, width, out, length);
}

function countAt(levels: Uint8Array, level: number): number {
  let n = 0;
  for (let i = 0; i < levels.length; i++) if (levels[i] === level) n++;
  return n;
}
