/**
 * Time and chance come in through constructors, so that a test drives both. Only `host` implements these over
 * the machine's; `testkit` implements them over a seed.
 */

/** A clock with a wall reading and a monotonic one. */
export interface Clock {
  /** Milliseconds since the Unix epoch; may step. */
  nowMs(): number;
  /** Nanoseconds since some fixed origin of this clock, never decreasing; exact in a double for a hundred days. */
  monotonicNs(): number;
}

/** An instant in whole microseconds since the Unix epoch: what a timestamptz holds. */
export const instantOf = (ms: number): number => Math.round(ms * 1000);
export const nowMicros = (clock: Pick<Clock, 'nowMs'>): number => instantOf(clock.nowMs());

/** Cancels a timer; calling it twice does nothing. */
export type CancelTimer = () => void;

export interface Timers {
  /** Runs `f` once, no earlier than `delayMs` from now. */
  after(delayMs: number, f: () => void): CancelTimer;
}

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** 16 bytes for identifiers. */
  bytes(n: number): Uint8Array;
}

/** Where the engine says what happened; a host adapts its logger to it. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
