/** Statements of a session that are under way: one, and streams that are not at their end. Each ends when it is cancelled or its time is up. */
import type { Timers } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';

export interface RunningStatement {
  /** Aborts with the error for the user. */
  readonly signal: AbortSignal;
  /** It is over. */
  end(): void;
}

export class RunningStatements {
  readonly #open = new Set<AbortController>();
  #cancels = 0;

  /** `timeoutMs` 0: without a limit. */
  begin(timers: Timers, timeoutMs: number): RunningStatement {
    const abort = new AbortController();
    this.#open.add(abort);
    const tooLong = (): void =>
      abort.abort(new SqlError('query_canceled', 'canceling statement due to statement timeout'));
    const cancelTimer = timeoutMs === 0 ? undefined : timers.after(timeoutMs, tooLong);
    return {
      signal: abort.signal,
      end: () => {
        cancelTimer?.();
        this.#open.delete(abort);
      },
    };
  }

  cancel(): void {
    this.#cancels++;
    for (const abort of [...this.#open]) abort.abort(cancelled());
  }

  /** The statements of one text: a cancel that the one before no longer heard, or that came between two, ends the rest. */
  *inTurn<T>(statements: Iterable<T>): Iterable<T> {
    const before = this.#cancels;
    for (const statement of statements) {
      if (this.#cancels !== before) throw cancelled();
      yield statement;
    }
  }
}

const cancelled = (): SqlError => new SqlError('query_canceled', 'canceling statement due to user request');
