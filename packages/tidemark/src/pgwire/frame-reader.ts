/**
 * The receive side: chunks in, one frame at a time out, read through a cursor over the chunk itself.
 *
 * A frame inside one chunk is never copied. A frame over several is copied once, when its last byte is there:
 * growing a buffer chunk by chunk would copy a large message log n times. Length words are checked before
 * anything is kept, so that four bytes cannot make us buffer more than `limit`.
 */
import { SqlError } from '../base/error.ts';
import type { Format } from './backend.ts';

const EMPTY = new Uint8Array(0);
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Used-up chunks are dropped from the list in runs of this many. */
const DROP_RUN = 1024;

/** An error after which the client's stream has no meaning: sent as FATAL, and the connection ends. */
export class FatalError extends SqlError {}

/** The client broke the protocol. */
export const violation = (message: string): FatalError => new FatalError('protocol_violation', message);

/** A frame whose contents do not fit its type. */
const malformed = (): FatalError => violation('invalid message format');

export class FrameReader {
  /** The type byte of the current frame, 0 for one without. */
  type = 0;
  /** Chunks from `#head` on are not yet used up; that one from `#from` on. */
  readonly #chunks: Uint8Array[] = [];
  #head = 0;
  #from = 0;
  #buffered = 0;
  /** The current frame's contents: `[#at, #end)` of `#bytes`. */
  #bytes: Uint8Array = EMPTY;
  #view: DataView = new DataView(EMPTY.buffer);
  #at = 0;
  #end = 0;

  /** Bytes received and not handed out. */
  get buffered(): number {
    return this.#buffered;
  }

  /** Bytes of the current frame not yet read. */
  get remaining(): number {
    return this.#end - this.#at;
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
  }

  /** Moves to the next frame, with a type byte or (start-up) without; false if it is not all there. */
  next(typed: boolean, limit: number): boolean {
    const head = typed ? 5 : 4;
    if (this.#buffered < head) return false;
    const skip = typed ? 1 : 0;
    const length =
      (this.#peek(skip) << 24) |
      (this.#peek(skip + 1) << 16) |
      (this.#peek(skip + 2) << 8) |
      this.#peek(skip + 3);
    if (length < 4) throw violation(`invalid message length ${length}`);
    if (length > limit) {
      throw new FatalError(
        'program_limit_exceeded',
        `a message of ${length} bytes exceeds the limit of ${limit}`,
      );
    }
    const total = length + skip;
    if (this.#buffered < total) return false;
    this.type = typed ? this.#peek(0) : 0;
    this.#gather(total);
    this.#at += head;
    return true;
  }

  int16(): number {
    this.#need(2);
    const value = this.#view.getInt16(this.#at);
    this.#at += 2;
    return value;
  }

  int32(): number {
    this.#need(4);
    const value = this.#view.getInt32(this.#at);
    this.#at += 4;
    return value;
  }

  uint32(): number {
    return this.int32() >>> 0;
  }

  byte(): number {
    this.#need(1);
    return this.#bytes[this.#at++];
  }

  format(): Format {
    const code = this.int16();
    if (code !== 0 && code !== 1) throw violation(`unsupported format code: ${code}`);
    return code;
  }

  /** The next `length` bytes, in place. */
  take(length: number): Uint8Array {
    if (length < 0) throw malformed();
    this.#need(length);
    const from = this.#at;
    this.#at += length;
    return this.#bytes.subarray(from, this.#at);
  }

  /** A NUL-terminated text; one that is not UTF-8 is the statement's error, not the protocol's. */
  cstring(): string {
    const from = this.#at;
    const to = this.#bytes.indexOf(0, from);
    if (to < 0 || to >= this.#end) throw violation('invalid string in message');
    this.#at = to + 1;
    // The unnamed statement and portal are the common case.
    return to === from ? '' : decodeUtf8(this.#bytes.subarray(from, to));
  }

  /** The frame must be used up: what is left over means that the two sides disagree on its layout. */
  done(): void {
    if (this.#at !== this.#end) throw malformed();
  }

  #need(bytes: number): void {
    if (this.#end - this.#at < bytes) throw malformed();
  }

  #peek(offset: number): number {
    let at = this.#from + offset;
    for (let i = this.#head; ; i++) {
      const chunk = this.#chunks[i];
      if (at < chunk.length) return chunk[at];
      at -= chunk.length;
    }
  }

  /** Makes the next `total` buffered bytes the current frame, in place or joined. */
  #gather(total: number): void {
    this.#buffered -= total;
    const first = this.#chunks[this.#head];
    if (first.length - this.#from >= total) {
      if (this.#bytes !== first) this.#point(first);
      this.#at = this.#from;
      this.#from += total;
      this.#end = this.#from;
      if (this.#from === first.length) this.#dropFirst();
      return;
    }
    const joined = new Uint8Array(total);
    let filled = 0;
    while (filled < total) {
      const chunk = this.#chunks[this.#head];
      const part = Math.min(chunk.length - this.#from, total - filled);
      joined.set(chunk.subarray(this.#from, this.#from + part), filled);
      filled += part;
      this.#from += part;
      if (this.#from === chunk.length) this.#dropFirst();
    }
    this.#point(joined);
    this.#at = 0;
    this.#end = total;
  }

  #dropFirst(): void {
    this.#from = 0;
    this.#chunks[this.#head++] = EMPTY;
    if (this.#head < this.#chunks.length && this.#head < DROP_RUN) return;
    this.#chunks.splice(0, this.#head);
    this.#head = 0;
  }

  #point(bytes: Uint8Array): void {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }
}

/** Text from the client, strictly UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new SqlError('character_not_in_repertoire', 'invalid byte sequence for encoding "UTF8"', { cause });
  }
}
