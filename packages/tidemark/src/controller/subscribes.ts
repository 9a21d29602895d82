/**
 * Subscribes under way. Each replica of the cluster runs the dataflow and each of its workers tells what it has; here that becomes one
 * stream: contiguous, every interval once, whatever replicas come and go. The first replica that is ahead gives an interval;
 * what another one says of it later is dropped by its times.
 *
 * A stream ends exactly once: at its end, with an error, or because its reader closes it. Beyond the interval that its reader takes
 * next it keeps at most `backlogBytes`; a reader that falls further behind is told so and the stream ends.
 */
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import type { GlobalId, ReplicaId } from '../base/ids.ts';
import type { DataflowDescription, SubscribeResponse } from '../compute/protocol.ts';
import { sqlErrorOf } from '../expr/eval-error.ts';
import { type Batch, gatherBatch } from '../repr/batch.ts';
import { columnBytes } from '../repr/column.ts';
import { EMPTY, type Frontier, MIN_TIME } from '../time/timestamp.ts';
import { type Members, refuseForEver } from './members.ts';

/** What changed in [lower, upper): consolidated per time, in no order. Intervals without changes are laid together while nobody reads. */
export interface SubscribeBatch {
  readonly lower: Frontier;
  readonly upper: Frontier;
  readonly parts: readonly Batch[];
}

export interface SubscribeStream {
  /** The next interval, undefined if there is none yet, null at the end; throws what the stream ended with. */
  poll(): SubscribeBatch | null | undefined;
  /** Resolves once `poll` has something to say. */
  ready(): Promise<void>;
  /** From the reader's side: nothing more comes. With an error, `poll` throws it. Idempotent. */
  close(error?: SqlError): void;
}

export interface SubscribeOptions {
  /** The one replica that has it; undefined: all. */
  readonly replicaId?: ReplicaId | undefined;
  /** It has ended. */
  readonly onEnd: () => void;
}

export interface SubscribeLimits {
  /** What may wait for a reader beyond what it takes next. */
  readonly backlogBytes?: number;
}

const BACKLOG_BYTES = 64 << 20;

export interface SubscribesOptions extends SubscribeLimits, Members {
  /** Of one interval, a snapshot for instance; in bytes. */
  readonly maxResultSize: () => number;
  readonly create: (dataflow: DataflowDescription, replicaId: ReplicaId | undefined) => void;
  readonly drop: (id: GlobalId) => void;
}

export class Subscribes {
  readonly #o: SubscribesOptions;
  readonly #open = new Map<GlobalId, Subscription>();

  constructor(options: SubscribesOptions) {
    this.#o = options;
  }

  get size(): number {
    return this.#open.size;
  }

  /** A dataflow that exports one subscribe. */
  start(dataflow: DataflowDescription, { replicaId, onEnd }: SubscribeOptions): SubscribeStream {
    refuseForEver(this.#o, replicaId);
    const [sink] = dataflow.sinkExports;
    assert(sink?.kind === 'subscribe', `dataflow ${dataflow.name} exports a subscribe`);
    const { id } = sink;
    const s = new Subscription({
      replicaId,
      backlogBytes: this.#o.backlogBytes ?? BACKLOG_BYTES,
      maxResultSize: this.#o.maxResultSize,
      onEnd: () => {
        this.#open.delete(id);
        this.#o.drop(id);
        onEnd();
      },
    });
    this.#open.set(id, s);
    this.#o.create(dataflow, replicaId);
    return s;
  }

  receive(replica: { readonly id: ReplicaId; readonly workers: number }, r: SubscribeResponse): void {
    // Ended on our side meanwhile.
    this.#open.get(r.id)?.receive(replica, r);
  }

  /** A replica begins the dataflow anew: what it told stays told. */
  restarted(replicaId: ReplicaId, id: GlobalId): void {
    this.#open.get(id)?.forget(replicaId);
  }

  /** How far a replica has told. */
  upperOn(id: GlobalId, replicaId: ReplicaId): Frontier {
    return this.#open.get(id)?.upperOn(replicaId) ?? EMPTY;
  }

  /** Everything before it has been handed on. */
  upper(id: GlobalId): Frontier {
    return this.#open.get(id)?.upper ?? EMPTY;
  }

  fail(id: GlobalId, error: SqlError): void {
    this.#open.get(id)?.close(error);
  }

  /** A replica is gone: those aimed at it end. So do all if the cluster has no other: nobody will come and go on. */
  replicaGone(replicaId: ReplicaId, error: () => SqlError): void {
    const last = this.#o.members.size === 0;
    for (const s of [...this.#open.values()]) s.replicaGone(replicaId, error, last);
  }

  failAll(error: () => SqlError): void {
    for (const s of [...this.#open.values()]) s.close(error());
  }
}

/** What a worker of a replica has told and nobody took. */
interface WorkerSide {
  upper: Frontier;
  parts: Batch[];
  error: { readonly at: Frontier; readonly error: SqlError } | undefined;
}

interface SubscriptionOptions {
  readonly replicaId: ReplicaId | undefined;
  readonly backlogBytes: number;
  readonly maxResultSize: () => number;
  readonly onEnd: () => void;
}

const NOTHING: readonly WorkerSide[] = [{ upper: MIN_TIME, parts: [], error: undefined }];

function leastUpper(sides: readonly WorkerSide[]): Frontier {
  let upper = EMPTY;
  for (const s of sides) if (s.upper < upper) upper = s.upper;
  return upper;
}

class Subscription implements SubscribeStream {
  readonly #o: SubscriptionOptions;
  readonly #replicas = new Map<ReplicaId, readonly WorkerSide[]>();
  readonly #queue: { batch: SubscribeBatch; readonly bytes: number }[] = [];
  #queuedBytes = 0;
  #collectedBytes = 0;
  /** Undefined: it goes on. Null: it has ended well. */
  #end: SqlError | null | undefined;
  #waiting: PromiseWithResolvers<void> | undefined;
  upper: Frontier = MIN_TIME;

  constructor(options: SubscriptionOptions) {
    this.#o = options;
  }

  poll(): SubscribeBatch | null | undefined {
    const first = this.#queue.shift();
    if (first !== undefined) {
      this.#queuedBytes -= first.bytes;
      return first.batch;
    }
    if (this.#end instanceof SqlError) throw this.#end;
    return this.#end;
  }

  ready(): Promise<void> {
    if (this.#queue.length > 0 || this.#end !== undefined) return Promise.resolve();
    this.#waiting ??= Promise.withResolvers<void>();
    return this.#waiting.promise;
  }

  close(error?: SqlError): void {
    if (this.#end !== undefined) return;
    this.#queue.length = 0;
    this.#ended(error ?? null);
  }

  #ended(how: SqlError | null): void {
    this.#end = how;
    this.#replicas.clear();
    this.#notify();
    this.#o.onEnd();
  }

  #notify(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve();
  }

  forget(replicaId: ReplicaId): void {
    this.#replicas.delete(replicaId);
  }

  upperOn(replicaId: ReplicaId): Frontier {
    return leastUpper(this.#replicas.get(replicaId) ?? NOTHING);
  }

  replicaGone(replicaId: ReplicaId, error: () => SqlError, last: boolean): void {
    this.forget(replicaId);
    if (last || this.#o.replicaId === replicaId) this.close(error());
  }

  receive(replica: { readonly id: ReplicaId; readonly workers: number }, r: SubscribeResponse): void {
    let sides = this.#replicas.get(replica.id);
    if (sides === undefined) {
      sides = Array.from({ length: replica.workers }, () => ({
        upper: MIN_TIME,
        parts: [],
        error: undefined,
      }));
      this.#replicas.set(replica.id, sides);
    }
    const side = sides[r.worker]!;
    const { result } = r;
    switch (result.kind) {
      case 'rows':
        if (result.batch !== null) this.#collect(side, result.batch);
        if (this.#end !== undefined || result.more) return;
        break;
      case 'error':
        side.error ??= { at: r.lower, error: sqlErrorOf(result) };
        break;
      case 'dropped':
        return;
    }
    side.upper = r.upper;
    this.#advance(sides);
  }

  #collect(side: WorkerSide, batch: Batch): void {
    const [, rest] = splitBatch(batch, this.upper);
    if (rest === null) return;
    side.parts.push(rest);
    this.#collectedBytes += batchBytes(rest);
    const most = this.#o.maxResultSize();
    if (this.#collectedBytes > most)
      this.close(new SqlError('program_limit_exceeded', `result exceeds max size of ${most} bytes`));
  }

  /** Hands on what a replica has complete and nobody had before. */
  #advance(sides: readonly WorkerSide[]): void {
    const upper = leastUpper(sides);
    if (upper <= this.upper) return;
    let failed: WorkerSide['error'];
    for (const { error } of sides)
      if (error !== undefined && error.at < upper && (failed === undefined || error.at < failed.at))
        failed = error;
    const to = failed?.at ?? upper;
    const lower = this.upper;
    if (to > lower) {
      this.upper = to;
      this.#deliver({ lower, upper: to, parts: this.#take(sides, to) });
    }
    if (this.#end !== undefined) return;
    if (failed !== undefined) this.#ended(failed.error);
    else if (to === EMPTY) this.#ended(null);
  }

  /** The parts before `to` of one replica; what the others say of that is forgotten. */
  #take(from: readonly WorkerSide[], to: Frontier): Batch[] {
    const out: Batch[] = [];
    this.#collectedBytes = 0;
    for (const sides of this.#replicas.values())
      for (const side of sides) {
        const kept: Batch[] = [];
        for (const part of side.parts) {
          const [before, rest] = splitBatch(part, to);
          if (before !== null && sides === from) out.push(before);
          if (rest !== null) kept.push(rest);
        }
        side.parts = kept;
        for (const part of kept) this.#collectedBytes += batchBytes(part);
      }
    return out;
  }

  #deliver(batch: SubscribeBatch): void {
    const last = this.#queue.at(-1);
    if (last !== undefined && batch.parts.length === 0) {
      last.batch = { ...last.batch, upper: batch.upper };
      return;
    }
    const bytes = batch.parts.reduce((n, p) => n + batchBytes(p), 0);
    this.#queue.push({ batch, bytes });
    this.#queuedBytes += bytes;
    if (this.#queuedBytes - this.#queue[0]!.bytes > this.#o.backlogBytes) {
      const behind = new SqlError('program_limit_exceeded', 'the reader of a subscribe fell too far behind', {
        detail: `more than ${this.#o.backlogBytes} bytes wait to be read`,
        hint: 'read faster, or subscribe to less',
      });
      this.close(behind);
      return;
    }
    this.#notify();
  }
}

function batchBytes(b: Batch): number {
  let n = b.length * ((typeof b.times === 'number' ? 0 : 8) + (typeof b.diffs === 'number' ? 0 : 8));
  for (const c of b.columns) n += columnBytes(c).used;
  return n;
}

/** What lies before a time, and the rest. */
function splitBatch(b: Batch, at: Frontier): readonly [before: Batch | null, rest: Batch | null] {
  const { times } = b;
  if (b.length === 0) return [null, null];
  if (typeof times === 'number') return times < at ? [b, null] : [null, b];
  const order = new Int32Array(b.length);
  let before = 0;
  let rest = b.length;
  for (let i = 0; i < b.length; i++) order[times[i]! < at ? before++ : --rest] = i;
  if (before === b.length) return [b, null];
  if (before === 0) return [null, b];
  return [gatherBatch(b, order, before), gatherBatch(b, order.subarray(before), b.length - before)];
}
