/**
 * One client's two streams, between a transport and the protocol: frames out of chunks, chunks out of messages,
 * and the two brakes. Reading stops while more than `LIMITS.inputHighWater` waits unread (a statement runs and the
 * client goes on sending); writing waits while the transport says that the client does not take its bytes.
 *
 * The price of the first brake: a client that has sent a MiB ahead of a running statement and then dies is noticed
 * only by the write side or when the statement ends, since nobody reads its end of stream.
 */
import { FrameReader } from './frame-reader.ts';
import { MessageWriter } from './message-writer.ts';
import { LIMITS } from './messages.ts';

/** A flush of 64 KiB takes about as long as this many small messages. */
const FLUSH_WEIGHT = 8;

/** What carries the bytes: a socket, or a test. */
export interface Transport {
  /** Takes the bytes; a promise if the client is slow: it resolves when that is over, or the connection is. */
  write(bytes: Uint8Array): Promise<void> | undefined;
  /** No more `receive` until `resume`, as soon as possible. */
  pause(): void;
  resume(): void;
  /** Sends what was written, then closes. */
  end(): void;
  /** Wraps the connection in TLS; absent where none is configured. */
  startTls?(): Promise<void>;
  /** Resolves after other work of the event loop had its turn. */
  turn(): Promise<void>;
}

/** The connection is over: unwinds the session, reported to nobody. */
export class Disconnected extends Error {
  override readonly name = 'Disconnected';
}

export class WireStream {
  readonly in = new FrameReader();
  readonly out = new MessageWriter();
  readonly #transport: Transport;
  #limit: number = LIMITS.beforeAuthentication;
  #typed = false;
  #closed = false;
  #paused = false;
  /** Resolved by the next chunk or the end, if somebody waits. */
  #wake: PromiseWithResolvers<void> | null = null;
  /** A push at the next turn is on its way. */
  #pushing = false;
  #untilTurn: number = LIMITS.messagesPerTurn;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get transport(): Transport {
    return this.#transport;
  }

  /** After the start-up packet frames have a type byte. */
  expectTyped(): void {
    this.#typed = true;
  }

  liftLimit(): void {
    this.#limit = LIMITS.message;
  }

  receive(chunk: Uint8Array): void {
    if (this.#closed) return;
    this.in.push(chunk);
    if (this.#wake !== null) this.#wakeUp();
    else if (!this.#paused && this.in.buffered > LIMITS.inputHighWater) {
      this.#paused = true;
      this.#transport.pause();
    }
  }

  /** Moves `in` to the next frame, waiting for it. */
  async frame(): Promise<void> {
    if (--this.#untilTurn <= 0) await this.#turn();
    while (!this.poll()) await this.moreInput();
    if (this.out.length > 0) this.#pushSoon();
  }

  /** Sends what waits, then resolves when there may be more to `poll`, or the end. */
  async moreInput(): Promise<void> {
    const before = this.in.buffered;
    await this.flush();
    // What came, or ended, while the client took its bytes woke nobody.
    if (this.#closed || this.in.buffered !== before) return;
    if (this.#paused) this.#resume();
    this.#wake ??= Promise.withResolvers<void>();
    await this.#wake.promise;
  }

  /** Moves `in` to the next frame if it is there already. */
  poll(): boolean {
    if (this.#closed) throw new Disconnected();
    const found = this.in.next(this.#typed, this.#limit);
    if (this.#paused && this.in.buffered < LIMITS.inputHighWater / 2) this.#resume();
    return found;
  }

  /**
   * Hands all whole messages to the transport; a promise while the client is slow, and now and then for a turn of
   * the event loop: a backend that answers from memory to a client that takes everything would stop all others.
   */
  flush(): Promise<void> | undefined {
    if (this.out.length > 0) this.#untilTurn -= FLUSH_WEIGHT;
    const slow = this.push() ?? (this.#untilTurn <= 0 ? this.#turn() : undefined);
    return slow?.then(() => {
      if (this.#closed) throw new Disconnected();
    });
  }

  /** `flush` for those who cannot wait: what the client does not take piles up in the transport. */
  push(): Promise<void> | undefined {
    if (this.#closed) throw new Disconnected();
    if (this.out.length === 0) return undefined;
    return this.#transport.write(this.out.take());
  }

  /** `flush` for the middle of a result: only if enough waits. */
  flushIfFull(): Promise<void> | undefined {
    return this.out.length >= LIMITS.outputHighWater ? this.flush() : undefined;
  }

  /** Sends what waits and ends both streams. Idempotent. */
  end(): void {
    if (this.#closed) return;
    this.out.abort();
    if (this.out.length > 0) void this.#transport.write(this.out.take());
    this.disconnected();
    this.#transport.end();
  }

  /** The transport is gone: whoever waits for input gets `Disconnected`. Idempotent. */
  disconnected(): void {
    this.#closed = true;
    this.#wakeUp();
  }

  /**
   * Answers of a pipeline are sent together, yet not held back by a message after them that takes long: those
   * that wait at the next turn of the event loop go then.
   */
  #pushSoon(): void {
    if (this.#pushing) return;
    this.#pushing = true;
    void this.#transport.turn().then(() => {
      this.#pushing = false;
      if (!this.#closed) void this.push();
    });
  }

  #turn(): Promise<void> {
    this.#untilTurn = LIMITS.messagesPerTurn;
    return this.#transport.turn();
  }

  #resume(): void {
    this.#paused = false;
    this.#transport.resume();
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.resolve();
  }
}
