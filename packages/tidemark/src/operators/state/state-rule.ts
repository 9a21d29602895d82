/**
 * What a stateful operator computes, apart from time, channels and fuel's driver: a state, absorbing updates, and
 * the changes of the output that they amount to. `OpenTime` drives it; a test can, too.
 */
import type { Batch } from '../../repr/batch.ts';
import type { Timestamp } from '../../time/timestamp.ts';
import type { Fuel } from '../../trace/fuel.ts';
import type { StateSize } from './state-size.ts';

/** The pair of collections that an operator gives. */
export interface RuleOutput {
  oks(batch: Batch): void;
  /** One column of encoded errors. */
  errs(batch: Batch): void;
}

export interface StateRule {
  /** Takes rows into the state; their times do not matter. At most `MAX_ABSORB` rows. */
  absorb(batch: Batch): void;
  /** Whether something was absorbed whose effect is not emitted in full. */
  readonly pending: boolean;
  /**
   * Emits at `time` how the output changed since the last complete flush, spending fuel; true when all is out. May
   * not be mixed with `absorb` until then.
   */
  flush(time: Timestamp, output: RuleOutput, fuel: Fuel): boolean;
  addSize(size: StateSize): void;
}

/** Scratch arrays hold this many rows. */
export const MAX_ABSORB = 8192;
/** Groups whose change is computed in one step of a flush, and so about the rows of an output batch. */
export const FLUSH_STEP = 4096;
