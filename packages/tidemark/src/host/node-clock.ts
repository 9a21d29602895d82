/** The machine's clock, timers and randomness. */
import { randomFillSync } from 'node:crypto';
import type { Clock, Random, Timers } from '../base/clock.ts';

const origin = process.hrtime.bigint();

export const nodeClock: Clock = {
  nowMs: () => performance.timeOrigin + performance.now(),
  monotonicNs: () => Number(process.hrtime.bigint() - origin),
};

export const nodeTimers: Timers = {
  after(delayMs, f) {
    const timer = setTimeout(f, delayMs);
    return () => clearTimeout(timer);
  },
};

export const nodeRandom: Random = {
  next: () => Math.random(),
  bytes: (n) => randomFillSync(new Uint8Array(n)),
};

/** Resolves in a later turn of the event loop: everything that promises alone can bring about has happened by then. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
