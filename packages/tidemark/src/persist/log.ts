/**
 * One process's view of one shard's log: the latest state it knows, transactions on it, and waiting for it to
 * move. A transaction decides on the state it knows; losing the race it reads on and decides again. A refusal is
 * only given on a state read after the call began.
 *
 * A write whose answer was lost is looked up by its token, and tried again: a later entry in its place proves that
 * it was not applied. Only when that fails too is the outcome unknown, and said to be.
 */
import type { Clock, Logger, Random, Timers } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import type { Blob } from './blob.ts';
import type { CompactionLimits } from './compact.ts';
import type { CasOp, Consensus, Seqno } from './consensus.ts';
import { type FollowedLog, Followers } from './follow.ts';
import type { PartCodec } from './part.ts';
import type { Pins } from './pins.ts';
import type { Decision, Refusal } from './rules.ts';
import { apply, applyEntry, type Change, encodeNext, type ShardState } from './state.ts';
import type { ShardWatch } from './watch.ts';

/** Merges the batches of a shard that are named; `here`: it has nobody to do it. */
export type MergeElsewhere = (
  shardId: string,
  ids: readonly number[],
) => Promise<'merged' | 'outrun' | 'here'>;

/** What every shard of a process shares. */
export interface ShardContext {
  readonly blob: Blob;
  readonly consensus: Consensus;
  readonly watch: ShardWatch;
  readonly pins: Pins;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  readonly codec: PartCodec;
  /** Names this process in the holds it takes. */
  readonly processTag: string;
  /** A text that no other transaction writes an entry with. */
  readonly nextToken: () => string;
  readonly compaction: CompactionLimits;
  /** Who merges what is large, so that this thread does not. */
  readonly mergeElsewhere: MergeElsewhere | undefined;
  /** Parts up to this size stand in the state. */
  readonly inlineMaxBytes: number;
  readonly pollMs: number;
  readonly leaseMs: number;
  readonly garbageGraceMs: number;
}

export interface Prepared {
  readonly op: CasOp;
  readonly token: string;
  readonly next: ShardState;
}

export type Outcome =
  | { readonly kind: 'applied'; readonly seqno: Seqno }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** Nobody knows whether it was applied. */
  | { readonly kind: 'unknown'; readonly cause: unknown };

/** Tries of a write whose answers get lost. */
export const WRITE_TRIES = 3;

export const consensusKey = (shardId: string): string => `shard/${shardId}`;

export class ShardLog implements FollowedLog {
  readonly shardId: string;
  /** Who hears of every state, as long as they like. */
  readonly followers: Followers = new Followers(this);
  readonly #ctx: ShardContext;
  #state: ShardState;
  readonly #waiters = new Set<() => void>();
  #unsubscribe: (() => void) | null = null;
  #noticed: Seqno = 0;

  private constructor(ctx: ShardContext, shardId: string, state: ShardState) {
    this.#ctx = ctx;
    this.shardId = shardId;
    this.#state = state;
  }

  /** The shard as consensus has it; null if it has none. */
  static async open(ctx: ShardContext, shardId: string): Promise<ShardLog | null> {
    let state: ShardState | null = null;
    for (const entry of await ctx.consensus.read(consensusKey(shardId), 0))
      state = applyEntry(state, entry, shardId);
    return state === null ? null : new ShardLog(ctx, shardId, state);
  }

  /** Creates the shard unless it exists, and opens it. */
  static async create(ctx: ShardContext, shardId: string, initial: ShardState): Promise<ShardLog> {
    const log = new ShardLog(ctx, shardId, initial);
    const { op, next } = log.prepare([]);
    const [result] = await ctx.consensus.compareAndSet([op], 'each');
    if (!result!.applied) return (await ShardLog.open(ctx, shardId))!;
    log.adopt(next);
    return log;
  }

  /** The latest state known here. */
  get state(): ShardState {
    return this.#state;
  }

  /** Reads what others wrote. */
  async refresh(): Promise<ShardState> {
    const before = this.#state.seqno;
    const entries = await this.#ctx.consensus.read(consensusKey(this.shardId), before);
    let state = this.#state;
    for (const entry of entries)
      if (entry.seqno > state.seqno) state = applyEntry(state, entry, this.shardId);
    this.adopt(state);
    if (this.#state.seqno === before) this.#noticed = before;
    return this.#state;
  }

  /** The write that would make `changes`. `token`: of the transaction, where it spans several shards. */
  prepare(changes: readonly Change[], token: string = this.#ctx.nextToken()): Prepared {
    const s = this.#state;
    const { value, reset, state } = encodeNext(apply(s, changes, token), changes, token);
    const op = { key: consensusKey(this.shardId), expected: s.seqno === 0 ? null : s.seqno, value, reset };
    return { op, token, next: state };
  }

  /** Takes a state that was written or read; an older one changes nothing. */
  adopt(state: ShardState): void {
    if (state.seqno <= this.#state.seqno) return;
    this.#state = state;
    for (const wake of [...this.#waiters]) wake();
  }

  /** Tells readers elsewhere. */
  publish(): void {
    const { seqno, upper } = this.#state;
    this.#ctx.watch.publish([{ shardId: this.shardId, seqno, upper }]);
  }

  /** Whether one of the entries with these tokens was applied, as far as the state known here tells. */
  wrote(tokens: readonly string[]): boolean {
    return tokens.some((t) => this.#state.tokens.includes(t));
  }

  /** Applies what `decide` makes of the state. It is called again when another writer was first. */
  async transact(decide: (s: ShardState) => Decision): Promise<Outcome> {
    const tokens: string[] = [];
    let failures = 0;
    let fresh = false;
    let cause: unknown = null;
    for (;;) {
      if (this.wrote(tokens)) return this.#applied();
      if (failures === WRITE_TRIES) return { kind: 'unknown', cause };
      const decision = decide(this.#state);
      if ('refused' in decision || decision.changes.length === 0) {
        if (!fresh) {
          await this.refresh();
          fresh = true;
        } else if ('refused' in decision) return { kind: 'refused', refusal: decision.refused };
        else return { kind: 'applied', seqno: this.#state.seqno };
        continue;
      }
      const { op, token, next } = this.prepare(decision.changes);
      tokens.push(token);
      fresh = false;
      try {
        const [result] = await this.#ctx.consensus.compareAndSet([op], 'each');
        if (result!.applied) {
          this.adopt(next);
          return this.#applied();
        }
        if (result!.seqno === null) throw droppedShard(this.shardId);
        await this.refresh();
        fresh = true;
      } catch (e) {
        if (!losesAnswers(e)) throw e;
        cause = e;
        failures++;
        await this.refresh().catch(() => undefined);
      }
    }
  }

  #applied(): Outcome {
    this.publish();
    return { kind: 'applied', seqno: this.#state.seqno };
  }

  /** Resolves once the state satisfies `done`, and with it. */
  async waitFor(done: (s: ShardState) => boolean, signal?: AbortSignal): Promise<ShardState> {
    if (done(this.#state)) return this.#state;
    // Listening begins before reading, so that nothing falls between.
    const stop = this.listen();
    try {
      await this.refresh();
      while (!done(this.#state)) {
        if (signal?.aborted)
          throw new SqlError('query_canceled', `waiting for shard ${this.shardId} was canceled`);
        const before = this.#state.seqno;
        if (this.#noticed <= before && (await this.nextChange(signal)) === 'woken') continue;
        await this.refresh();
        if (this.#state.seqno === before) await this.checkExists();
      }
      return this.#state;
    } finally {
      stop();
    }
  }

  async checkExists(): Promise<void> {
    if ((await this.#ctx.consensus.head(consensusKey(this.shardId))) === null)
      throw droppedShard(this.shardId);
  }

  get isBehind(): boolean {
    return this.#noticed > this.#state.seqno;
  }

  #listeners = 0;
  listen(): () => void {
    this.#listeners++;
    this.#unsubscribe ??= this.#ctx.watch.subscribe(this.shardId, (notice) => {
      if (notice.seqno <= this.#noticed) return;
      this.#noticed = notice.seqno;
      for (const wake of [...this.#waiters]) wake();
    });
    return () => {
      if (--this.#listeners > 0) return;
      this.#unsubscribe?.();
      this.#unsubscribe = null;
    };
  }

  /** A wait of one poll interval, or until the state or a notice of a later one comes. */
  nextChange(signal: AbortSignal | undefined): Promise<'woken' | 'poll'> {
    return new Promise((resolve) => {
      const end = (how: 'woken' | 'poll') => {
        cancel();
        this.#waiters.delete(wake);
        signal?.removeEventListener('abort', wake);
        resolve(how);
      };
      const wake = () => end('woken');
      const cancel = this.#ctx.timers.after(this.#ctx.pollMs, () => end('poll'));
      this.#waiters.add(wake);
      signal?.addEventListener('abort', wake);
    });
  }
}

/** Errors after which a write may have been applied. */
export function losesAnswers(e: unknown): boolean {
  return (
    e instanceof SqlError &&
    (e.code === 'io_error' || e.code === 'disk_full' || e.code === 'connection_failure')
  );
}

export function droppedShard(shardId: string): SqlError {
  return new SqlError('undefined_object', `shard ${shardId} does not exist`);
}

export function hex(bytes: Uint8Array): string {
  let s = '';
  for (const b of bytes) s += b.toString(16).padStart(2, '0');
  return s;
}

/** Every blob that a state names, read or waiting to be deleted. */
export function namedKeys(s: ShardState): Set<string> {
  const out = new Set(s.garbage.keys());
  for (const b of s.batches) for (const p of b.parts) if (p.key !== null) out.add(p.key);
  return out;
}
