/**
 * What an environment and a replica in a process of its own say to each other over TCP. A frame:
 *
 *     length  4 bytes, little endian: of what follows
 *     kind    1 byte: `KINDS`
 *     body    by its kind: nothing, JSON, a command's text (`compute/wire`), or data in V8's format
 *
 * V8's format holds the raw bytes of typed arrays, so a batch's columns are written and read without a conversion. It is read only
 * from a peer that has shown the token: until then frames are JSON and at most 4 KiB.
 *
 *     environment                      replica
 *                        <- greeting   {tidemark, version, challenge}
 *     login              ->            {version, workers, directory, challenge, proof}
 *                        <- welcome    {proof}, or refused {message}
 *     command, store     ->
 *                        <- responses, store, ended {message}
 *     ping, ping each second both ways; five seconds of silence end a connection
 *
 * The token itself never travels: a proof is an HMAC of the other side's challenge. What is said is not encrypted.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { deserialize, serialize } from 'node:v8';
import { SqlError } from '../base/error.ts';

export const FRAME_VERSION = 2;
export const PING_MS = 1000;
export const SILENCE_MS = 5000;
export const HANDSHAKE_MS = 5000;

export const KINDS = {
  greeting: 1,
  login: 2,
  welcome: 3,
  /** Instead of a welcome or after it: the replica serves this connection no more, and why. */
  ended: 4,
  command: 5,
  responses: 6,
  /** Calls on shards in the environment's memory, answers and notices: `persist/rpc`. */
  store: 7,
  ping: 8,
  /** The replica was dropped: it gives up its state. */
  retire: 9,
} as const;
export type Kind = keyof typeof KINDS;

const NAMES = new Map<number, Kind>(Object.entries(KINDS).map(([name, n]) => [n, name as Kind]));
const HEAD = 5;
const SMALL = 4096;
const LARGE = 2 ** 30;
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

export interface Greeting {
  readonly tidemark: 'replica';
  readonly version: number;
  readonly challenge: string;
}
export interface Login {
  readonly version: number;
  readonly workers: number;
  /** `DataDir.identity`: both sides have the same. */
  readonly directory: string;
  readonly challenge: string;
  readonly proof: string;
}
export interface Welcome {
  readonly proof: string;
}
export interface Ended {
  readonly message: string;
}

export interface Frame {
  readonly kind: Kind;
  readonly body: Uint8Array;
}

export function frame(kind: Kind, body: Uint8Array = new Uint8Array(0)): Uint8Array[] {
  const head = new Uint8Array(HEAD);
  new DataView(head.buffer).setUint32(0, body.length + 1, true);
  head[4] = KINDS[kind];
  return body.length === 0 ? [head] : [head, body];
}

export const textFrame = (kind: Kind, text: string): Uint8Array[] => frame(kind, encoder.encode(text));
export const jsonFrame = (kind: Kind, value: object): Uint8Array[] => textFrame(kind, JSON.stringify(value));
export const dataFrame = (kind: Kind, value: unknown): Uint8Array[] => frame(kind, serialize(value));

export const readText = (f: Frame): string => decoder.decode(f.body);
export const readJson = (f: Frame): unknown => JSON.parse(readText(f));
export const readData = (f: Frame): unknown => deserialize(f.body);

export function badFrame(what: string): SqlError {
  return new SqlError('protocol_violation', what);
}

/** Bytes as they come, cut into frames. */
export class FrameReader {
  #chunks: Uint8Array[] = [];
  #buffered = 0;
  #limit = SMALL;

  /** The other side is who it says: its frames may be large. */
  trust(): void {
    this.#limit = LARGE;
  }

  /** The frames that the bytes complete. */
  *push(bytes: Uint8Array): Iterable<Frame> {
    this.#chunks.push(bytes);
    this.#buffered += bytes.length;
    for (let length = this.#length(); length !== null; length = this.#length()) {
      if (length < 1 || length > this.#limit)
        throw badFrame(`a frame of ${length} bytes, where 1 to ${this.#limit} are allowed`);
      if (this.#buffered < 4 + length) return;
      const all = this.#take(4 + length);
      const kind = NAMES.get(all[4]!);
      if (kind === undefined) throw badFrame(`a frame of kind ${all[4]}, which is unknown`);
      yield { kind, body: all.subarray(HEAD) };
    }
  }

  #length(): number | null {
    if (this.#buffered < 4) return null;
    if (this.#chunks[0]!.length < 4) this.#chunks = [this.#join(this.#buffered)];
    const first = this.#chunks[0]!;
    return new DataView(first.buffer, first.byteOffset, 4).getUint32(0, true);
  }

  /** The first `n` bytes, in a buffer of their own. */
  #take(n: number): Uint8Array {
    const all = this.#join(n);
    let left = n;
    while (left > 0) {
      const first = this.#chunks[0]!;
      if (first.length > left) this.#chunks[0] = first.subarray(left);
      else this.#chunks.shift();
      left -= Math.min(left, first.length);
    }
    this.#buffered -= n;
    return all;
  }

  #join(n: number): Uint8Array {
    const out = new Uint8Array(n);
    let at = 0;
    for (const c of this.#chunks) {
      if (at === n) break;
      const part = c.length > n - at ? c.subarray(0, n - at) : c;
      out.set(part, at);
      at += part.length;
    }
    return out;
  }
}

/** Shows knowledge of the token to whoever sent the challenge. `role` keeps one side's proof from serving the other. */
export function proofOf(token: string, role: 'environment' | 'replica', challenge: string): string {
  return createHmac('sha256', token).update(`${role} ${challenge}`).digest('hex');
}

/** In a time that does not depend on where they differ. */
export function sameProof(a: unknown, b: string): boolean {
  if (typeof a !== 'string') return false;
  const [x, y] = [encoder.encode(a), encoder.encode(b)];
  return x.length === y.length && timingSafeEqual(x, y);
}
