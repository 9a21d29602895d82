/** What a process takes is in the log of its replica, on threads and without: a simulation has no machine to ask. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { open } from '../packages/tidemark/src/server/database.ts';

for (const workers of ['inline', 'threads'] as const)
  test(`memory and time of the process and of its threads (${workers})`, async () => {
    const db = await open({ memory: true, ...(workers === 'inline' && { workers }) });
    try {
      const read = async (): Promise<Map<string, number>> => {
        const { rows } = await db.query(
          'SELECT source, metric, value FROM mz_introspection.mz_cluster_replica_resource_usage',
        );
        return new Map(rows.map((r) => [`${r['source']} ${r['metric']}`, Number(r['value'])]));
      };
      let usage = await read();
      // The first interval of the log has to be over.
      while (usage.size === 0) {
        await setTimeout(50);
        usage = await read();
      }
      for (const key of [
        'process rss_bytes',
        'process cpu_user_ns',
        'process cpu_system_ns',
        'worker 0 heap_used_bytes',
        'worker 0 heap_allocated_bytes',
        'worker 0 array_buffers_bytes',
      ])
        assert.ok(usage.get(key)! > 0, `${key}: ${usage.get(key)}`);
      assert.ok(usage.get('process rss_bytes')! > usage.get('worker 0 heap_used_bytes')!);
    } finally {
      await db.close();
    }
  });
