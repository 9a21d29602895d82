/**
 * Pages of one column chunk: levels and values. Thrift, encodings and compression are hyparquet's; what is ours is
 * the way around its arrays of boxed values where nearly all files go (dictionary and plain pages of flat columns),
 * and the checks that make damage an error: sizes against what is there, checksums where the file has them,
 * dictionary positions against the dictionary.
 */
import { parquetHeader } from 'hyparquet/src/column.js';
import { decompressPage, readDataPage, readDataPageV2 } from 'hyparquet/src/datapage.js';
import { readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';
import { readPlain } from 'hyparquet/src/plain.js';
import { getMaxDefinitionLevel, getMaxRepetitionLevel } from 'hyparquet/src/schema.js';
import type {
  ColumnDecoder,
  ColumnMetaData,
  Compressors,
  DataPageHeader,
  DecodedArray,
  PageHeader,
  ParquetType,
  SchemaTree,
} from 'hyparquet/src/types.js';
import { AssertionError } from '../base/assert.ts';
import { SqlError, unsupported } from '../base/error.ts';
import type { Column } from '../repr/column.ts';
import type { FileCodecs } from './byte-source.ts';
import type { LeafType } from './parquet-columns.ts';

export interface Page {
  /** Entries: rows of a flat column. */
  readonly length: number;
  /** Per entry; null: all are at the greatest level, no NULL among them. */
  readonly definitions: ArrayLike<number> | null;
  /** Per entry; null: no column above is repeated. */
  readonly repetitions: ArrayLike<number> | null;
  /** The values that are not NULL: one after the other, or the dictionary. */
  readonly values: Column;
  /** Positions in the dictionary, one a value; null: the values as they are. */
  readonly indices: Int32Array<ArrayBuffer> | null;
}

/** What a page may hold before compression; the format's own sizes are 31 bits. */
const MAX_PAGE_BYTES = 0x7fffffff;

const damaged = (what: string, cause?: unknown): SqlError => new SqlError('data_corrupted', what, { cause });

export function compressorsOf(codecs: FileCodecs): Compressors {
  return { ZSTD: codecs.zstd, GZIP: codecs.gzip, BROTLI: codecs.brotli };
}

/** A library's complaint in our words: what it does not know is unsupported, everything else is damage. */
export function parquetError(error: unknown): SqlError {
  if (error instanceof SqlError) return error;
  if (error instanceof AssertionError) throw error;
  const message = error instanceof Error ? error.message.replace(/^parquet /, '') : String(error);
  if (/allocation failed/.test(message))
    return new SqlError('out_of_memory', 'does not fit in memory', { cause: error });
  if (/^unsupported /.test(message))
    return unsupported(message.slice('unsupported '.length), { cause: error });
  return damaged(message, error);
}

export class ChunkPages {
  readonly leaf: LeafType;
  readonly maxDefinition: number;
  readonly maxRepetition: number;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #reader: { view: DataView; offset: number };
  readonly #decoder: ColumnDecoder;
  readonly #codecs: FileCodecs;
  readonly #left: { entries: number };
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
    this.#bytes = bytes;
    this.#codecs = codecs;
    this.#reader = { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset: 0 };
    const { element } = path.at(-1)!;
    if (element.type !== meta.type) throw damaged('schema and column chunk name different types');
    this.#decoder = {
      ...meta,
      pathInSchema: meta.path_in_schema,
      element,
      schemaPath: path,
      compressors: compressorsOf(codecs),
    } as unknown as ColumnDecoder;
    this.#left = { entries: Number(meta.num_values) };
  }

  /** The next data page; null after the last. */
  next(): Page | null {
    while (this.#left.entries > 0) {
      if (this.#reader.offset >= this.#bytes.length)
        throw damaged(`the column ends ${this.#left.entries} values early`);
      const header = parquetHeader(this.#reader);
      const body = this.#body(header);
      if (header.type === 'DICTIONARY_PAGE') this.#readDictionary(header, body);
      else if (header.type === 'DATA_PAGE' || header.type === 'DATA_PAGE_V2') {
        const page = this.#page(header, body);
        this.#left.entries -= page.length;
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
    if (header.crc !== undefined && this.#codecs.crc32(body) >>> 0 !== header.crc >>> 0)
      throw damaged('the checksum of a page is wrong');
    return body;
  }

  #readDictionary(header: PageHeader, body: Uint8Array): void {
    const h = header.dictionary_page_header;
    if (h === undefined || this.#dictionary !== null) throw damaged('a dictionary page out of place');
    const { type, element, codec, compressors } = this.#decoder;
    const page = decompressPage(body, header.uncompressed_page_size, codec, compressors);
    checkCount(h.num_values, page.length * 8 + 1);
    const raw = plain(viewOf(page), type, h.num_values, element.type_length);
    this.#dictionary = this.#convert(raw, h.num_values);
  }

  #convert(raw: DecodedArray, n: number): Column {
    // A view that a damaged length moved past the end is shorter than it says.
    if (raw.length < n) throw damaged('a page has fewer values than it says');
    return this.leaf.convert(raw, n);
  }

  #page(header: PageHeader, body: Uint8Array): Page {
    const h = header.data_page_header;
    const h2 = header.data_page_header_v2;
    const entries = h?.num_values ?? h2?.num_values;
    if (entries === undefined) throw damaged('a data page without a header');
    checkCount(entries, this.#left.entries);
    if (h === undefined) {
      const page = readDataPageV2(body, header, this.#decoder);
      return this.#finish(entries, h2!.encoding, page);
    }
    const { codec, compressors } = this.#decoder;
    const page = decompressPage(body, header.uncompressed_page_size, codec, compressors);
    return this.maxRepetition === 0 && this.maxDefinition <= 1
      ? this.#flatPage(page, h)
      : this.#finish(entries, h.encoding, readDataPage(page, h, this.#decoder));
  }

  #finish(
    entries: number,
    encoding: string,
    page: {
      readonly definitionLevels: number[] | undefined;
      readonly repetitionLevels: number[];
      readonly dataPage: DecodedArray;
    },
  ): Page {
    const levels = (a: number[] | undefined): number[] | null =>
      a === undefined || a.length === 0 ? null : a;
    const definitions = levels(page.definitionLevels);
    const n = definitions === null ? entries : count(definitions, entries, this.maxDefinition);
    if (page.dataPage.length !== n) throw damaged('a page has fewer values than it says');
    const indices = encoding.endsWith('_DICTIONARY')
      ? Int32Array.from(page.dataPage as ArrayLike<number>)
      : null;
    return {
      length: entries,
      definitions,
      repetitions: levels(page.repetitionLevels),
      ...this.#values(page.dataPage, indices, n),
    };
  }

  #values(
    raw: DecodedArray,
    indices: Int32Array<ArrayBuffer> | null,
    n: number,
  ): Pick<Page, 'values' | 'indices'> {
    if (indices === null) return { values: this.#convert(raw, n), indices };
    const values = this.#dictionary;
    if (values === null) throw damaged('a page refers to a dictionary that is not there');
    for (let i = 0; i < n; i++)
      if (indices[i]! >= values.length || indices[i]! < 0) throw damaged('a page refers past its dictionary');
    return { values, indices };
  }

  /** A page of a column that is not nested, with levels and positions in typed arrays: three times the library's speed. */
  #flatPage(page: Uint8Array, h: DataPageHeader): Page {
    const { type, element } = this.#decoder;
    const entries = h.num_values;
    const reader = viewOf(page);
    let definitions: Uint8Array | null = null;
    let n = entries;
    if (this.maxDefinition === 1) {
      definitions = new Uint8Array(entries);
      readRleBitPackedHybrid(reader, 1, definitions);
      n = count(definitions, entries, 1);
      if (n === entries) definitions = null;
    }
    const flat = { length: entries, definitions, repetitions: null };
    if (h.encoding === 'PLAIN')
      return { ...flat, ...this.#values(plain(reader, type, n, element.type_length), null, n) };
    if (h.encoding !== 'PLAIN_DICTIONARY' && h.encoding !== 'RLE_DICTIONARY')
      return { ...flat, ...this.#values(readDataPage(page, h, this.#decoder).dataPage, null, n) };
    const indices = new Int32Array(n);
    const width = n === 0 ? 0 : reader.view.getUint8(reader.offset++);
    if (width > 31) throw damaged('a page refers past its dictionary');
    if (width > 0) readRleBitPackedHybrid(reader, width, indices, page.length - reader.offset);
    return { ...flat, ...this.#values([], indices, n) };
  }
}

/** Plain values, all of them within the page: the library's views are on the buffer, which may hold more than it. */
function plain(
  reader: { readonly view: DataView; offset: number },
  type: ParquetType,
  n: number,
  width: number | undefined,
): DecodedArray {
  const raw = readPlain(reader, type, n, width);
  if (reader.offset > reader.view.byteLength) throw damaged('a page has fewer values than it says');
  return raw;
}

/** A count from the file, before anything is allocated by it. */
function checkCount(n: number, most: number): void {
  if (!(n >= 0 && n <= most)) throw damaged(`a page says it has ${n} values`);
}

const viewOf = (b: Uint8Array): { view: DataView; offset: number } => ({
  view: new DataView(b.buffer, b.byteOffset, b.byteLength),
  offset: 0,
});

function count(levels: ArrayLike<number>, n: number, level: number): number {
  let found = 0;
  for (let i = 0; i < n; i++) {
    const v = levels[i];
    // A run of zero length leaves a hole in the library's arrays.
    if (v === undefined || v > level) throw damaged('a level beyond the schema');
    if (v === level) found++;
  }
  return found;
}
