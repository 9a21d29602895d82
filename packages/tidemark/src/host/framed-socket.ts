/**
 * One end of a TCP connection that speaks frames: reads them, answers silence, ends once with a reason. After the handshake both sides
 * ping each second, and a peer that says nothing for five is taken for dead: a cut cable sends no end.
 */
import type { Socket } from 'node:net';
import { badFrame, type Frame, FrameReader, frame, PING_MS, SILENCE_MS } from './replica-frames.ts';

export interface FramedSocketHandlers {
  /** What it throws ends the connection. */
  onFrame(frame: Frame): void;
  /** Once: the connection is gone, for this reason. */
  onEnd(reason: string): void;
}

export class FramedSocket {
  readonly #socket: Socket;
  readonly #reader = new FrameReader();
  readonly #handlers: FramedSocketHandlers;
  #heardAt = performance.now();
  #keepalive: NodeJS.Timeout | null = null;
  #ended = false;

  constructor(socket: Socket, handlers: FramedSocketHandlers) {
    this.#socket = socket;
    this.#handlers = handlers;
    socket.setNoDelay(true);
    socket.on('data', (bytes) => this.#data(bytes));
    socket.on('error', (error) => this.end(error.message));
    socket.on('close', () => this.end('the connection was closed'));
  }

  #data(bytes: Uint8Array): void {
    this.#heardAt = performance.now();
    try {
      for (const f of this.#reader.push(bytes)) {
        if (this.#ended) return;
        if (f.kind !== 'ping') this.#handlers.onFrame(f);
      }
    } catch (error) {
      this.end(error instanceof Error ? error.message : String(error));
    }
  }

  /** The handshake is over: large frames are read, and silence is noticed. */
  trust(): void {
    this.#reader.trust();
    this.#keepalive = setInterval(() => {
      if (performance.now() - this.#heardAt > SILENCE_MS)
        this.end(`the other side has said nothing for ${SILENCE_MS / 1000} s`);
      else this.send(frame('ping'));
    }, PING_MS);
  }

  send(parts: readonly Uint8Array[]): void {
    if (this.#ended) return;
    this.#socket.cork();
    for (const p of parts) this.#socket.write(p);
    this.#socket.uncork();
  }

  /** Ends it from this side; a last frame is sent on. */
  end(reason: string, last?: readonly Uint8Array[]): void {
    if (this.#ended) return;
    if (last !== undefined) this.send(last);
    this.#ended = true;
    if (this.#keepalive !== null) clearInterval(this.#keepalive);
    if (last === undefined) this.#socket.destroy();
    else {
      this.#socket.end();
      setTimeout(() => this.#socket.destroy(), PING_MS).unref();
    }
    this.#handlers.onEnd(reason);
  }
}

/** What a frame out of its turn is answered with. */
export const outOfTurn = (f: Frame): Error => badFrame(`a frame of kind ${f.kind} out of its turn`);
