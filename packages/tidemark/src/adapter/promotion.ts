/**
 * How a generation that stands by becomes the leader, and whether it is ready to.
 *
 * It is caught up when every object is hydrated here, also those that the leader has created meanwhile, and none lags by more than
 * `maxLagMs`: the lesser of now and the least upper of the shards it reads, minus its own progress. A cluster without replicas is
 * told and blocks nothing.
 *
 * The order of a promotion is what makes it safe. The generation is claimed, so that of two candidates one goes on. The catalog's
 * shard is fenced: every commit of the old leader names it, so none succeeds from here on, and what was acknowledged before is in
 * the shards. The catalog is read to its end. Tables are fenced, and the first commit, at a time after all of theirs, makes them
 * this generation's. Each output is fenced before its sink hears that it may write. Everything that can be done before the fence
 * is: writes wait for three transactions.
 */
import type { Logger } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import { systemId } from '../base/ids.ts';
import type { ItemEntity, ReplicaEntity } from '../catalog/entities.ts';
import type { Shard } from '../persist/shard.ts';
import type { Timestamp } from '../time/timestamp.ts';
import { DURABLE_BUILTIN_TABLES } from './builtin-tables.ts';
import type { Environment } from './environment.ts';
import type { Role } from './leadership.ts';
import { replicaName } from './names.ts';
import { type Missing, onceFollowed, readiness } from './readiness.ts';
import { sweepShards } from './recreate.ts';
import { loadSource } from './sources.ts';

export interface NotCaughtUp extends Omit<Missing, 'reason' | 'clusterId' | 'replicaId' | 'replica'> {
  readonly clusterId: Missing['clusterId'] | null;
  readonly replicaId: Missing['replicaId'] | null;
  readonly replica: Missing['replica'] | null;
  readonly reason: Missing['reason'] | 'no_replica' | 'no_replica_of_its_own' | 'catalog_behind';
}

export interface LeaderStatus {
  readonly role: Role;
  readonly generation: number;
  /** True of a leader. */
  readonly caughtUp: boolean;
  /** What keeps it from being caught up, and clusters without replicas, which do not. */
  readonly missing: readonly NotCaughtUp[];
}

const MAX_LAG_MS = 1000;

export function leaderStatus(env: Environment, maxLagMs: number = MAX_LAG_MS): LeaderStatus {
  const { role } = env.leadership;
  const { generation } = env.options;
  if (role === 'leader') return { role, generation, caughtUp: true, missing: [] };
  const missing = notCaughtUp(env, maxLagMs);
  return { role, generation, caughtUp: missing.every((m) => m.reason === 'no_replica'), missing };
}

function notCaughtUp(env: Environment, maxLagMs: number): readonly NotCaughtUp[] {
  const nothing = {
    ...{ objectId: null, name: null, replicaId: null, replica: null },
    ...{ stage: null, since: null, blockedBy: null, blockedByName: null },
  };
  const { catalogShard, follower } = env;
  const behindMs = follower === null ? 0 : catalogShard.upper - follower.applied;
  const behind: NotCaughtUp[] =
    behindMs > maxLagMs || (follower?.pending.size ?? 0) > 0
      ? [{ ...nothing, clusterId: null, reason: 'catalog_behind', details: { lag_ms: behindMs } }]
      : [];
  // A replica that was lost here and came back counts at once: the old generation still answers.
  const { missing, clustersWithoutReplica } = readiness(env, { maxLagMs, stableForMs: 0 });
  const foreign = foreignReplicas(env).map(
    (r): NotCaughtUp => ({
      ...{
        ...nothing,
        name: r.name,
        clusterId: r.clusterId,
        replicaId: r.id,
        replica: replicaName(env.catalog, r.id),
      },
      ...{ reason: 'no_replica_of_its_own', details: null },
    }),
  );
  const own = missing.filter((m) => !foreign.some((f) => f.replicaId === m.replicaId));
  const empty = clustersWithoutReplica.map((name): NotCaughtUp => {
    const clusterId = env.catalog.cluster(name)?.id ?? null;
    return { ...nothing, name, clusterId, reason: 'no_replica', details: null };
  });
  return [...behind, ...foreign, ...own, ...empty];
}

/** Given by address, and the old generation's: nothing runs for them here. */
const foreignReplicas = (env: Environment): readonly ReplicaEntity[] =>
  [...env.catalog.all('replica')].filter((r) => r.address !== undefined && !env.clusters.hasReplica(r.id));

/** The catalog takes the addresses of this generation's replicas over; those that it lacks are asked to serve it. */
async function adoptReplicas(env: Environment): Promise<void> {
  for (const r of foreignReplicas(env)) env.clusters.startReplica(r.clusterId, r);
  const addresses = env.options.standby?.replicas ?? new Map<string, string>();
  const moved = [...env.catalog.all('replica')].flatMap((r): { old: ReplicaEntity; now: ReplicaEntity }[] => {
    const address = addresses.get(`${env.catalog.get('cluster', r.clusterId)?.name}.${r.name}`);
    return r.address === undefined || address === undefined ? [] : [{ old: r, now: { ...r, address } }];
  });
  if (moved.length > 0)
    await env.exclusively(() =>
      env.transact({ remove: moved.map((m) => m.old), put: moved.map((m) => m.now) }),
    );
}

class NotCaughtUpError extends SqlError {
  readonly missing: readonly NotCaughtUp[];

  constructor(missing: readonly NotCaughtUp[]) {
    super('object_not_in_prerequisite_state', 'this generation is not caught up', {
      detail: missing.map((m) => `${m.name ?? m.clusterId ?? 'the catalog'}: ${m.reason}`).join('\n'),
      hint: 'wait until it is, or force the promotion',
    });
    this.missing = missing;
  }
}

const running = new WeakMap<Environment, Promise<void>>();

/** Resolves once writes are accepted here. A leader is told nothing new; calls that come together share one promotion. */
export async function promote(env: Environment, options: { readonly force?: boolean } = {}): Promise<void> {
  if (options.force !== true && !running.has(env)) {
    const status = await onceFollowed(env, () => leaderStatus(env), isCaughtUpOrLate);
    if (!status.caughtUp) throw new NotCaughtUpError(status.missing);
  }
  if (env.leadership.role === 'leader') return;
  let run = running.get(env);
  if (run === undefined) {
    run = carryOut(env).finally(() => running.delete(env));
    running.set(env, run);
  }
  await run;
}

/** What lags may be one tick of the leader behind, as everything is right after it: asked in that instant it is not refused. */
const isCaughtUpOrLate = ({ caughtUp, missing }: LeaderStatus): boolean =>
  caughtUp || missing.some((m) => !PASSING.has(m.reason));

const PASSING: ReadonlySet<NotCaughtUp['reason']> = new Set(['lagging', 'catalog_behind', 'no_replica']);

async function carryOut(env: Environment): Promise<void> {
  const { leadership, options } = env;
  await leadership.confirm();
  await env.collections.checkLeases();
  await options.standby!.claim();
  leadership.become('promoting');
  const fromNs = options.clock.monotonicNs();
  try {
    await fence(env, () => {
      const ms = Math.round((options.clock.monotonicNs() - fromNs) / 1e6);
      options.logger.info({ generation: options.generation, ms }, 'promoted: writes are accepted here');
    });
  } catch (error) {
    // The old generation is fenced, or may be: nobody writes until one of them starts anew.
    options.logger.error({ error }, 'a promotion failed halfway');
    const detail = error instanceof Error ? error.message : String(error);
    throw leadership.end('a promotion failed halfway', detail, 'start this process again, and promote it');
  }
  void afterwards(env, options.logger);
}

async function fence(env: Environment, accepted: () => void): Promise<void> {
  const { catalogShard, collections, leadership, oracle } = env;
  await env.takeOver(catalogShard);
  await env.follower!.reach(catalogShard.upper);
  await env.follower!.createPending();
  for (const id of env.follower!.pending)
    env.hydration.cannotMaintain(id, 'it was not caught up when this process was promoted');
  await env.follower!.stop();
  const sources: ItemEntity[] = [];
  const join: { shard: Shard; store: 'durable' }[] = [{ shard: catalogShard, store: 'durable' }];
  for (const { number } of DURABLE_BUILTIN_TABLES)
    join.push({ shard: collections.shard(systemId(number)), store: 'durable' });
  for (const { item, entity } of env.catalog.loadedItems()) {
    if (!collections.has(item.id) || (item.kind !== 'table' && item.kind !== 'source')) continue;
    const shard = collections.shard(item.id);
    if (item.kind === 'source') sources.push(entity!);
    join.push({ shard, store: 'durable' });
  }
  // Asked for in one turn, they share a transaction.
  await Promise.all(join.map((j) => env.takeOver(j.shard)));
  const loading = new Set(sources.filter((e) => collections.shard(e.id).upper === 0).map((e) => e.shard));
  const members = join.filter((j) => !loading.has(j.shard.shardId));
  oracle.leadAfter(Math.max(...members.map((j) => j.shard.upper)) as Timestamp);
  await env.group.write({ join: members });
  oracle.leads();
  leadership.become('leader');
  accepted();
  env.follower = null;
  await env.catalogHistory.lead(catalogShard);
  await env.history.lead();
  for (const e of sources) loadSource.resume(env, e);
  await permitSinks(env);
  await adoptReplicas(env);
  env.options.standby!.onLeading?.();
}

/** Before an AllowWrites is sent its output is this generation's, so that the old one's append cannot come after it. */
async function permitSinks(env: Environment): Promise<void> {
  const { collections, leadership } = env;
  await Promise.all(
    [...leadership.heldBack].map(async ([id, clusterId]) => {
      leadership.heldBack.delete(id);
      const output = env.catalog.objectOf(id);
      if (!collections.has(output)) return;
      await env.handOver(collections.shard(output), id).catch((error: unknown) => {
        // Dropped meanwhile.
        if (collections.has(output)) throw error;
      });
      env.clusters.instances.get(clusterId)?.allowWrites(id);
    }),
  );
}

/** What may take its time: durable holds of its own, and what the old generation left lying. */
async function afterwards(env: Environment, logger: Logger): Promise<void> {
  try {
    await env.collections.lead();
    await env.exclusively(() => sweepShards(env));
  } catch (error) {
    logger.warn({ error }, 'what the old generation left was not all removed');
  }
}
