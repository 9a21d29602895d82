/**
 * How much of its past the catalog's shard keeps. Whoever leads holds it readable ten minutes back, durably, so that nothing is lost
 * between two starts; a process that stands by holds it, by a lease, where it has read up to. What is older is compacted: a
 * thousand objects made and dropped leave nothing but what there is now.
 *
 * Each move of a hold is a transaction, so they move in steps.
 */
import type { Logger } from '../base/clock.ts';
import type { Shard } from '../persist/shard.ts';
import type { ReadHold } from '../persist/shard-types.ts';
import { holdForGeneration } from '../storage/generation-hold.ts';
import type { Timestamp } from '../time/timestamp.ts';

/** Longer than a lease: a process that stands by may lose its own and come back. */
const HISTORY_MS = 600_000;
/** A hold moves when it can move by this part of the history. */
const STEPS = 10;

export interface CatalogHistoryOptions {
  readonly logger: Logger;
  readonly generation: number;
  readonly historyMs: number | undefined;
}

export class CatalogHistory {
  readonly #logger: Logger;
  readonly #generation: number;
  readonly #historyMs: number;
  #shard: Shard | null = null;
  #hold: ReadHold | null = null;
  #lease: ReadHold | null = null;
  #moving: Promise<void> | null = null;

  constructor(options: CatalogHistoryOptions) {
    this.#logger = options.logger;
    this.#generation = options.generation;
    this.#historyMs = options.historyMs ?? HISTORY_MS;
  }

  /** Of the process that leads from now on. */
  async lead(shard: Shard): Promise<void> {
    this.#shard = shard;
    this.#hold = await holdForGeneration(shard, { purpose: 'leader', generation: this.#generation });
    await this.unfollow();
  }

  /** Now and then, at the wall clock's time. */
  maintain(nowMs: number): void {
    if (this.#shard === null || this.#hold === null) return;
    // The clock may be ahead of what was written.
    const to = Math.floor(Math.min(nowMs, this.#shard.upper - 1)) - this.#historyMs;
    this.#move(this.#hold, to);
  }

  /** Of a process that stands by: what comes after `from` will be read, all that is there if absent. An error if it is gone. */
  async follow(shard: Shard, from?: Timestamp): Promise<void> {
    const before = this.#lease;
    this.#lease = await shard.hold(from === undefined ? {} : { since: from });
    await before?.release();
  }

  /** Everything up to `at` was read. */
  hasRead(at: Timestamp): void {
    if (this.#lease !== null) this.#move(this.#lease, at);
  }

  async unfollow(): Promise<void> {
    const lease = this.#lease;
    this.#lease = null;
    await this.#moving;
    await lease?.release();
  }

  #move(hold: ReadHold, to: Timestamp): void {
    if (this.#moving !== null || to - hold.since < this.#historyMs / STEPS) return;
    this.#moving = hold
      .downgrade(to)
      .catch((error) => this.#logger.warn({ error }, 'the history of the catalog is kept for longer'))
      .finally(() => {
        this.#moving = null;
      });
  }

  async close(): Promise<void> {
    await this.unfollow();
    await this.#moving;
  }
}
