/** The one dispatch over statements that change the catalog; one runs at a time. Gives the command tag. */
import { unsupported } from '../../base/error.ts';
import type { AlterPlan, ClusterPlan, CreatePlan, Plan } from '../../plan/statement/plan.ts';
import type { Environment } from '../environment.ts';
import { alterNames } from './alter.ts';
import { alterCluster } from './alter-cluster.ts';
import { alterSystem } from './alter-system.ts';
import { comment, createCluster, createClusterReplica, createDatabase, createSchema } from './clusters.ts';
import { createIndex, createSink, createSource, createTable, createView, type Notify } from './create.ts';
import { drop } from './drop.ts';
import { applyReplacement, createMaterializedView } from './materialized-view.ts';

export type DdlPlan =
  | CreatePlan
  | ClusterPlan
  | AlterPlan
  | Extract<
      Plan,
      { kind: 'createSchema' | 'createDatabase' | 'drop' | 'comment' | 'alterSystemSet' | 'alterSystemReset' }
    >;

export interface DdlOptions {
  readonly database: string;
  readonly user: string;
  readonly notify: Notify;
  /** The statement planned as the catalog is now; undefined: there is nothing to do. */
  readonly again: () => DdlPlan | undefined;
}

/** `plan`: made in this turn. A statement that has waited for others is planned again: what it names may be gone, or taken. */
export function executeDdl(env: Environment, plan: DdlPlan, options: DdlOptions): Promise<string> {
  const { revision } = env.catalog;
  return env.exclusively(async () => {
    env.audit.by = options.user;
    try {
      const now = env.catalog.revision === revision ? plan : options.again();
      return now === undefined ? NOTHING_TO_DO : await run(env, now, options.database, options.notify);
    } finally {
      env.audit.by = null;
    }
  });
}

/** The tag of an ALTER … IF EXISTS of what does not. */
export const NOTHING_TO_DO = 'ALTER';

async function run(env: Environment, plan: DdlPlan, database: string, notify: Notify): Promise<string> {
  switch (plan.kind) {
    case 'createTable':
      await createTable(env, plan, notify);
      return 'CREATE TABLE';
    case 'createSource':
      await createSource(env, plan, notify);
      return 'CREATE SOURCE';
    case 'createView':
      await createView(env, plan, notify);
      return 'CREATE VIEW';
    case 'createMaterializedView':
      await createMaterializedView(env, plan, notify);
      return 'CREATE MATERIALIZED VIEW';
    case 'createIndex':
      await createIndex(env, plan, notify);
      return 'CREATE INDEX';
    case 'createCluster':
      await createCluster(env, plan, notify);
      return 'CREATE CLUSTER';
    case 'createClusterReplica':
      await createClusterReplica(env, plan, notify);
      return 'CREATE CLUSTER REPLICA';
    case 'createSchema':
      await createSchema(env, plan, database, notify);
      return 'CREATE SCHEMA';
    case 'createDatabase':
      await createDatabase(env, plan, notify);
      return 'CREATE DATABASE';
    case 'drop':
      await drop(env, plan, database, notify);
      return `DROP ${plan.objectType.toUpperCase()}`;
    case 'comment':
      await comment(env, plan);
      return 'COMMENT';
    case 'alterSystemSet':
    case 'alterSystemReset':
      await alterSystem(env, plan);
      return 'ALTER SYSTEM';
    case 'createSink':
      await createSink(env, plan, notify);
      return 'CREATE SINK';
    case 'createConnection':
      throw unsupported('CREATE CONNECTION');
    case 'createSecret':
      throw unsupported('CREATE SECRET');
    case 'alterRename':
    case 'alterSetSchema':
    case 'alterSwap':
      await alterNames(env, plan, database);
      return `ALTER ${plan.object.objectType.toUpperCase()}`;
    case 'alterApplyReplacement':
      await applyReplacement(env, plan);
      return 'ALTER MATERIALIZED VIEW';
    case 'alterSet':
    case 'alterReset':
      if (plan.object.objectType !== 'cluster')
        throw unsupported(`ALTER ${plan.object.objectType.toUpperCase()} … SET`);
      await alterCluster(env, plan);
      return 'ALTER CLUSTER';
    case 'alterSecret':
      throw unsupported(`ALTER ${plan.object.objectType.toUpperCase()}`);
  }
}
