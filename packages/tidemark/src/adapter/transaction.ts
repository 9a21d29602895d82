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
 * readable there.
 */
export function fixTimes(env: Environment, t: Transaction, times: ReadTimes): void {
  const { collections, clusters, catalog } = env;
  const { times: before } = t;
  const ts = before === undefined ? times.ts : undefined;
  const logs = before?.logs == null ? times.logs?.at : undefined;
  if (ts === undefined && logs === undefined) return;
  t.times = times;
  for (const { item } of catalog.loadedItems()) {
    if (ts !== undefined && collections.has(item.id) && collections.since(item.id) <= ts)
      t.holds.push(collections.hold(item.id, ts));
    if (item.kind !== 'index') continue;
    const instance = clusters.instances.get(item.cluster);
    if (instance === undefined || !instance.hasCollection(item.id)) continue;
    const at = hasLogTimes(catalog, item.on) ? logs : ts;
    if (at !== undefined && instance.since(item.id) <= at) t.holds.push(instance.hold(item.id, at));
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
