/** What lives in an environment, for a test to compare: nothing of what was dropped may. */
import { DURABLE_BUILTIN_SHARDS } from '../adapter/builtin-tables.ts';
import type { Environment } from '../adapter/environment.ts';
import type { ReplicaId } from '../base/ids.ts';
import { CATALOG_SHARD } from '../catalog/durable-catalog.ts';
import type { Blob } from '../persist/blob.ts';

/** As text; `counts`: of what a replica's workers have. */
export function living(env: Environment, counts: (id: ReplicaId) => unknown): string {
  return JSON.stringify({
    instances: [...env.clusters.instances].map(([id, i]) => [id, i.live]),
    holds: env.collections.holds,
    replicas: [...env.catalog.clusters()].flatMap((c) =>
      c.replicas.map((r) => [c.name, r.name, counts(r.id)]),
    ),
  });
}

/** Shards that have parts and that no object has. */
export async function orphans(env: Environment, blob: Blob): Promise<readonly string[]> {
  const known = new Set<string | undefined>([CATALOG_SHARD, ...DURABLE_BUILTIN_SHARDS]);
  for (const e of env.catalog.all('item')) known.add(e.shard);
  const keys = await blob.list('');
  return [...new Set(keys.map((key) => key.split('/')[0]!))].filter((shard) => !known.has(shard));
}
