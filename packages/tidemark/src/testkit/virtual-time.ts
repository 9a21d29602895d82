/**
 * Time that only a test moves: a clock, timers and a queue of turns. Nothing happens but by `pump`, which runs one turn after
 * another until all is quiet, in an order drawn from the seed, and lets promises settle in between. Each turn takes some
 * microseconds of virtual time and each reading of the clock one, so that what happens one after another also stands so.
 *
 * Files are the machine's own, and as slow as it is: while one is waited for, time does not leap.
 */
import type { CancelTimer, Clock, Random, Timers } from '../base/clock.ts';
import type { FileWriter } from '../compute/sink/sink.ts';
import { openFile } from '../host/file-writer.ts';
import { nextTurn } from '../host/node-clock.ts';

interface Timer {
  readonly dueNs: number;
  readonly order: number;
  readonly f: () => void;
}

const READING_NS = 1000;

/** 2026-01-01 00:00:00 UTC. */
const EPOCH_MS = 1_767_225_600_000;

export class VirtualTime implements Clock, Timers {
  readonly #random: Random;
  #ns = 0;
  #stepMs = 0;
  #order = 0;
  #timers: Timer[] = [];
  readonly #turns: (() => void)[] = [];
  #turnsRun = 0;
  /** Acts of the machine that are under way. */
  #outside = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  // ---- Clock

  nowMs(): number {
    return EPOCH_MS + this.#stepMs + this.#ns / 1e6;
  }

  monotonicNs(): number {
    this.#ns += READING_NS;
    return this.#ns;
  }

  /** The wall reading jumps, as when an operator sets the clock; the monotonic one goes on. */
  step(ms: number): void {
    this.#stepMs += ms;
  }

  /** A clock whose wall reading is off by so much. */
  skewed(ms: number): Clock {
    return { nowMs: () => this.nowMs() + ms, monotonicNs: () => this.monotonicNs() };
  }

  // ---- Timers and turns

  after(delayMs: number, f: () => void): CancelTimer {
    const timer = { dueNs: this.#ns + Math.max(0, Math.ceil(delayMs * 1e6)), order: this.#order++, f };
    const at = this.#timers.findIndex((t) => t.dueNs > timer.dueNs);
    this.#timers.splice(at < 0 ? this.#timers.length : at, 0, timer);
    return () => {
      this.#timers = this.#timers.filter((t) => t !== timer);
    };
  }

  readonly schedule = (f: () => void): void => {
    this.#turns.push(f);
  };

  /** For COPY … TO. */
  readonly openFile = async (path: string): Promise<FileWriter> => {
    const file = await this.#meanwhile(openFile(path));
    return {
      write: (bytes) => this.#meanwhile(file.write(bytes)),
      commit: () => this.#meanwhile(file.commit()),
      abort: () => this.#meanwhile(file.abort()),
    };
  };

  async #meanwhile<T>(act: Promise<T>): Promise<T> {
    this.#outside++;
    try {
      return await act;
    } finally {
      this.#outside--;
    }
  }

  /** Turns that were run, ever: what is idle adds none. */
  get turns(): number {
    return this.#turnsRun;
  }

  /** Timers that wait: none is left once everything is closed. */
  get waiting(): number {
    return this.#timers.length;
  }

  /** Runs turns and due timers until `until` says so or nothing is left to do now. True if it was `until`. */
  async pump(until: () => boolean): Promise<boolean> {
    for (;;) {
      await nextTurn();
      if (until()) return true;
      if (this.#turns.length > 0) {
        const [turn] = this.#turns.splice(Math.floor(this.#random.next() * this.#turns.length), 1);
        this.#ns += 1000 + Math.floor(this.#random.next() * 30_000);
        this.#turnsRun++;
        turn!();
      } else if (!this.#fire(this.#ns)) return false;
    }
  }

  /** The next timer due by then; false if there is none. */
  #fire(byNs: number): boolean {
    const next = this.#timers[0];
    if (next === undefined || next.dueNs > byNs) return false;
    this.#timers.shift();
    this.#ns = Math.max(this.#ns, next.dueNs);
    next.f();
    return true;
  }

  /** Goes on until `until` says so, leaping to the next timer whenever all is quiet; false when `ms` are over. */
  async passUntil(ms: number, until: () => boolean): Promise<boolean> {
    const end = this.#ns + ms * 1e6;
    for (;;) {
      if (await this.pump(until)) return true;
      if (this.#outside > 0) continue;
      if (!this.#fire(end)) {
        this.#ns = Math.max(this.#ns, end);
        return false;
      }
    }
  }
}
