/**
 * The mesh of workers that are plain objects in one thread: a queue for each ordered pair. `deliver` hands over what
 * waits, pair by pair; with a `random` it takes one message of a pair drawn by it, so that the simulator sees every
 * order that pairs allow.
 */
import type { Random } from '../base/clock.ts';
import type { Mesh, MeshMessage } from './mesh.ts';

interface Receiver {
  receive(from: number, message: MeshMessage): void;
}

export class LocalMesh {
  readonly #peers: number;
  readonly #queues: MeshMessage[][];
  readonly #receivers: (Receiver | undefined)[];
  readonly #onSend: ((to: number) => void) | undefined;

  constructor(peers: number, onSend?: (to: number) => void) {
    this.#peers = peers;
    this.#queues = Array.from({ length: peers * peers }, () => []);
    this.#receivers = new Array<Receiver | undefined>(peers);
    this.#onSend = onSend;
  }

  /** The end that worker `index` sends with. */
  end(index: number): Mesh {
    return {
      send: (to, message) => {
        this.#queues[index * this.#peers + to]!.push(message);
        this.#onSend?.(to);
      },
    };
  }

  attach(index: number, receiver: Receiver): void {
    this.#receivers[index] = receiver;
  }

  get pending(): number {
    return this.#queues.reduce((n, q) => n + q.length, 0);
  }

  /** Everything that waits for a worker, or for all. */
  deliver(to?: number): void {
    for (let pair = 0; pair < this.#queues.length; pair++) {
      const target = pair % this.#peers;
      if (to !== undefined && target !== to) continue;
      const q = this.#queues[pair]!;
      this.#queues[pair] = [];
      for (const m of q) this.#hand(pair, m);
    }
  }

  /** One message of a pair drawn at random. Whether there was one. */
  deliverOne(random: Random): boolean {
    const ready: number[] = [];
    for (let pair = 0; pair < this.#queues.length; pair++)
      if (this.#queues[pair]!.length > 0) ready.push(pair);
    if (ready.length === 0) return false;
    const pair = ready[Math.floor(random.next() * ready.length)]!;
    this.#hand(pair, this.#queues[pair]!.shift()!);
    return true;
  }

  #hand(pair: number, message: MeshMessage): void {
    const to = pair % this.#peers;
    const receiver = this.#receivers[to];
    if (receiver === undefined) this.#queues[pair]!.push(message);
    else receiver.receive(Math.floor(pair / this.#peers), message);
  }
}
