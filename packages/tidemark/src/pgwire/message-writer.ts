/**
 * The send buffer: messages are written in place, one after the other, and taken away as one chunk.
 *
 *   out.begin(BACKEND.commandComplete); out.cstring('SELECT 1'); out.end();
 *
 * Invariant: outside `begin`/`end` it holds whole messages only, so that a notice or a FATAL may be added at any
 * await. Cost: no allocation a message or cell; ASCII up to 64 characters is written by hand, which beats the
 * call into `encodeInto` there.
 */
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import type { CellWriter } from './backend.ts';
import { LIMITS } from './messages.ts';

const encoder = new TextEncoder();
/** Capacity at first and at rest: a thousand idle connections hold 4 MB. */
const INITIAL = 4 * 1024;
/** Capacity after a large chunk, since more is likely to come: what one flush takes, with a row's slack. */
const BULK = LIMITS.outputHighWater * 2;
/** Below this a chunk is copied out and the buffer kept, unless it has grown over this; above, it is given away. */
const COPY_BELOW = 16 * 1024;
/** Doubling stops here: a row of a GiB must not take two. */
const GROWTH = 32 * 1024 * 1024;
const SHORT_TEXT = 64;

export class MessageWriter implements CellWriter {
  #bytes = new Uint8Array(INITIAL);
  #view = new DataView(this.#bytes.buffer);
  #at = 0;
  /** Where the open message starts, or -1. */
  #start = -1;
  /** Cells written since the last `takeCellCount`. */
  #cells = 0;

  /** Bytes not yet taken. */
  get length(): number {
    return this.#at;
  }

  /** All whole messages as one chunk of its own memory. */
  take(): Uint8Array {
    assert(this.#start < 0, 'no chunk is taken inside a message');
    const at = this.#at;
    this.#at = 0;
    const small = at < COPY_BELOW;
    const chunk = small ? this.#bytes.slice(0, at) : this.#bytes.subarray(0, at);
    if (!small) this.#renew(BULK);
    else if (this.#bytes.length > COPY_BELOW) this.#renew(INITIAL);
    return chunk;
  }

  begin(type: number): void {
    assert(this.#start < 0, 'messages do not nest');
    this.#reserve(5);
    this.#start = this.#at;
    this.#bytes[this.#at] = type;
    this.#at += 5;
  }

  end(): void {
    const length = this.#at - this.#start - 1;
    this.#view.setInt32(this.#start + 1, length);
    this.#start = -1;
  }

  /** Forgets the open message, if there is one: its contents failed. */
  abort(): void {
    if (this.#start < 0) return;
    this.#at = this.#start;
    this.#start = -1;
    this.#cells = 0;
  }

  /** A message without contents. */
  empty(type: number): void {
    this.begin(type);
    this.end();
  }

  /** A byte outside any message: the answer to an encryption request. */
  rawByte(value: number): void {
    assert(this.#start < 0, 'a raw byte stands between messages');
    this.byte(value);
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#at++] = value;
  }

  short(value: number): void {
    this.#reserve(2);
    this.#view.setInt16(this.#at, value);
    this.#at += 2;
  }

  long(value: number): void {
    this.#reserve(4);
    this.#view.setInt32(this.#at, value);
    this.#at += 4;
  }

  raw(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
  }

  /** A NUL inside would shift every field after it: it ends the text there, as a C string does. */
  cstring(value: string): void {
    const nul = value.indexOf('\0');
    this.#utf8(nul < 0 ? value : value.slice(0, nul));
    this.byte(0);
  }

  takeCellCount(): number {
    const cells = this.#cells;
    this.#cells = 0;
    return cells;
  }

  null(): void {
    this.#cell(-1, 0);
  }

  text(value: string): void {
    const lengthAt = this.#at;
    this.#cell(0, 0);
    this.#utf8(value);
    this.#view.setInt32(lengthAt, this.#at - lengthAt - 4);
  }

  bytes(value: Uint8Array, start = 0, end: number = value.length): void {
    const length = end - start;
    this.#cell(length, length);
    if (length < 32) {
      for (let i = start; i < end; i++) this.#bytes[this.#at++] = value[i];
      return;
    }
    this.#bytes.set(start === 0 && end === value.length ? value : value.subarray(start, end), this.#at);
    this.#at += length;
  }

  uint8(value: number): void {
    this.#cell(1, 1);
    this.#bytes[this.#at++] = value;
  }

  int16(value: number): void {
    this.#cell(2, 2);
    this.#view.setInt16(this.#at, value);
    this.#at += 2;
  }

  int32(value: number): void {
    this.#cell(4, 4);
    this.#view.setInt32(this.#at, value);
    this.#at += 4;
  }

  int64(high: number, low: number): void {
    this.#cell(8, 8);
    this.#view.setInt32(this.#at, high);
    this.#view.setInt32(this.#at + 4, low);
    this.#at += 8;
  }

  float32(value: number): void {
    this.#cell(4, 4);
    this.#view.setFloat32(this.#at, value);
    this.#at += 4;
  }

  float64(value: number): void {
    this.#cell(8, 8);
    this.#view.setFloat64(this.#at, value);
    this.#at += 8;
  }

  /** The length word of a cell, with room for what follows. */
  #cell(length: number, room: number): void {
    this.#reserve(4 + room);
    this.#view.setInt32(this.#at, length);
    this.#at += 4;
    this.#cells++;
  }

  #utf8(value: string): void {
    const length = value.length;
    // A UTF-16 unit is at most three bytes of UTF-8. For long text the third pass is worth the exact room.
    const room = length <= LIMITS.outputHighWater ? length * 3 : encoder.encode(value).length;
    this.#reserve(room);
    const bytes = this.#bytes;
    let at = this.#at;
    if (length <= SHORT_TEXT) {
      let i = 0;
      for (; i < length; i++) {
        const unit = value.charCodeAt(i);
        if (unit > 127) break;
        bytes[at++] = unit;
      }
      if (i === length) {
        this.#at = at;
        return;
      }
    }
    this.#at += encoder.encodeInto(value, bytes.subarray(this.#at)).written;
  }

  #reserve(more: number): void {
    const needed = this.#at + more;
    if (needed <= this.#bytes.length) return;
    if (this.#start >= 0 && needed - this.#start > LIMITS.outputMessage) {
      throw new SqlError('program_limit_exceeded', 'a result row is larger than 1 GiB');
    }
    const old = this.#bytes;
    this.#renew(Math.max(needed, Math.min(old.length * 2, needed + GROWTH)));
    this.#bytes.set(old.subarray(0, this.#at));
  }

  #renew(capacity: number): void {
    this.#bytes = new Uint8Array(capacity);
    this.#view = new DataView(this.#bytes.buffer);
  }
}
