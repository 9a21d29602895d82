/**
 * Runs a one-off query: chooses its cluster and its time, reads through an index or a shard where that is all it takes, and otherwise
 * builds a dataflow for it, reads that once, and drops it.
 */
import { SqlError } from '../base/error.ts';
import type { ClusterId, GlobalId, ReplicaId } from '../base/ids.ts';
import type { IndexItem, RelationItem } from '../catalog/catalog-reader.ts';
import { orderAndCut, projected } from '../compute/finishing.ts';
import type { PeekTarget } from '../compute/protocol.ts';
import { GoneError } from '../controller/peeks.ts';
import { sqlErrorOf } from '../expr/eval-error.ts';
import { identityMfp, type Mfp } from '../expr/scalar.ts';
import { losesAnswers } from '../persist/log.ts';
import { takeMfp } from '../plan/mfp.ts';
import { columnsOf, type Mir } from '../plan/mir.ts';
import { fastPath as indexRead } from '../plan/peek.ts';
import type { QueryPlan } from '../plan/plan-query.ts';
import { type Batch, consolidate } from '../repr/batch.ts';
import { batchOf } from '../repr/rows.ts';
import type { RelationDesc, Row } from '../repr/types.ts';
import { EMPTY, type Timestamp } from '../time/timestamp.ts';
import { type CatalogRows, mayFold, withCatalogRows } from './catalog-rows.ts';
import { SYSTEM_CLUSTER } from './clusters.ts';
import {
  type BuiltPlan,
  boundsOf,
  buildPlan,
  type DataflowContext,
  type Imports,
  liveIndexes,
  transientDataflow,
} from './dataflows.ts';
import { dataflowContext } from './ddl/create.ts';
import type { Environment } from './environment.ts';
import { hasLogTimes, livingCluster, newestLogTime, notConnected, replicaOf } from './log-times.ts';
import { replicaName } from './names.ts';
import { refuseFailed } from './reader-failures.ts';

/** Where a session's queries run. */
export interface Place {
  /** The session's cluster; undefined: it names none that exists. */
  readonly clusterId: ClusterId | undefined;
  readonly clusterName: string;
  /** The replica that the session wants; empty: any. */
  readonly replicaName: string;
  /** To the client, while the query goes on. */
  readonly notice: (message: string) => void;
}

export interface QueryOptions extends Place {
  readonly signal: AbortSignal;
  /** Trades freshness for never waiting. */
  readonly serializable: boolean;
  /** The transaction's times, where one is open and has read before. */
  readonly times?: ReadTimes | undefined;
  /** Later queries will read at the same time. */
  readonly repeatable: boolean;
  /** Told the times before they are waited for; more than once if the query finds another way. */
  readonly chosen?: (times: ReadTimes) => void;
}

/** When a query reads: tables and what derives from them at `ts`, per-replica logs at `logs`. */
export interface ReadTimes {
  readonly ts: Timestamp;
  readonly logs: LogTime | null;
}

export interface LogTime {
  readonly at: Timestamp;
  /** The replica, and which of its lives: another one has other logs. */
  readonly of: string;
}

export interface QueryResult {
  /** Consolidated, finished; diffs are multiplicities. */
  readonly rows: Batch;
  readonly desc: RelationDesc;
  /** Null: nothing was read. */
  readonly times: ReadTimes | null;
}

export async function runQuery(
  env: Environment,
  plan: QueryPlan,
  options: QueryOptions,
): Promise<QueryResult> {
  for (let tries = 1; ; tries++)
    try {
      return await run(env, plan, options);
    } catch (error) {
      const gone = error instanceof GoneError;
      if (!gone && !(error instanceof SqlError && error.code === 'undefined_object')) throw error;
      // Its shard went under the query: that is no fault of the store.
      if (plan.reads.some((id) => env.catalog.item(id) === undefined))
        throw new SqlError('undefined_table', 'a relation that the query reads was dropped meanwhile', {
          cause: error,
        });
      if (!gone) throw error;
      // An index went, what it arranges did not: read another way, unless the plan stands on the index.
      if (
        tries < MAX_TRIES &&
        plan.reads.every((id) => env.collections.has(id) || hasLogTimes(env.catalog, id))
      )
        continue;
      throw new SqlError('serialization_failure', 'an index that the query reads was dropped meanwhile', {
        hint: 'run it again',
        cause: error,
      });
    }
}

/** How often a query finds another way to read what an index was dropped from. */
const MAX_TRIES = 3;

async function run(env: Environment, plan: QueryPlan, options: QueryOptions): Promise<QueryResult> {
  const { finishing, desc } = plan;
  if (plan.mir.op === 'Constant') return { rows: constantRows(plan), desc, times: null };
  const { c, mir, replicaId, logs } = await placeRead(env, plan, options);
  if (mir.op === 'Constant') return { rows: constantRows({ ...plan, mir }), desc, times: null };
  const fast = fastPath(c, mir);
  const built = fast === null ? withLogs(buildPlan(c, mir), c, logs) : null;
  const ts = timeOf(env, c, fast ?? built!, options);
  const times = { ts, logs };
  options.chosen?.(times);
  const peek = { finishing: { ...finishing }, desc: descOf(mir), replicaId, signal: options.signal };
  if (fast !== null) {
    const timestamp = fast.isLog ? logs!.at : ts;
    const rows = await c.instance.peek({ ...peek, ...fast, timestamp });
    return { rows, desc, times };
  }
  return { rows: await peekDataflow(env, c, built!, peek, ts), desc, times };
}

/** What a dataflow for the query needs to know, whatever comes out of it. */
export async function prepareRead(
  env: Environment,
  plan: QueryPlan,
  options: QueryOptions,
): Promise<{
  readonly c: DataflowContext;
  readonly built: BuiltPlan;
  readonly ts: Timestamp;
  /** Columns before the finishing's projection. */
  readonly mirDesc: RelationDesc;
  readonly replicaId: ReplicaId | undefined;
}> {
  const { c, mir, replicaId, logs } = await placeRead(env, plan, options);
  const built = withLogs(buildPlan(c, mir), c, logs);
  const ts = timeOf(env, c, built, options);
  options.chosen?.({ ts, logs });
  return { c, built, ts, mirDesc: descOf(mir), replicaId };
}

/** Where a query runs, and when it reads logs. */
async function placeRead(
  env: Environment,
  plan: QueryPlan,
  options: QueryOptions,
): Promise<{
  readonly c: DataflowContext;
  readonly mir: Mir;
  readonly replicaId: ReplicaId | undefined;
  readonly logs: LogTime | null;
}> {
  refuseFailed(env, plan.reads);
  const c = readableAt(clusterOf(env, plan, options), options.times);
  if (!options.serializable && options.times === undefined)
    await confirm(env, c, { plan, signal: options.signal });
  if (options.times === undefined && tellsPresent(env, plan.reads)) env.hydration.refreshQueue();
  const mir = options.times === undefined ? workedIn(env, plan, { c, options }) : plan.mir;
  const { logReads, replicaId } = answeredBy(env, c, plan.reads, options);
  if (mir.op !== 'Constant') tellWait(env, c, { replicaId, notice: options.notice });
  const logs = logReads.length === 0 ? null : logTime(c, replicaId!, logReads, options.times);
  return { c, mir, replicaId, logs };
}

function logTime(
  c: DataflowContext,
  replicaId: ReplicaId,
  logReads: readonly GlobalId[],
  times: ReadTimes | undefined,
): LogTime {
  const of = `${replicaId} ${c.instance.lives.incarnation(replicaId) ?? ''}`;
  const fixed = times?.logs;
  if (fixed == null) return { at: newestLogTime(c, replicaId, logReads), of };
  if (fixed.of === of) return fixed;
  throw new SqlError(
    'serialization_failure',
    'this transaction has read logs of another replica, or of this one before it was lost',
    { hint: 'COMMIT, and read these in another one' },
  );
}

/**
 * The logs among what is read, and the replica that must answer; undefined: any. Logs are observed, not waited for: of a replica that
 * is not connected there is nothing to see.
 */
export function answeredBy(
  env: Environment,
  { clusterId, instance }: DataflowContext,
  reads: readonly GlobalId[],
  { replicaName }: Pick<Place, 'replicaName'>,
): { readonly logReads: readonly GlobalId[]; readonly replicaId: ReplicaId | undefined } {
  const logReads = reads.filter((id) => hasLogTimes(env.catalog, id));
  const replicaId = replicaOf(env.catalog, clusterId, {
    name: clusterId === SYSTEM_CLUSTER.id ? '' : replicaName,
    readsLogs: logReads.length > 0,
  });
  if (logReads.length > 0 && !instance.isConnected(replicaId!)) throw notConnected(env.catalog, replicaId!);
  return { logReads, replicaId };
}

/** Tells a client that will wait because no replica is connected that can answer. */
export function tellWait(
  env: Environment,
  { clusterId, instance }: DataflowContext,
  { replicaId, notice }: { readonly replicaId: ReplicaId | undefined } & Pick<Place, 'notice'>,
): void {
  if (replicaId === undefined ? instance.replicas.length > 0 : instance.isConnected(replicaId)) return;
  const who =
    replicaId === undefined
      ? `no replica of cluster "${env.catalog.get('cluster', clusterId)!.name}" is`
      : `replica "${replicaName(env.catalog, replicaId)}" is not`;
  notice(`${who} connected: waiting`);
}

/** What replicas log about themselves is as new as it is; the catalog also answers while the store does not. */
async function confirm(
  env: Environment,
  c: DataflowContext,
  { plan, signal }: { readonly plan: QueryPlan; readonly signal: AbortSignal },
): Promise<void> {
  if (plan.reads.every((id) => hasLogTimes(env.catalog, id))) return;
  await env.leadership.confirm(signal).catch((error: unknown) => {
    if (c.clusterId !== SYSTEM_CLUSTER.id || !losesAnswers(error)) throw error;
  });
}

/** Catalog tables larger than this are read from their shards. */
const INLINE_ROWS = 5000;

/**
 * The plan with the catalog rows that may travel with it. Rows about the present go to the system cluster too: in the books they are newer
 * than in their shard, which is where they are at a time that can be read again. What is asked of the catalog alone is answered here,
 * if the plan is simple enough: without a worker it takes no longer while all of them are busy.
 */
function workedIn(
  env: Environment,
  { mir, reads }: Pick<QueryPlan, 'mir' | 'reads'>,
  o: { readonly c: DataflowContext; readonly options: QueryOptions },
): Mir {
  const { repeatable } = o.options;
  if (o.c.clusterId !== SYSTEM_CLUSTER.id)
    return withCatalogRows(mir, catalogRows(env, repeatable ? 'repeatable' : 'all'));
  if (repeatable) return mir;
  const whole = mayFold(mir) ? withCatalogRows(mir, catalogRows(env, 'all')) : mir;
  if (whole.op === 'Constant') return whole;
  // What the present is joined with need not be read from shards either: on busy cores that took 370 ms at p99, this 3.
  return tellsPresent(env, reads) ? withCatalogRows(mir, catalogRows(env, 'all')) : mir;
}

/** Whether rows about the present are among what is read. */
const tellsPresent = (env: Environment, reads: readonly GlobalId[]): boolean =>
  reads.some((id) => env.builtinTable(id)?.kept === 'live');

function catalogRows(env: Environment, choice: 'all' | 'repeatable'): CatalogRows {
  return {
    choice,
    versionOf: (id) => env.builtinVersion(id),
    rowsOf: (id) => {
      const kept = env.builtinTable(id)?.kept;
      if (kept === undefined || kept === 'durable' || (kept === 'live' && choice === 'repeatable'))
        return undefined;
      const rows = env.builtinRows(id);
      return rows.length > INLINE_ROWS ? undefined : rows;
    },
  };
}

function descOf(mir: Mir): RelationDesc {
  return { columns: columnsOf(mir).map((c, i) => ({ name: `c${i}`, ...c })), keys: [] };
}

function constantRows(plan: Pick<QueryPlan, 'mir' | 'finishing'>): Batch {
  const { mir, finishing } = plan;
  if (mir.op !== 'Constant') throw new SqlError('internal_error', 'a constant plan is constant');
  if ('error' in mir.rows) throw sqlErrorOf(mir.rows.error);
  const types = mir.columns.map((c) => c.type);
  const rows = consolidate(
    batchOf(
      types,
      mir.rows.map((r) => r.row),
      { diffs: mir.rows.map((r) => r.diff) },
    ),
  );
  return projected(orderAndCut(rows, types, finishing), finishing.project);
}

/** What is asked of the catalog alone is answered by the system cluster, whatever the session's is. */
export function clusterOf(
  env: Environment,
  plan: QueryPlan,
  options: Pick<Place, 'clusterId' | 'clusterName'>,
): DataflowContext {
  const system = plan.reads.every((id) => env.catalog.item(id)?.kind === 'builtin-table');
  if (system) return dataflowContext(env, SYSTEM_CLUSTER.id);
  if (options.clusterId === undefined)
    throw new SqlError('undefined_object', `unknown cluster '${options.clusterName}'`, {
      hint: 'SET cluster to one that exists; SHOW CLUSTERS lists them',
    });
  return dataflowContext(env, livingCluster(env.catalog, options.clusterId).id);
}

function withLogs(built: BuiltPlan, c: DataflowContext, logs: LogTime | null): BuiltPlan {
  if (logs === null) return built;
  return {
    ...built,
    indexImports: built.indexImports.map((i) =>
      hasLogTimes(c.catalog, i.onId) ? { ...i, frozenAt: logs.at } : i,
    ),
  };
}

/** A read that needs no dataflow: of one collection, through map, filter and projection. */
interface FastPath {
  readonly target: PeekTarget;
  readonly literalKeys: readonly Row[] | null;
  readonly mfp: Mfp;
  readonly isLog: boolean;
  readonly shardImports: BuiltPlan['shardImports'];
  readonly indexImports: BuiltPlan['indexImports'];
}

function fastPath(c: DataflowContext, mir: Mir): FastPath | null {
  const found = indexRead(mir, { cluster: c.clusterId, indexes: (id) => liveIndexes(c, id) });
  if (found?.kind === 'index') {
    const item = c.catalog.item(found.id) as RelationItem;
    const { key, mfp, literals = null } = found;
    return {
      target: { kind: 'index', id: found.index, keyTypes: key.map((k) => item.desc.columns[k]!.type) },
      literalKeys: literals,
      mfp,
      isLog: hasLogTimes(c.catalog, item.id),
      shardImports: [],
      indexImports: [{ id: found.index, onId: item.id, key, desc: item.desc }],
    };
  }
  const { mfp, input } = takeMfp(mir);
  if (input.op !== 'Get' || !c.shards.has(input.id)) return null;
  const { desc } = c.catalog.item(input.id) as RelationItem;
  const shard = c.shards.shardOf(input.id);
  return {
    target: { kind: 'shard', id: input.id, shard, desc },
    literalKeys: null,
    mfp,
    isLog: false,
    shardImports: [{ id: input.id, shard, desc }],
    indexImports: [],
  };
}

/**
 * In a transaction that has read: without the indexes that are not readable at its times, for what they arrange often is. A log has its
 * indexes alone.
 */
export function readableAt(c: DataflowContext, times: ReadTimes | undefined): DataflowContext {
  if (times === undefined) return c;
  const isUsable = (index: GlobalId): boolean => {
    const { on } = c.catalog.item(index) as IndexItem;
    const at = hasLogTimes(c.catalog, on) ? times.logs?.at : times.ts;
    return at === undefined || c.catalog.item(on)?.kind === 'log' || c.instance.since(index) <= at;
  };
  return { ...c, isUsable };
}

/** A transaction's, or the time that suits what is read. */
function timeOf(
  env: Environment,
  c: DataflowContext,
  { shardImports, indexImports }: Imports,
  { times, serializable }: Pick<QueryOptions, 'times' | 'serializable'>,
): Timestamp {
  const own = indexImports.filter((i) => !hasLogTimes(c.catalog, i.onId));
  if (times === undefined) return chooseTime(env, c, { shardImports, indexImports: own }, serializable);
  const late = [
    ...shardImports.filter((i) => c.shards.since(i.id) > times.ts).map((i) => i.id),
    ...own.filter((i) => c.instance.since(i.id) > times.ts).map((i) => i.onId),
  ];
  if (late.length === 0) return times.ts;
  const { name } = c.catalog.item(late[0]!)!;
  throw new SqlError(
    'serialization_failure',
    `"${name.item}" cannot be read at the time of this transaction: it is not as old`,
    { hint: 'COMMIT, and read it in another one' },
  );
}

function chooseTime(
  env: Environment,
  c: DataflowContext,
  imports: Imports,
  serializable: boolean,
): Timestamp {
  const bounds = boundsOf(c, imports);
  if (serializable)
    return Math.max(bounds.since, bounds.upper === EMPTY ? env.oracle.readTime : bounds.upper - 1);
  // What this process alone writes is read as it is, also where the leader stands still.
  const isOwn = [...imports.shardImports.map((i) => i.id), ...imports.indexImports.map((i) => i.onId)].every(
    (id) => c.catalog.item(id)?.kind === 'builtin-table' || hasLogTimes(c.catalog, id),
  );
  return Math.max(bounds.since, isOwn ? env.oracle.ownReadTime : env.oracle.readTime);
}

type PeekCommon = Pick<
  Parameters<DataflowContext['instance']['peek']>[0],
  'finishing' | 'desc' | 'replicaId' | 'signal'
>;

async function peekDataflow(
  env: Environment,
  c: DataflowContext,
  built: BuiltPlan,
  peek: PeekCommon,
  ts: Timestamp,
): Promise<Batch> {
  const id = env.nextTransient();
  c.instance.createDataflow({ ...transientDataflow(id, built, peek.desc), asOf: ts }, peek.replicaId);
  try {
    return await c.instance.peek({
      ...peek,
      target: { kind: 'index', id, keyTypes: peek.desc.columns.map((col) => col.type) },
      literalKeys: null,
      timestamp: ts,
      mfp: identityMfp(peek.desc.columns.length),
    });
  } finally {
    c.instance.drop([id]);
  }
}
