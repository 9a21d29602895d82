/**
 * Reads on one worker: accepted, held at their time until the collection is complete there, then answered in slices. Every peek that
 * was installed is retired: answered, cancelled, or ended with its target. Each has one answer.
 */

import type { EvalContext } from '../expr/functions.ts';
import { compileMfp } from '../expr/mfp.ts';
import type { RowError } from '../expr/scalar.ts';
import type { ComputeLog } from '../introspection/compute-log.ts';
import { type Batch, gatherBatch, sliceBatch } from '../repr/batch.ts';
import { kindOf } from '../repr/types.ts';
import { Fuel } from '../trace/fuel.ts';
import type { TraceHandle } from '../trace/trace.ts';
import { orderAndCut } from './finishing.ts';
import { frontierOwner } from './frontier-owner.ts';
import { IndexScan, keyLookup } from './index-scan.ts';
import type { PeekCommand, PeekResponse } from './protocol.ts';
import { hostError, type ShardAccess } from './shard-source.ts';
import { SnapshotRead } from './snapshot-read.ts';

/** The traces of an index, as a peek reads them. */
export interface IndexTraces {
  readonly oks: TraceHandle;
  readonly errs: TraceHandle;
}

export interface PeeksOptions {
  readonly worker: number;
  readonly peers: number;
  readonly shards: ShardAccess;
  readonly evalContext: EvalContext;
  readonly log: () => ComputeLog | null;
  readonly maxResultSize: () => number;
  readonly send: (response: PeekResponse) => void;
  /** There is work to do for `step`. */
  readonly wake: () => void;
}

/** Rows touched in one turn of one peek: one big peek delays nobody else. */
const ROW_BUDGET = 16_384;
/** Rows of one answer message. */
const PART_ROWS = 65_536;

interface PendingPeek {
  readonly command: PeekCommand;
  readonly read: SnapshotRead;
  readonly retire: () => void;
  /** Whether everything at the peek's time is there; once true it stays so. */
  ready(): boolean;
  /** Feeds `read`; true at the end. */
  feed(fuel: Fuel): boolean;
  /** Gives back what it holds. */
  release(): void;
  fed: boolean;
}

export class WorkerPeeks {
  readonly #o: PeeksOptions;
  readonly #pending = new Map<string, PendingPeek>();
  #answeredFirst = false;

  constructor(options: PeeksOptions) {
    this.#o = options;
  }

  get size(): number {
    return this.#pending.size;
  }

  /** `traces`: of the target, if it is an index that lives here. */
  start(command: PeekCommand, traces: IndexTraces | undefined): void {
    const { target, uuid, timestamp } = command;
    if (target.kind === 'index' && traces === undefined) {
      this.#o.send(
        this.#error(uuid, { code: 'undefined_object', message: `index ${target.id} does not exist` }),
      );
      return;
    }
    if (traces !== undefined && traces.oks.since > timestamp) {
      const message = `index ${target.id} cannot be read at ${timestamp}, because it was compacted up to ${traces.oks.since}`;
      this.#o.send(this.#error(uuid, { code: 'object_not_in_prerequisite_state', message }));
      return;
    }
    const retire =
      this.#o.log()?.peekInstalled({
        uuid,
        objectId: target.id,
        type: target.kind === 'index' ? 'index' : 'persist',
        time: timestamp,
      }) ?? (() => undefined);
    const wanted = wantedRows(command);
    const read = new SnapshotRead({
      asOf: timestamp,
      evaluate: compileMfp(command.mfp, this.#o.evalContext),
      kinds: command.desc.columns.map((c) => kindOf(c.type)),
      objectId: target.id,
      maxResultSize: this.#o.maxResultSize(),
      ...(wanted !== null && { wanted }),
    });
    const source =
      traces === undefined ? this.#shardFeed(command, read) : this.#indexFeed(command, read, traces);
    this.#pending.set(uuid, { command, read, retire, fed: false, ...source });
  }

  #indexFeed(
    command: PeekCommand,
    read: SnapshotRead,
    traces: IndexTraces,
  ): Pick<PendingPeek, 'ready' | 'feed' | 'release'> {
    const { timestamp, literalKeys } = command;
    const held = [traces.oks.clone(), traces.errs.clone()] as const;
    for (const h of held) if (h.since < timestamp) h.setLogicalCompaction(timestamp);
    let scans: { readonly oks: IndexScan; readonly errs: IndexScan } | undefined;
    const release = () => {
      for (const h of held) h.dispose();
    };
    return {
      ready: () => scans !== undefined || (held[0].upper > timestamp && held[1].upper > timestamp),
      feed: (fuel) => {
        if (scans === undefined) {
          const [oks, errs] = held;
          const target = command.target;
          const types = target.kind === 'index' ? target.keyTypes : [];
          const keys = literalKeys === null ? null : keyLookup(types, literalKeys);
          scans = {
            oks: new IndexScan(oks.spec, oks.batches(), keys),
            errs: new IndexScan(errs.spec, errs.batches(), null),
          };
          release();
        }
        for (let b = scans.errs.next(fuel); b !== undefined; b = scans.errs.next(fuel)) read.errs(b);
        while (!fuel.exhausted) {
          const b = scans.oks.next(fuel);
          if (b === undefined) return true;
          read.oks(b);
        }
        return false;
      },
      release,
    };
  }

  /** One worker reads the shard; the others answer with nothing. */
  #shardFeed(command: PeekCommand, read: SnapshotRead): Pick<PendingPeek, 'ready' | 'feed' | 'release'> {
    const { target, uuid, timestamp } = command;
    const mine = frontierOwner(uuid, this.#o.peers) === this.#o.worker;
    if (!mine || target.kind !== 'shard')
      return { ready: () => true, feed: () => true, release: () => undefined };
    const abort = new AbortController();
    const arrived: Batch[] = [];
    const failed: Batch[] = [];
    let done = false;
    const run = async () => {
      const shard = await this.#o.shards.open(target.shard);
      const listing = await shard.snapshot(timestamp, { signal: abort.signal });
      try {
        for (const part of listing.parts) {
          if (abort.signal.aborted) return;
          const { oks, errs } = await this.#o.shards.readPart(part);
          for (let at = 0; at < oks.length; at += ROW_BUDGET)
            arrived.push(sliceBatch(oks, at, Math.min(at + ROW_BUDGET, oks.length)));
          failed.push(errs);
          this.#o.wake();
        }
      } finally {
        listing.release();
      }
      done = true;
      this.#o.wake();
    };
    run().catch((error: unknown) => {
      if (!abort.signal.aborted) this.#end(uuid, this.#error(uuid, hostError(error)));
    });
    return {
      ready: () => done || arrived.length > 0,
      feed: () => {
        for (const errs of failed.splice(0)) read.errs(errs);
        const next = arrived.shift();
        if (next !== undefined) read.oks(next);
        return done && arrived.length === 0;
      },
      release: () => abort.abort(),
    };
  }

  /** One turn for each peek that can go on. True while any of them has work left. */
  step(): boolean {
    let more = false;
    for (const [uuid, p] of [...this.#pending]) {
      if (!p.fed && !p.ready()) continue;
      const fuel = new Fuel(ROW_BUDGET);
      p.fed ||= p.feed(fuel);
      if (p.fed && !fuel.exhausted && p.read.finish(fuel)) this.#answer(uuid, p);
      else if (p.fed || p.ready()) more = true;
    }
    return more;
  }

  /**
   * Before a slice: answers what is ready, so that it neither waits for the slice nor cuts it short. True: there are answers, to be sent
   * at once. Never twice in a row, so that who reads all the time stops no dataflow.
   */
  answersFirst(): boolean {
    const asked = this.#pending.size;
    const may = asked > 0 && !this.#answeredFirst;
    if (may) this.step();
    this.#answeredFirst = may && this.#pending.size < asked;
    return this.#answeredFirst;
  }

  #answer(uuid: string, p: PendingPeek): void {
    const result = p.read.result;
    if (result.kind === 'error') return this.#end(uuid, this.#error(uuid, result));
    const { finishing, desc } = p.command;
    const wanted = wantedRows(p.command);
    const rows = orderAndCut(
      result.batch,
      desc.columns.map((c) => c.type),
      { orderBy: wanted === null ? [] : finishing.orderBy, limit: wanted, offset: 0 },
    );
    for (let at = 0; at + PART_ROWS < rows.length; at += PART_ROWS)
      this.#o.send(this.#rows(uuid, part(rows, at, at + PART_ROWS), true));
    const last = rows.length === 0 ? 0 : Math.floor((rows.length - 1) / PART_ROWS) * PART_ROWS;
    this.#end(uuid, this.#rows(uuid, last === 0 ? rows : part(rows, last, rows.length), false));
  }

  #rows(uuid: string, batch: Batch, more: boolean): PeekResponse {
    return { kind: 'peekResponse', worker: this.#o.worker, uuid, result: { kind: 'rows', batch, more } };
  }

  #error(uuid: string, error: RowError): PeekResponse {
    return { kind: 'peekResponse', worker: this.#o.worker, uuid, result: { kind: 'error', ...error } };
  }

  #end(uuid: string, response: PeekResponse): void {
    const p = this.#pending.get(uuid);
    if (p === undefined) return;
    this.#pending.delete(uuid);
    p.release();
    p.retire();
    this.#o.send(response);
  }

  cancel(uuid: string): void {
    this.#end(uuid, { kind: 'peekResponse', worker: this.#o.worker, uuid, result: { kind: 'canceled' } });
  }

  /** The target is gone: its peeks end with an error. */
  dropTarget(id: string): void {
    for (const [uuid, p] of [...this.#pending])
      if (p.command.target.id === id)
        this.#end(
          uuid,
          this.#error(uuid, { code: 'undefined_object', message: `${id} was dropped while it was read` }),
        );
  }

  /** Nobody will read the answers: they end without one. */
  abandon(): void {
    for (const p of this.#pending.values()) {
      p.release();
      p.retire();
    }
    this.#pending.clear();
  }
}

/** What of the rows of one worker can be among the answer; null: all. */
const wantedRows = ({ finishing }: PeekCommand): number | null =>
  finishing.limit === null ? null : finishing.limit + finishing.offset;

/** Rows with buffers of their own. */
function part(rows: Batch, from: number, to: number): Batch {
  return gatherBatch(
    rows,
    Int32Array.from({ length: to - from }, (_, i) => from + i),
    to - from,
  );
}
