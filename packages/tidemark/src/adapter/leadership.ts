/**
 * Whether this process writes. A generation leads, or stands by for the one that does: it reads what the leader writes, and writes
 * nothing but its leases. Whose the catalog's shard is says who leads; everything that is written goes with an append to it, so a
 * generation that lost it has lost everything.
 *
 * A strict answer must not be older than a write that another process has acknowledged: before one is given, `confirm` asks
 * consensus. Questions that come together share an answer that was asked for after all of them. Cost: one read of one key.
 */
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import type { ClusterId, GlobalId } from '../base/ids.ts';
import { unlessAborted } from '../base/unless-aborted.ts';
import type { Shard } from '../persist/shard.ts';
import type { Fence } from '../persist/shard-types.ts';
import type { Frontier } from '../time/timestamp.ts';

export type Role = 'leader' | 'read_only' | 'promoting' | 'fenced';

/** What a generation that stands by knows of the leader's catalog. */
export interface CatalogFollower {
  /** The leader's transactions before it are applied. */
  readonly applied: Frontier;
  /** Objects that are known and not yet maintained here. */
  readonly pending: ReadonlySet<GlobalId>;
  start(): void;
  /** Creates what is still to be maintained, as far as that is possible now. */
  createPending(): Promise<void>;
  /** Resolves once everything before `upper` is applied, or this has ended. */
  reach(upper: Frontier): Promise<void>;
  stop(): Promise<void>;
}

export interface LeadershipOptions {
  readonly fence: Fence & { readonly start: number };
  readonly readOnly: boolean;
  /** Another generation or start writes now: this process must stop. Told once. */
  readonly onFenced: (error: Error) => void;
}

export class Leadership {
  /** Sinks that compute and hold back until this generation is promoted, with their clusters. */
  readonly heldBack: Map<GlobalId, ClusterId> = new Map();
  readonly #o: LeadershipOptions;
  #role: Role;
  #catalog: Shard | undefined;
  #caughtUpTo: ((upper: Frontier) => Promise<void>) | undefined;
  /** Asked next, for everybody who comes until then; and the last one that was. */
  #next: Promise<void> | null = null;
  #last: Promise<void> = Promise.resolve();
  #error: SqlError | undefined;

  constructor(options: LeadershipOptions) {
    this.#o = options;
    this.#role = options.readOnly ? 'read_only' : 'leader';
  }

  get role(): Role {
    return this.#role;
  }

  /** Sinks may append. */
  get mayWrite(): boolean {
    return this.#role === 'leader';
  }

  /** The shard that says who leads; `caughtUpTo`: waits until what the leader wrote before a time is known here. */
  watch(catalog: Shard, caughtUpTo?: (upper: Frontier) => Promise<void>): void {
    this.#catalog = catalog;
    this.#caughtUpTo = caughtUpTo;
  }

  become(role: 'promoting' | 'leader'): void {
    if (this.#role === 'fenced') throw this.#error!;
    this.#role = role;
    if (role === 'leader') this.#caughtUpTo = undefined;
  }

  refuseWrite(command: string): void {
    if (this.#role === 'leader') return;
    if (this.#role === 'fenced') throw this.#error!;
    throw new SqlError('read_only_sql_transaction', `cannot execute ${command} in a read-only generation`, {
      hint: 'another process leads; this one writes once it is promoted',
    });
  }

  /** Another process writes. */
  fenced(detail: string): SqlError {
    if (this.#role === 'leader')
      return this.end('another process has taken over this environment', detail, 'connect to that one');
    return this.end(
      'another process was promoted, and this one cannot stand by any longer',
      detail,
      'start it again, to stand by for the new leader',
    );
  }

  /** This process can go on neither as leader nor standing by: it must stop. The first reason counts. */
  end(message: string, detail: string, hint: string): SqlError {
    if (this.#error !== undefined) return this.#error;
    this.#role = 'fenced';
    this.#error = new SqlError('admin_shutdown', message, { detail, hint });
    this.#o.onFenced(this.#error);
    return this.#error;
  }

  /** Resolves when a strict answer may be given at the oracle's read time; rejects when another process leads, or who asks gives up. */
  confirm(signal?: AbortSignal): Promise<void> {
    const confirmed = this.#confirm();
    return signal === undefined ? confirmed : unlessAborted(confirmed, signal);
  }

  #confirm(): Promise<void> {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#next !== null) return this.#next;
    // A question that is under way does not count: a write may have been acknowledged after it was asked.
    const turn = this.#last
      .catch(() => undefined)
      .then(() => {
        this.#next = null;
        return this.#ask();
      });
    this.#next = turn;
    this.#last = turn;
    return turn;
  }

  async #ask(): Promise<void> {
    assert(this.#catalog !== undefined, 'the catalog is open before anything is asked');
    const { upper } = await this.#catalog.refresh();
    this.check();
    await this.#caughtUpTo?.(upper);
  }

  /** By the catalog's shard as last seen. */
  check(): void {
    const { fence } = this.#o;
    const holder = this.#catalog!.fence as typeof fence;
    const own = holder.generation === fence.generation && holder.start === fence.start;
    const lost =
      this.#role === 'leader'
        ? !own
        : holder.generation >= fence.generation && !(own && this.#role === 'promoting');
    if (this.#error !== undefined) throw this.#error;
    if (lost) throw this.fenced(`generation ${holder.generation}, start ${holder.start} writes`);
  }
}
