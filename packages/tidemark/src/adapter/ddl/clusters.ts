/** CREATE CLUSTER and its replicas; CREATE SCHEMA and DATABASE; COMMENT ON. */
import { assert } from '../../base/assert.ts';
import { SqlError, unsupported } from '../../base/error.ts';
import { type ClusterId, type GlobalId, idClass, type ReplicaId } from '../../base/ids.ts';
import {
  type ClusterEntity,
  type CommentEntity,
  commentedKind,
  type Entity,
  type ReplicaEntity,
} from '../../catalog/entities.ts';
import type { ClusterPlan, ObjectRef, Options, Plan, ReplicaPlan } from '../../plan/statement/plan.ts';
import type { Environment } from '../environment.ts';
import { type Notify, replacedBy } from './create.ts';
import {
  CLUSTER_OPTIONS,
  flag,
  introspectionInterval,
  memoryLimit,
  onlyOptions,
  REPLICA_OPTIONS,
  replicaAddress,
  replicaIntrospection,
  replicaSize,
} from './options.ts';

/** As many replicas as anybody has a use for; a slip of the finger should not start a thousand threads. */
const MAX_REPLICAS = 16;

export async function createCluster(
  env: Environment,
  plan: Extract<ClusterPlan, { kind: 'createCluster' }>,
  notify: Notify,
): Promise<void> {
  const { name, options } = plan;
  if (env.catalog.cluster(name) !== undefined) {
    if (!plan.ifNotExists) throw new SqlError('duplicate_object', `cluster "${name}" already exists`);
    notify(`cluster "${name}" already exists, skipping`);
    return;
  }
  onlyOptions(options, CLUSTER_OPTIONS, 'a cluster');
  const wanted = wantedReplicas(plan);
  const id = env.catalog.allocate('cluster');
  const clusterId = `u${id.first}` as ClusterId;
  const cluster: ClusterEntity = {
    kind: 'cluster',
    id: clusterId,
    number: id.first,
    name,
    size: options['size'] === undefined ? null : replicaSize(options['size']).size,
    introspectionIntervalMs: introspectionInterval(options),
    introspectionDebugging: flag(options, 'introspection debugging'),
    ...memoryLimit(options),
  };
  const made = newReplicas(env, clusterId, wanted);
  const put = [id.change, cluster, ...made.entities];
  await env.transact({ remove: replacedBy(env, put), put });
  env.clusters.startCluster(clusterId);
  for (const r of made.replicas) env.clusters.startReplica(clusterId, r);
}

/** `REPLICAS (…)`, or as many of the size as the replication factor says: one, unless it says otherwise. */
function wantedReplicas(plan: Extract<ClusterPlan, { kind: 'createCluster' }>): readonly NewReplica[] {
  const { options, replicas } = plan;
  const managed = options['managed'] === undefined ? replicas === undefined : flag(options, 'managed');
  if (!managed || replicas !== undefined) {
    for (const o of ['size', 'replication factor', 'memory limit'])
      if (options[o] !== undefined)
        throw new SqlError('syntax_error', `a cluster has either ${o.toUpperCase()} or REPLICAS`);
    if (managed) throw new SqlError('syntax_error', 'a cluster that lists its REPLICAS is not managed');
    return distinct(replicas ?? []).map(declaredReplica);
  }
  if (options['size'] === undefined)
    throw new SqlError('invalid_parameter_value', 'a cluster needs SIZE or REPLICAS', {
      hint: "e.g. CREATE CLUSTER c (SIZE '2'), or CREATE CLUSTER c REPLICAS ()",
    });
  const own = { ...replicaSize(options['size']), ...memoryLimit(options) };
  return managedNames(replicationFactor(options) ?? 1).map((name) => ({ name, ...own }));
}

function distinct(replicas: readonly ReplicaPlan[]): readonly ReplicaPlan[] {
  const names = new Set<string>();
  for (const { name } of replicas) {
    if (names.has(name)) throw new SqlError('duplicate_object', `replica "${name}" is named more than once`);
    names.add(name);
  }
  return replicas;
}

export function replicationFactor(options: Options): number | undefined {
  if (options['replication factor'] === undefined) return undefined;
  const factor = Number(options['replication factor']);
  if (!Number.isInteger(factor) || factor < 0 || factor > MAX_REPLICAS)
    throw new SqlError(
      'invalid_parameter_value',
      `REPLICATION FACTOR is a whole number from 0 to ${MAX_REPLICAS}`,
    );
  return factor;
}

/** What the replicas of a managed cluster are called. */
export const managedNames = (factor: number): readonly string[] =>
  Array.from({ length: factor }, (_, i) => `r${i + 1}`);

/** What is chosen of a replica. */
type NewReplica = Omit<ReplicaEntity, 'kind' | 'id' | 'clusterId'>;

function declaredReplica({ name, options }: ReplicaPlan): NewReplica {
  onlyOptions(options, REPLICA_OPTIONS, 'a replica');
  return { name, ...placeOf(options), ...replicaIntrospection(options) };
}

export function newReplicas(
  env: Environment,
  clusterId: ClusterId,
  wanted: readonly NewReplica[],
): { readonly entities: readonly Entity[]; readonly replicas: readonly ReplicaEntity[] } {
  if (wanted.length === 0) return { entities: [], replicas: [] };
  const ids = env.catalog.allocate('replica', wanted.length);
  const replicas = wanted.map(
    (w, i): ReplicaEntity => ({ kind: 'replica', id: `u${ids.first + i}` as ReplicaId, clusterId, ...w }),
  );
  refuseSharedAddress(env, replicas);
  return { entities: [ids.change, ...replicas], replicas };
}

/** A process serves one replica: two would take it from each other again and again. */
function refuseSharedAddress(env: Environment, made: readonly ReplicaEntity[]): void {
  const taken = new Map([...env.catalog.all('replica')].map((r) => [r.address, r]));
  for (const r of made) {
    const { address } = r;
    const other = address === undefined ? undefined : taken.get(address);
    if (other !== undefined) {
      const cluster = env.catalog.get('cluster', other.clusterId)?.name;
      throw new SqlError(
        'invalid_parameter_value',
        `"${address}" is the address of replica ${cluster === undefined ? '' : `${cluster}.`}${other.name}`,
        {
          hint: 'each replica has a process of its own',
        },
      );
    }
    taken.set(address, r);
  }
}

/** Either this process runs it, in a size; or it runs elsewhere. */
function placeOf(options: Options): Pick<ReplicaEntity, 'size' | 'workers' | 'address' | 'memoryLimitBytes'> {
  if (options['addresses'] === undefined && options['workers'] === undefined) {
    if (options['size'] === undefined)
      throw new SqlError('invalid_parameter_value', 'a replica needs SIZE, or ADDRESSES and WORKERS', {
        hint: "e.g. (SIZE '2'), or (ADDRESSES ('127.0.0.1:6900'), WORKERS 2)",
      });
    return { ...replicaSize(options['size']), ...memoryLimit(options) };
  }
  if (options['size'] !== undefined)
    throw new SqlError('syntax_error', 'a replica has either SIZE, or ADDRESSES and WORKERS');
  if (options['addresses'] === undefined || options['workers'] === undefined)
    throw new SqlError('invalid_parameter_value', 'a replica elsewhere needs ADDRESSES and WORKERS', {
      hint: "e.g. (ADDRESSES ('127.0.0.1:6900'), WORKERS 2)",
    });
  if (options['memory limit'] !== undefined)
    throw unsupported('MEMORY LIMIT of a replica elsewhere', {
      hint: 'the process that runs it bounds its memory',
    });
  return { ...replicaSize(String(options['workers'])), address: replicaAddress(options['addresses']) };
}

export async function createClusterReplica(
  env: Environment,
  plan: Extract<ClusterPlan, { kind: 'createClusterReplica' }>,
  notify: Notify,
): Promise<void> {
  const cluster = env.catalog.clusterById(plan.cluster)!;
  refuseSystem(plan.cluster);
  refuseManaged(env, plan.cluster);
  if (cluster.replicas.some((r) => r.name === plan.replica.name)) {
    const message = `cluster replica "${cluster.name}.${plan.replica.name}" already exists`;
    if (!plan.ifNotExists) throw new SqlError('duplicate_object', message);
    notify(`${message}, skipping`);
    return;
  }
  const made = newReplicas(env, plan.cluster, [declaredReplica(plan.replica)]);
  await env.transact({ remove: replacedBy(env, made.entities), put: made.entities });
  for (const r of made.replicas) env.clusters.startReplica(plan.cluster, r);
}

export function refuseSystem(id: string): void {
  if (idClass(id) === 'system')
    throw new SqlError('insufficient_privilege', 'the system cluster cannot be changed');
}

/** Its replicas follow from its size and factor: one that came or went by itself would contradict them. */
export function refuseManaged(env: Environment, id: ClusterId): void {
  const { size, name } = env.catalog.get('cluster', id)!;
  if (size === null) return;
  throw new SqlError('object_not_in_prerequisite_state', `cannot modify managed cluster "${name}"`, {
    hint: `use ALTER CLUSTER ${name} SET (REPLICATION FACTOR n), or first ALTER CLUSTER ${name} SET (MANAGED = false)`,
  });
}

export async function createSchema(
  env: Environment,
  plan: Extract<Plan, { kind: 'createSchema' }>,
  database: string,
  notify: Notify,
): Promise<void> {
  const [name, inDatabase = database] = [...plan.name].reverse() as [string, string?];
  const db = env.catalog.database(inDatabase);
  if (db === undefined) throw new SqlError('invalid_catalog_name', `database "${inDatabase}" does not exist`);
  if (env.catalog.schema(name, inDatabase) !== undefined) {
    if (!plan.ifNotExists) throw new SqlError('duplicate_schema', `schema "${name}" already exists`);
    notify(`schema "${name}" already exists, skipping`);
    return;
  }
  if (name.startsWith('mz_') || name.startsWith('pg_'))
    throw new SqlError('reserved_name', `schema name "${name}" is reserved`, {
      detail: 'names that begin with mz_ or pg_ belong to the system',
    });
  const id = env.catalog.allocate('schema');
  const oid = env.catalog.allocate('oid');
  const put: Entity[] = [
    id.change,
    oid.change,
    { kind: 'schema', id: `u${id.first}`, oid: oid.first, databaseId: db.id, name },
  ];
  await env.transact({ remove: replacedBy(env, put), put });
}

export async function createDatabase(
  env: Environment,
  plan: Extract<Plan, { kind: 'createDatabase' }>,
  notify: Notify,
): Promise<void> {
  if (env.catalog.database(plan.name) !== undefined) {
    if (!plan.ifNotExists) throw new SqlError('duplicate_database', `database "${plan.name}" already exists`);
    notify(`database "${plan.name}" already exists, skipping`);
    return;
  }
  const put = newDatabase(env, plan.name);
  await env.transact({ remove: replacedBy(env, put), put });
}

/** A database, and its schema `public`. */
function newDatabase(env: Environment, name: string): readonly Entity[] {
  const id = env.catalog.allocate('database');
  const schema = env.catalog.allocate('schema');
  const oids = env.catalog.allocate('oid', 2);
  const databaseId = `u${id.first}`;
  return [
    id.change,
    schema.change,
    oids.change,
    { kind: 'database', id: databaseId, oid: oids.first, name },
    { kind: 'schema', id: `u${schema.first}`, oid: oids.first + 1, databaseId, name: 'public' },
  ];
}

/** What a new data directory begins with: a database, and a cluster. */
export async function bootstrap(env: Environment, database: string, workers: number): Promise<void> {
  const put = newDatabase(env, database);
  await env.transact({ put });
  await createCluster(
    env,
    {
      kind: 'createCluster',
      name: 'quickstart',
      ifNotExists: true,
      options: { size: String(workers) },
      replicas: undefined,
    },
    () => undefined,
  );
}

export async function comment(env: Environment, plan: Extract<Plan, { kind: 'comment' }>): Promise<void> {
  const { object } = plan;
  if (object.id === undefined) throw unsupported(`COMMENT ON ${object.objectType.toUpperCase()}`);
  const { objectType } = object;
  refuseSystemComment(env, object);
  const objectId = objectType === 'cluster replica' ? replicaNamed(env, object) : object.id;
  const column = plan.column === undefined ? null : plan.column + 1;
  const kind = commentedKind({ objectType });
  const id = `${kind} ${objectId}.${column ?? 0}`;
  const old = env.catalog.commentsOn([{ kind, id: objectId }]).filter((c) => c.column === column);
  const entity: CommentEntity[] =
    plan.comment === undefined
      ? []
      : [{ kind: 'comment', id, objectId, objectType, column, comment: plan.comment }];
  await env.transact({ remove: old, put: entity });
}

/** Builtin relations say about themselves what they are. */
function refuseSystemComment(env: Environment, { id, objectType, parts }: ObjectRef): void {
  if (commentedKind({ objectType }) !== 'item') refuseSystem(id!);
  else if (env.catalog.loaded(id as GlobalId)?.entity === null)
    throw new SqlError('insufficient_privilege', `system object "${parts.at(-1)}" cannot be changed`);
}

/** The planner found its cluster, and that there is one of that name. */
function replicaNamed(env: Environment, { id, parts }: ObjectRef): ReplicaId {
  const replica = env.catalog.replicasOf(id as ClusterId).find((r) => r.name === parts.at(-1));
  assert(replica !== undefined, `replica ${parts.join('.')} was found by the planner`);
  return replica.id;
}
