/**
 * Many who follow one shard in one process: one subscription, one read of the log for each notice, one timer that looks for notices that
 * were lost, however many they are. Each for itself, two hundred dataflows over one table asked consensus four hundred times a second.
 *
 * A read that fails is the failure of one of those who follow, and the next one has a read of its own: so what fails once
 * fails one, as it would if each read for itself.
 */
import type { ShardState } from './state.ts';

/** What is followed. */
export interface FollowedLog {
  readonly state: ShardState;
  /** A notice was of a later state. */
  readonly isBehind: boolean;
  refresh(): Promise<unknown>;
  /** An error if the shard is gone. */
  checkExists(): Promise<void>;
  /** Until the returned function is called, notices are heard. */
  listen(): () => void;
  nextChange(signal: AbortSignal): Promise<'woken' | 'poll'>;
}

/** Called in turns of their own, never while the state moves. */
export interface Follower {
  moved(state: ShardState): void;
  /** It follows no more. */
  failed(error: unknown): void;
}

export class Followers {
  readonly #log: FollowedLog;
  readonly #followers = new Set<Follower>();
  #running = false;
  /** Ends the wait of a run that nobody follows any more. */
  #wait = new AbortController();

  constructor(log: FollowedLog) {
    this.#log = log;
  }

  /** `follower` is told of each state, the present one included if nobody else follows, until the returned function is called. */
  add(follower: Follower): () => void {
    this.#followers.add(follower);
    if (!this.#running) void this.#run();
    return () => {
      if (this.#followers.delete(follower) && this.#followers.size === 0) this.#wait.abort();
    };
  }

  async #run(): Promise<void> {
    this.#running = true;
    const log = this.#log;
    // Listening begins before reading, so that nothing falls between.
    const stop = log.listen();
    let began = false;
    for (let poll = true; this.#followers.size > 0; ) {
      if (poll || log.isBehind)
        try {
          const before = log.state.seqno;
          await log.refresh();
          if (began && log.state.seqno === before) await log.checkExists();
        } catch (error) {
          this.#failOne(error);
          poll = true;
          continue;
        }
      began = true;
      this.#tell();
      if (this.#followers.size === 0) break;
      this.#wait = new AbortController();
      poll = !log.isBehind && (await log.nextChange(this.#wait.signal)) === 'poll';
    }
    stop();
    this.#running = false;
  }

  #tell(): void {
    const { state } = this.#log;
    for (const f of [...this.#followers])
      try {
        if (this.#followers.has(f)) f.moved(state);
      } catch (error) {
        this.#fail(f, error);
      }
  }

  #failOne(error: unknown): void {
    for (const f of this.#followers) return this.#fail(f, error);
  }

  #fail(f: Follower, error: unknown): void {
    this.#followers.delete(f);
    f.failed(error);
  }
}
