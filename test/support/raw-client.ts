/** A client of bytes on a socket: for what client libraries cannot send or do not hand out (binary results, broken messages). */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import {
  bytes,
  fields,
  message,
  type Reply,
  send,
} from '../../packages/tidemark/src/pgwire/wire-client.fixture.ts';

export class RawClient {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #wake: () => void = () => {};
  #closed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk]);
      this.#wake();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#closed = true;
      this.#wake();
    });
  }

  static async connect(port: number): Promise<RawClient> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    const client = new RawClient(socket);
    await client.exchange(send.startup({ user: 'ada', database: 'tidemark' }));
    return client;
  }

  /** Sends, and gives every message up to ReadyForQuery, or up to the end of the connection. */
  async exchange(...frames: readonly Uint8Array[]): Promise<Reply[]> {
    for (const f of frames) this.#socket.write(f);
    const replies: Reply[] = [];
    for (;;) {
      const reply = this.#next();
      if (reply !== null) {
        replies.push(reply);
        if (reply.type === 'Z') return replies;
      } else if (this.#closed) return replies;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }

  #next(): Reply | null {
    if (this.#received.length < 5) return null;
    const total = this.#received.readInt32BE(1) + 1;
    if (this.#received.length < total) return null;
    const reply = {
      type: String.fromCharCode(this.#received[0]),
      body: Buffer.from(this.#received.subarray(5, total)),
    };
    this.#received = this.#received.subarray(total);
    return reply;
  }

  /** The one cell of a query's one row, its parameter and the cell in the formats told. */
  async cell(
    text: string,
    param: Uint8Array | null,
    formats: { readonly param: 0 | 1; readonly result: 0 | 1 },
  ): Promise<Buffer | null> {
    const replies = await this.exchange(
      send.parse(text),
      bindOne(param, formats),
      send.execute(),
      send.sync(),
    );
    const failed = replies.find((r) => r.type === 'E');
    if (failed !== undefined) throw new Error(`${text}: ${fields(failed)['M']}`);
    const { body } = replies.find((r) => r.type === 'D')!;
    const length = body.readInt32BE(2);
    return length < 0 ? null : body.subarray(6, 6 + length);
  }

  end(): void {
    this.#socket.destroy();
  }
}

function bindOne(
  param: Uint8Array | null,
  formats: { readonly param: 0 | 1; readonly result: 0 | 1 },
): Buffer {
  const value = param === null ? bytes({ long: -1 }) : bytes({ long: param.length }, param);
  const [one, of, result] = [{ short: 1 }, { short: formats.param }, { short: formats.result }];
  return message(0x42, '', '', one, of, one, value, one, result);
}
