/**
 * The client's side of `COPY … FROM STDIN` as an iteration for the backend, and what is left of it when the
 * backend is done: the stream must stand behind CopyDone or CopyFail before the next message means anything.
 */
import { SqlError } from '../base/error.ts';
import { FatalError, violation } from './frame-reader.ts';
import { FRONTEND } from './messages.ts';
import { Disconnected, type WireStream } from './wire-stream.ts';

export class CopySource implements AsyncIterable<Uint8Array> {
  readonly #wire: WireStream;
  /** CopyDone or CopyFail was read. */
  #ended = false;
  /** The backend turned away: a pending read must not take the frame that follows. */
  #abandoned = false;
  /** What ends the connection, though the backend saw it as an error of its statement. */
  #fatal: FatalError | Disconnected | null = null;

  constructor(wire: WireStream) {
    this.#wire = wire;
  }

  get ended(): boolean {
    return this.#ended;
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return { next: () => this.#next() };
  }

  /** After the backend: no frame is taken any more; throws what it could not see through. */
  abandon(): void {
    this.#abandoned = true;
    if (this.#wire.closed) throw new Disconnected();
    if (this.#fatal !== null) throw this.#fatal;
  }

  async #next(): Promise<IteratorResult<Uint8Array, undefined>> {
    try {
      return await this.#read();
    } catch (error) {
      if (error instanceof FatalError || error instanceof Disconnected) this.#fatal = error;
      throw error;
    }
  }

  async #read(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      if (this.#ended || this.#abandoned) return { done: true, value: undefined };
      if (!this.#wire.poll()) {
        await this.#wire.moreInput();
        continue;
      }
      const frame = this.#wire.in;
      switch (frame.type) {
        case FRONTEND.copyData:
          return { done: false, value: frame.take(frame.remaining) };
        case FRONTEND.copyDone:
          this.#ended = true;
          break;
        case FRONTEND.copyFail:
          this.#ended = true;
          throw new SqlError('query_canceled', `COPY from stdin failed: ${frame.cstring()}`);
        case FRONTEND.flush:
        case FRONTEND.sync:
          // Libraries send these after each Execute without looking whether it was a COPY.
          break;
        case FRONTEND.terminate:
          throw new Disconnected();
        default:
          throw violation(`unexpected message type 0x${frame.type.toString(16)} during COPY from stdin`);
      }
    }
  }
}
