/** The machine's clock, timers and randomness. */
import { randomFillSync } from 'node:crypto';
import type { Clock, Random, Timers } from '../base/clock.ts';

const origin = process.hrtime.bigint();

export const nodeClock: Clock = {
  nowMs: () => performance.timeOrigin + performance.now(),
  monotonicNs: () => Number(process.hrtime.bigint() - origin),
};

/** Node rings at once for a longer delay. */
const LONGEST_MS = 2 ** 31 - 1;

export const nodeTimers: Timers = {
  after(delayMs, f) {
    let timer: NodeJS.Timeout;
    const wait = (ms: number): void => {
      timer = setTimeout(() => (ms > LONGEST_MS ? wait(ms - LONGEST_MS) : f()), Math.min(ms, LONGEST_MS));
    };
    wait(delayMs);
    return () => clearTimeout(timer);
  },
};

/** Bytes fetched ahead: a call of its own costs 10 µs, and each read over the wire wants 16. None is given out twice. */
const AHEAD = 4096;
let ahead = new Uint8Array(0);
let used = 0;

function randomBytes(n: number): Uint8Array<ArrayBuffer> {
  if (n > AHEAD / 16) return randomFillSync(new Uint8Array(n));
  if (used + n > ahead.length) {
    ahead = randomFillSync(new Uint8Array(AHEAD));
    used = 0;
  }
  used += n;
  return ahead.slice(used - n, used);
}

export const nodeRandom: Random = { next: () => Math.random(), bytes: randomBytes };

/** Resolves in a later turn of the event loop: everything that promises alone can bring about has happened by then. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
