/** A simulated environment whose logs are checked at every timestamp, one checker a life of a replica. */
import assert from 'node:assert/strict';
import type { Logger } from '../../packages/tidemark/src/base/clock.ts';
import { LogChecker } from '../../packages/tidemark/src/testkit/log-checker.ts';
import { openTest, type TestEnvironment } from '../../packages/tidemark/src/testkit/simulator.ts';
import type { TestOptions } from '../../packages/tidemark/src/testkit/test-options.ts';

export interface Watched {
  readonly t: TestEnvironment;
  /** Of the replica of the default cluster, in its present life. */
  readonly checker: LogChecker;
  readonly checkers: ReadonlyMap<string, LogChecker>;
  /** What was told to the log at level warn and above. */
  readonly complaints: string[];
  /** No fault at any timestamp; then nothing of users is left, in any log, on any worker, in any hold. */
  finish(): Promise<void>;
}

/** A log that keeps what is told at level warn and above. */
export function complaintLog(): { readonly complaints: string[]; readonly logger: Logger } {
  const complaints: string[] = [];
  const complain = (fields: object, message: string): void => {
    complaints.push(`${message}: ${'error' in fields ? String(fields.error) : JSON.stringify(fields)}`);
  };
  return { complaints, logger: { debug() {}, info() {}, warn: complain, error: complain } };
}

export async function openWatched(options: TestOptions = {}): Promise<Watched> {
  const checkers = new Map<string, LogChecker>();
  const { complaints, logger } = complaintLog();
  let latest: LogChecker | undefined;
  /** In its present life, or in its last one. */
  const ofReplica = new Map<string, LogChecker>();
  const t = await openTest({
    logger,
    ...options,
    onLogUpdates: (from, updates) => {
      const key = `${from.replicaId} ${from.life}`;
      let c = checkers.get(key);
      if (c === undefined) {
        c = new LogChecker({ workers: from.workers, skewed: options.skewMs !== undefined });
        checkers.set(key, c);
        ofReplica.set(from.replicaId, c);
        if (from.replicaId !== 's1') latest = c;
      }
      c.receive(from.worker, updates);
    },
  });
  const faults = (): string[] => [...checkers].flatMap(([life, c]) => c.faults.map((f) => `${life}: ${f}`));
  return {
    t,
    checkers,
    complaints,
    get checker() {
      assert.ok(latest, 'the replica has logged something');
      return latest;
    },
    async finish() {
      for (const { item, entity } of [...t.env.catalog.loadedItems()])
        if (entity !== null && t.env.catalog.item(item.id) !== undefined && item.kind !== 'index')
          await t.exec(`DROP ${item.kind.replaceAll('-', ' ')} ${item.name.item} CASCADE`);
      // A time is looked at when the clocks of all workers are past it.
      await t.advance(options.skewMs === undefined ? 2500 : 12_500);
      assert.deepEqual(faults(), [], `replay with seed ${t.seed}`);
      assert.ok(latest!.timesChecked > 0, 'the checker saw rows');
      for (const r of [...t.env.catalog.clusters()].flatMap((c) => c.replicas)) {
        const checker = ofReplica.get(r.id);
        for (const id of checker?.exports ?? [])
          assert.match(id, /^si\d/, 'only indexes of logs are left in the logs');
        assert.deepEqual(checker?.owned ?? [], [], `nothing of users is left in the logs (seed ${t.seed})`);
      }
      await t.assertNothingLeft();
      await t.close();
    },
  };
}
