/**
 * The bytes that the workers of one replica may take together. Each worker says what its arrangements occupy, sealed and pending, at
 * every maintenance step; the one that finds the sum past the limit ends the replica, and nothing else.
 *
 * The cells are memory that the threads of a replica share, in kB: a sum over them is as old as the last step of each worker. What it
 * does not see: rows under way between operators, a sink's correction, the JavaScript heap (which the host bounds itself).
 */

/** Why a replica ended that passed its limit, as statuses name it. */
export const OOM = 'oom';

/** A worker took, or would have taken, more than the replica may. */
class OutOfMemoryError extends Error {
  override readonly name = 'OutOfMemoryError';
}

/** What statuses say of the error that ended a worker. */
export function lostReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // What a typed array says that finds no room.
  const noRoom = error instanceof RangeError && /array buffer allocation failed/i.test(error.message);
  return error instanceof OutOfMemoryError || noRoom ? OOM : error.message;
}

export interface SharedBudget {
  readonly limitBytes: number;
  /** A cell a worker. */
  readonly kilobytes: Int32Array;
}

/** For the workers of one life of a replica; crosses threads. */
export const sharedBudget = (workers: number, limitBytes: number): SharedBudget => ({
  limitBytes,
  kilobytes: new Int32Array(new SharedArrayBuffer(4 * workers)),
});

export class MemoryBudget {
  readonly #shared: SharedBudget;
  readonly #worker: number;

  constructor(shared: SharedBudget, worker: number) {
    this.#shared = shared;
    this.#worker = worker;
  }

  /** Throws where the replica has passed its limit. */
  charge(bytes: number): void {
    const { kilobytes, limitBytes } = this.#shared;
    Atomics.store(kilobytes, this.#worker, Math.ceil(bytes / 1024));
    let sum = 0;
    for (let w = 0; w < kilobytes.length; w++) sum += Atomics.load(kilobytes, w);
    if (sum * 1024 <= limitBytes) return;
    throw new OutOfMemoryError(`arrangements take ${sum} kB, and the replica may have ${limitBytes / 1024}`);
  }
}
