/** Clusters and their replicas; DROP, ALTER and COMMENT. */
import { SqlError, unsupported } from '../../base/error.ts';
import type { GlobalId } from '../../base/ids.ts';
import { isRelation } from '../../catalog/catalog-reader.ts';
import { type as sqlType } from '../../repr/types.ts';
import type { ObjectName } from '../../sql/ast.ts';
import type {
  ClusterReplicaDef,
  CommentStatement,
  DropStatement,
  Statement,
} from '../../sql/ast-statement.ts';
import { newBinder } from '../bind/binder.ts';
import { constantOf } from './dml.ts';
import { clusterNamed, findObject, missingObject, objectNamed, partsOf } from './names.ts';
import { readOptions } from './options.ts';
import type { AlterPlan, Options, Plan, ReplicaPlan, StatementContext } from './plan.ts';

type Of<K extends Statement['kind']> = Extract<Statement, { kind: K }>;

const replicaPlan = (r: ClusterReplicaDef): ReplicaPlan => ({
  name: r.name.name,
  options: readOptions(r.options, REPLICA_OPTIONS),
});
const REPLICA_OPTIONS = [
  'size',
  'addresses',
  'workers',
  'introspection interval',
  'introspection debugging',
  'memory limit',
  'availability zone',
  'internal',
];
const CLUSTER_OPTIONS = [
  'size',
  'replication factor',
  'replicas',
  'introspection interval',
  'introspection debugging',
  'managed',
  'schedule',
  'memory limit',
  'workload class',
  'hydration concurrency',
];

export function planCreateCluster(s: Of<'createCluster'>): Plan {
  return {
    kind: 'createCluster',
    name: s.name.name,
    ifNotExists: s.ifNotExists,
    options: readOptions(s.options, CLUSTER_OPTIONS),
    replicas: s.replicas?.map(replicaPlan),
  };
}
export function planCreateClusterReplica(s: Of<'createClusterReplica'>, context: StatementContext): Plan {
  return {
    kind: 'createClusterReplica',
    cluster: clusterNamed(context, s.cluster),
    ifNotExists: s.ifNotExists,
    replica: replicaPlan(s.replica),
  };
}

// ---- Dropping, altering, commenting

export function planDrop(s: DropStatement, context: StatementContext): Plan {
  const missing: string[] = [];
  const objects = s.names.flatMap((name) => {
    const found = findObject(context, s.objectType, name, 'drop');
    if (found !== undefined) return [found];
    if (!s.ifExists) throw missingObject(s.objectType, name);
    missing.push(`${s.objectType} "${partsOf(name).join('.')}" does not exist, skipping`);
    return [];
  });
  return { kind: 'drop', objectType: s.objectType, objects, missing, cascade: s.behavior === 'cascade' };
}

type AlterStatement = Extract<Statement, { kind: `alter${string}`; objectType: unknown }>;

/** Undefined: there is nothing of that name, and IF EXISTS says that this is fine. */
export function planAlter(s: AlterStatement, context: StatementContext): AlterPlan | undefined {
  const object = findObject(context, s.objectType, s.name);
  if (object === undefined) {
    if (s.ifExists) return undefined;
    throw missingObject(s.objectType, s.name);
  }
  const common = { object, ifExists: s.ifExists };
  switch (s.kind) {
    case 'alterRename':
      return { ...common, kind: 'alterRename', to: s.to.name };
    case 'alterSetSchema':
      return { ...common, kind: 'alterSetSchema', schema: partsOf(s.schema) };
    case 'alterSwap':
      return { ...common, kind: 'alterSwap', with: s.with.name };
    case 'alterOwner':
      throw unsupported('ALTER … OWNER TO', { position: s.pos + 1 });
    case 'alterSet':
      return { ...common, kind: 'alterSet', options: alterOptions(s) };
    case 'alterReset':
      return { ...common, kind: 'alterReset', options: s.options };
    case 'alterApplyReplacement': {
      const { id } = objectNamed(context, 'materialized view', s.replacement);
      return { ...common, kind: 'alterApplyReplacement', replacement: id as GlobalId };
    }
    case 'alterSecret':
      return {
        ...common,
        kind: 'alterSecret',
        value: constantOf(newBinder(context), s.value, sqlType('bytea')),
      };
  }
}
const alterOptions = (s: Of<'alterSet'>): Options =>
  readOptions(s.options, s.objectType === 'cluster' ? CLUSTER_OPTIONS : undefined);

export function planComment(s: CommentStatement, context: StatementContext): Plan {
  if (s.objectType !== 'column')
    return {
      kind: 'comment',
      object: objectNamed(context, s.objectType, s.name),
      column: undefined,
      comment: s.comment,
    };
  const of: ObjectName = { ...s.name, parts: s.name.parts.slice(0, -1) };
  const column = s.name.parts[s.name.parts.length - 1];
  const item = context.catalog.resolve(partsOf(of), context.names);
  if (item === undefined || !isRelation(item)) throw missingObject('table', of);
  const at = item.desc.columns.findIndex((c) => c.name === column.name);
  if (at < 0)
    throw new SqlError(
      'undefined_column',
      `column "${column.name}" of relation "${item.name.item}" does not exist`,
      { position: column.pos + 1 },
    );
  return {
    kind: 'comment',
    object: { objectType: 'table', parts: partsOf(of), name: item.name, id: item.id },
    column: at,
    comment: s.comment,
  };
}
