/**
 * What a replica keeps when a controller connects anew: a pure decision about the dataflows that run and those that are requested. Every
 * worker decides for itself and all alike, so it sees only what commands have said, never how far this worker has come.
 *
 * A requested dataflow is retained iff one with exactly its exports runs, and none of `CAUSES` says otherwise. What is not retained is
 * dropped and created anew; what nobody requests is dropped before anything else.
 */
import type { GlobalId } from '../base/ids.ts';
import type { Frontier } from '../time/timestamp.ts';
import type { DataflowDescription, ReconciliationOutcomes } from './protocol.ts';
import type { Cause } from './reconcile-causes.ts';
import { packData } from './wire.ts';

/** A dataflow that runs. */
export interface Running {
  /** Without the exports that were dropped. */
  readonly description: DataflowDescription;
  /** Up to where its exports were allowed to compact, at least the as-of. */
  readonly compactedTo: ReadonlyMap<GlobalId, Frontier>;
  /** Whether it was permitted to write, at its creation or since. */
  readonly mayWrite: boolean;
}

export interface Reconciliation<R extends Running> {
  /** Nobody requests them. In the order in which they were created, as all lists here. */
  readonly unrequested: readonly R[];
  /** They make way for those in `created`. */
  readonly replaced: readonly R[];
  readonly retained: ReadonlyMap<DataflowDescription, R>;
  /** To create; with a cause: it ran here and could not be kept. */
  readonly created: ReadonlyMap<DataflowDescription, Cause | null>;
}

export interface ReconcileOptions {
  /** Of shards that do not outlive the connection. */
  readonly inMemory: (shardId: string) => boolean;
  /** Log indexes, which are always retained. */
  readonly isLog: (id: GlobalId) => boolean;
}

export function reconcile<R extends Running>(
  running: readonly R[],
  requested: readonly DataflowDescription[],
  options: ReconcileOptions,
): Reconciliation<R> {
  const byExport = new Map<GlobalId, R>();
  for (const r of running) for (const id of exportsOf(r.description)) byExport.set(id, r);
  const wanted = new Set<R>();
  const retained = new Map<DataflowDescription, R>();
  const created = new Map<DataflowDescription, Cause | null>();
  const keptIndexes = new Set<GlobalId>();
  for (const d of requested) {
    const had = new Set(exportsOf(d).flatMap((id) => byExport.get(id) ?? []));
    for (const r of had) wanted.add(r);
    const [r] = had;
    if (r === undefined) {
      created.set(d, null);
      continue;
    }
    const importsKept = d.indexImports.every((i) => keptIndexes.has(i.id) || options.isLog(i.id));
    const cause = causeAgainst(r, d, options) ?? (importsKept ? null : 'import');
    if (cause !== null) created.set(d, cause);
    else {
      retained.set(d, r);
      for (const e of d.indexExports) keptIndexes.add(e.id);
    }
  }
  const kept = new Set(retained.values());
  return {
    unrequested: running.filter((r) => !wanted.has(r)),
    replaced: running.filter((r) => wanted.has(r) && !kept.has(r)),
    retained,
    created,
  };
}

function causeAgainst(r: Running, d: DataflowDescription, o: ReconcileOptions): Cause | null {
  const old = exportsOf(r.description);
  const now = exportsOf(d);
  if (old.length !== now.length || !now.every((id) => old.includes(id))) return 'exports';
  if (textOf(r.description) !== textOf(d)) return 'description';
  // The engine's own read logs, which are empty before what they have compacted to.
  if (d.internal !== true && now.some((id) => (r.compactedTo.get(id) ?? r.description.asOf) > d.asOf))
    return 'compaction';
  if (r.mayWrite && !d.mayWrite) return 'permission';
  if (d.sinkExports.some((s) => !OUTLIVES_CONNECTION[s.kind])) return 'reader';
  if (d.shardImports.some((i) => o.inMemory(i.shard))) return 'memory';
  return null;
}

/** What is told about it. */
export function outcomesOf(r: Reconciliation<Running>): ReconciliationOutcomes {
  const counts: Record<string, number> = {
    retained: r.retained.size,
    created: r.created.size,
    dropped: r.unrequested.length + r.replaced.length,
  };
  for (const cause of r.created.values()) if (cause !== null) counts[cause] = (counts[cause] ?? 0) + 1;
  return counts;
}

/** Whether a sink's results go where they are kept, and not to whoever is connected. */
const OUTLIVES_CONNECTION = {
  'materialized-view': true,
  metrics: true,
  // What it told is gone with the connection.
  subscribe: false,
  'copy-to': false,
} as const satisfies Record<DataflowDescription['sinkExports'][number]['kind'], boolean>;

function exportsOf(d: DataflowDescription): GlobalId[] {
  return [...d.indexExports, ...d.sinkExports].map((e) => e.id);
}

/** Equal texts: equal but for as-of and write flag. */
const textOf = (d: DataflowDescription): string => packData({ ...d, asOf: 0, mayWrite: true });
