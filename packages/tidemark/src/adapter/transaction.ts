/**
 * A transaction: the one time it reads at, with holds that keep everything readable there, or the rows it will write. Writes become
 * durable together at its end.
 */
import { nowMicros } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import type { GlobalId } from '../base/ids.ts';
import { type Batch, concatBatches } from '../repr/batch.ts';
import type { Hold } from '../time/hold-set.ts';
import type { Environment } from './environment.ts';
import { hasLogTimes } from './log-times.ts';
import type { ReadTimes } from './query.ts';

export interface Transaction {
  status: 'open' | 'failed';
  /** Begun by BEGIN; an implicit one ends with its batch. */
  readonly explicit: boolean;
  /** What now() says in it. */
  readonly startedMicros: bigint;
  times: ReadTimes | undefined;
  readonly holds: Hold[];
  readonly writes: Map<GlobalId, Batch[]>;
}

export function newTransaction(env: Environment, explicit: boolean): Transaction {
  return {
    status: 'open',
    explicit,
    startedMicros: BigInt(nowMicros(env.options.clock)),
    times: undefined,
    holds: [],
    writes: new Map(),
  };
}

export function release(t: Transaction): void {
  for (const h of t.holds.splice(0)) h.release();
  t.writes.clear();
}

/**
 * From its first read on a transaction reads at one time, and logs at the time of its first read of a log: everything it might read stays
 * readable there. From when the time is chosen, for the query may take longer than anything stays readable by itself; the times are the
 * transaction's once the query has an answer, for until then it may choose others.
 */
export class TimesToFix {
  readonly #env: Environment;
  readonly #t: Transaction;
  #times: ReadTimes | undefined;
  #holds: readonly Hold[] = [];

  constructor(env: Environment, t: Transaction) {
    this.#env = env;
    this.#t = t;
  }

  /** In the turn in which they are chosen. */
  readonly chosen = (times: ReadTimes): void => {
    const earlier = this.#holds;
    this.#times = times;
    this.#holds = this.#holdsAt(times);
    for (const h of earlier) h.release();
  };

  #holdsAt(times: ReadTimes): readonly Hold[] {
    const { collections, clusters, catalog } = this.#env;
    const { times: before } = this.#t;
    const ts = before === undefined ? times.ts : undefined;
    const logs = before?.logs == null ? times.logs?.at : undefined;
    const holds: Hold[] = [];
    if (ts === undefined && logs === undefined) return holds;
    for (const { item } of catalog.loadedItems()) {
      if (ts !== undefined && collections.has(item.id) && collections.since(item.id) <= ts)
        holds.push(collections.hold(item.id, ts));
      if (item.kind !== 'index') continue;
      const instance = clusters.instances.get(item.cluster);
      if (instance === undefined || !instance.hasCollection(item.id)) continue;
      const at = hasLogTimes(catalog, item.on) ? logs : ts;
      if (at !== undefined && instance.since(item.id) <= at) holds.push(instance.hold(item.id, at));
    }
    return holds;
  }

  fix(): void {
    if (this.#times === undefined) return;
    const { ts, logs } = this.#times;
    this.#t.times = { ts, logs: this.#t.times?.logs ?? logs };
    this.#t.holds.push(...this.#holds);
    this.#holds = [];
  }

  /** What was not fixed. */
  release(): void {
    for (const h of this.#holds) h.release();
  }
}

export function addWrite(t: Transaction, id: GlobalId, batch: Batch): void {
  if (batch.length === 0) return;
  const list = t.writes.get(id);
  if (list === undefined) t.writes.set(id, [batch]);
  else list.push(batch);
}

export async function flush(env: Environment, t: Transaction): Promise<void> {
  if (t.writes.size === 0) return;
  env.leadership.refuseWrite('COMMIT');
  const updates = new Map<string, readonly Batch[]>();
  for (const [id, batches] of t.writes) {
    const shard = env.collections.has(id) ? env.collections.shardOf(id) : undefined;
    if (shard === undefined || !env.group.isMember(shard))
      throw new SqlError('undefined_table', 'a table that was written to was dropped meanwhile');
    updates.set(shard, batches.length > 1 ? [concatBatches(batches)] : batches);
  }
  t.writes.clear();
  await env.group.write({ updates });
}
