/**
 * Who may cancel whom: BackendKeyData gives each connection a number and a secret, a CancelRequest on another
 * connection shows both. One registry for all listeners of an environment, so that a pid is never ambiguous.
 */
import type { Random } from '../base/clock.ts';
import { equalConstantTime } from './constant-time.ts';

const MAX_PID = 0x7fffffff;
/** Protocol 3.0 has room for four bytes. */
const SECRET_BYTES = 4;

export interface CancelKey {
  readonly pid: number;
  readonly secret: Uint8Array;
  /** The pair stops working; the pid may be used again. */
  release(): void;
}

interface Entry {
  readonly secret: Uint8Array;
  readonly cancel: () => void;
}

export class CancelRegistry {
  readonly #random: Random;
  readonly #entries = new Map<number, Entry>();
  #lastPid = 0;

  /** `random` must be unpredictable: the secret is all that stands between clients. */
  constructor(random: Random) {
    this.#random = random;
  }

  /** Connections that hold a key. */
  get size(): number {
    return this.#entries.size;
  }

  register(cancel: () => void): CancelKey {
    do this.#lastPid = (this.#lastPid % MAX_PID) + 1;
    while (this.#entries.has(this.#lastPid));
    const pid = this.#lastPid;
    const entry = { secret: this.#random.bytes(SECRET_BYTES), cancel };
    this.#entries.set(pid, entry);
    return { pid, secret: entry.secret, release: () => void this.#entries.delete(pid) };
  }

  /** Does nothing if the pair is wrong: the protocol gives no answer, so as not to help guessing. */
  cancel(pid: number, secret: Uint8Array): void {
    const entry = this.#entries.get(pid);
    if (entry !== undefined && equalConstantTime(entry.secret, secret)) entry.cancel();
  }
}
