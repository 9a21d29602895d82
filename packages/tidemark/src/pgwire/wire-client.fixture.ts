/** A client of raw bytes and a transport in memory, for tests of the wire. */
import assert from 'node:assert/strict';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { silentLogger } from '../base/clock.ts';
import { CancelRegistry } from './cancel-registry.ts';
import { CannedBackend } from './canned-backend.fixture.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { FRONTEND } from './messages.ts';
import type { Transport } from './wire-stream.ts';

/** Lets everything that can run do so, first without sleeping, for sockets with; fails instead of hanging. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  for (let turns = 0; turns < 10_000; turns++) {
    if (condition()) return;
    await (turns < 1_000 ? setImmediate() : setTimeout(1));
  }
  assert.fail(`never happened: ${what}`);
}

export async function settle(): Promise<void> {
  for (let turns = 0; turns < 5; turns++) await setImmediate();
}

type Part = string | number | Uint8Array | { readonly short: number } | { readonly long: number };

/** Bytes of parts: text gets its NUL, a number is one byte. */
export function bytes(...parts: readonly Part[]): Buffer {
  return Buffer.concat(
    parts.map((part) => {
      if (typeof part === 'string') return Buffer.from(`${part}\0`);
      if (typeof part === 'number') return Buffer.from([part]);
      if (part instanceof Uint8Array) return part;
      const buffer = Buffer.alloc('short' in part ? 2 : 4);
      if ('short' in part) buffer.writeUInt16BE(part.short);
      else buffer.writeInt32BE(part.long);
      return buffer;
    }),
  );
}

export function message(type: number, ...parts: readonly Part[]): Buffer {
  const body = bytes(...parts);
  return bytes(type, { long: body.length + 4 }, body);
}

const untyped = (...parts: readonly Part[]): Buffer => {
  const body = bytes(...parts);
  return bytes({ long: body.length + 4 }, body);
};

export const send = {
  untyped,
  startup: (settings: Record<string, string> = { user: 'ada' }, version = 0x30000) =>
    untyped({ long: version }, ...Object.entries(settings).flat(), 0),
  cancel: (pid: number, secret: Uint8Array) => untyped({ long: 80877102 }, { long: pid }, secret),
  query: (text: string) => message(FRONTEND.query, text),
  parse: (text: string, name = '') => message(FRONTEND.parse, name, text, { short: 0 }),
  bind: (
    params: readonly (string | null)[] = [],
    { portal = '', statement = '', formats = [] as number[] } = {},
  ) =>
    message(
      FRONTEND.bind,
      portal,
      statement,
      { short: 0 },
      { short: params.length },
      ...params.flatMap((param): Part[] => {
        if (param === null) return [{ long: -1 }];
        const text = Buffer.from(param);
        return [{ long: text.length }, text];
      }),
      { short: formats.length },
      ...formats.map((short) => ({ short })),
    ),
  describe: (target: 'S' | 'P', name = '') => message(FRONTEND.describe, target.charCodeAt(0), name),
  execute: (maxRows = 0, portal = '') => message(FRONTEND.execute, portal, { long: maxRows }),
  closeTarget: (target: 'S' | 'P', name = '') => message(FRONTEND.close, target.charCodeAt(0), name),
  sync: () => message(FRONTEND.sync),
  flush: () => message(FRONTEND.flush),
  terminate: () => message(FRONTEND.terminate),
  copyData: (text: string) => message(FRONTEND.copyData, Buffer.from(text)),
  copyDone: () => message(FRONTEND.copyDone),
  copyFail: (reason: string) => message(FRONTEND.copyFail, reason),
  password: (...parts: readonly Part[]) => message(FRONTEND.password, ...parts),
};

export interface Reply {
  readonly type: string;
  readonly body: Buffer;
}

/** Fields of ErrorResponse and NoticeResponse by letter. */
export function fields(reply: Reply | undefined): Record<string, string> {
  assert.ok(reply !== undefined && 'EN'.includes(reply.type), `an error or notice, not ${reply?.type}`);
  const parts = reply.body.toString().split('\0');
  return Object.fromEntries(parts.filter((part) => part !== '').map((part) => [part[0], part.slice(1)]));
}

/** Cells of a DataRow as text. */
export function cells(reply: Reply): (string | null)[] {
  const values: (string | null)[] = [];
  let at = 2;
  for (let n = reply.body.readInt16BE(0); n > 0; n--) {
    const length = reply.body.readInt32BE(at);
    at += 4;
    values.push(length < 0 ? null : reply.body.toString('utf8', at, at + length));
    at += Math.max(length, 0);
  }
  assert.equal(at, reply.body.length, 'a row has no bytes after its last cell');
  return values;
}

/** A server connection with the client's end in the test's hand. */
export class WireClient implements Transport {
  readonly backend: CannedBackend;
  readonly registry: CancelRegistry;
  readonly connection: Connection;
  readonly finished: Promise<void>;
  ended = false;
  paused = false;
  /** Chunks handed over by the server. */
  writes = 0;
  /** While set, the client takes nothing and `write` waits. */
  #stalled: PromiseWithResolvers<void> | null = null;
  #received: Buffer = Buffer.alloc(0);
  #replies: Reply[] = [];

  constructor(options: Partial<ConnectionOptions> & { readonly backend?: CannedBackend } = {}) {
    this.backend = options.backend ?? new CannedBackend();
    let seed = 1;
    const random = { next: () => 0.5, bytes: (n: number) => Uint8Array.from({ length: n }, () => seed++) };
    this.registry = options.registry ?? new CancelRegistry(random);
    this.connection = new Connection({
      auth: { kind: 'trust' },
      requireTls: false,
      peer: '127.0.0.1',
      logger: silentLogger,
      admit() {},
      ...options,
      transport: this,
      backend: this.backend,
      registry: this.registry,
    });
    this.finished = this.connection.run();
  }

  /** A client past start-up. */
  static async ready(options: ConstructorParameters<typeof WireClient>[0] = {}): Promise<WireClient> {
    const client = new WireClient(options);
    client.send(send.startup());
    await client.replies('Z');
    return client;
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    this.writes++;
    this.#received = Buffer.concat([this.#received, chunk]);
    return this.#stalled?.promise;
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }

  end(): void {
    this.ended = true;
  }

  turn(): Promise<void> {
    return setImmediate();
  }

  stall(): void {
    this.#stalled = Promise.withResolvers();
  }

  drain(): void {
    this.#stalled?.resolve();
    this.#stalled = null;
  }

  send(...frames: readonly Uint8Array[]): void {
    for (const frame of frames) this.connection.receive(frame);
  }

  hangUp(): void {
    this.connection.disconnected();
    this.drain();
  }

  /** Bytes before the first typed message: answers to encryption requests. */
  rawByte(): string {
    const byte = this.#received.toString('latin1', 0, 1);
    this.#received = this.#received.subarray(1);
    return byte;
  }

  /** What came since the last call. */
  take(): Reply[] {
    this.#decode();
    const replies = this.#replies;
    this.#replies = [];
    return replies;
  }

  /** Waits until `count` messages of type `last` came; gives all since the last call. */
  async replies(last: string, count = 1): Promise<Reply[]> {
    await until(
      () => {
        this.#decode();
        return this.#replies.filter((reply) => reply.type === last).length >= count;
      },
      `${count} × ${last}, got ${this.#replies.map((reply) => reply.type).join('')}`,
    );
    return this.take();
  }

  /** The types of `replies`, as one word. */
  async types(last: string, count = 1): Promise<string> {
    return (await this.replies(last, count)).map((reply) => reply.type).join('');
  }

  #decode(): void {
    while (this.#received.length >= 5) {
      const total = this.#received.readInt32BE(1) + 1;
      if (this.#received.length < total) return;
      const type = String.fromCharCode(this.#received[0]);
      this.#replies.push({ type, body: Buffer.from(this.#received.subarray(5, total)) });
      this.#received = this.#received.subarray(total);
    }
  }
}

/** The parts of BackendKeyData. */
export async function keyOf(client: WireClient): Promise<{ pid: number; secret: Buffer }> {
  client.send(send.startup());
  const key = (await client.replies('Z')).find((reply) => reply.type === 'K');
  assert.ok(key !== undefined);
  return { pid: key.body.readInt32BE(0), secret: key.body.subarray(4) };
}

/** Sends a cancel request on a connection of its own. */
export async function cancel(client: WireClient, pid: number, secret: Uint8Array): Promise<void> {
  const other = new WireClient({ registry: client.registry });
  other.send(send.cancel(pid, secret));
  await other.finished;
  assert.ok(other.ended);
  assert.deepEqual(other.take(), []);
}
