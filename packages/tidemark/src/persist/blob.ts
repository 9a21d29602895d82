/**
 * Where parts live: immutable byte strings under keys of `[A-Za-z0-9._-]` segments joined by `/`. A key is written
 * once, by one writer; who names its keys uniquely needs no more of a store than this.
 */
export interface Blob {
  /**
   * The bytes, or null when there is no such key. The reader owns what it gets: no other call returns the same
   * buffer, so it may be transferred to another thread. The view may start anywhere in its buffer.
   */
  get(key: string): Promise<Uint8Array<ArrayBuffer> | null>;
  /** Durable when resolved; before that a `get` sees nothing or all. `bytes` stays the caller's. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** Forgets the key; of none is no error. */
  delete(key: string): Promise<void>;
  /** The keys that begin with `prefix`, sorted. */
  list(prefix: string): Promise<string[]>;
}

/** Blobs in this process: for tests and for what only describes the present. */
export class MemoryBlob implements Blob {
  readonly #blobs = new Map<string, Uint8Array<ArrayBuffer>>();

  async get(key: string): Promise<Uint8Array<ArrayBuffer> | null> {
    return this.#blobs.get(key)?.slice() ?? null;
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    this.#blobs.set(key, new Uint8Array(bytes));
  }

  async delete(key: string): Promise<void> {
    this.#blobs.delete(key);
  }

  async list(prefix: string): Promise<string[]> {
    return [...this.#blobs.keys()].filter((k) => k.startsWith(prefix)).sort();
  }

  /** Bytes that all blobs take. */
  get byteLength(): number {
    let n = 0;
    for (const b of this.#blobs.values()) n += b.length;
    return n;
  }
}
