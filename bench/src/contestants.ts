/** Who competes. A contestant imports what it needs when it runs: no process loads another's code. */
import type { Outcome } from './outcome.ts';
import type { WorkloadName } from './workloads.ts';

interface Contestant {
  readonly measured: string;
  run(workload: WorkloadName, rows: number): Promise<Outcome>;
}

export const CONTESTANTS = {
  'tidemark, engine': {
    measured: 'decoded columnar batches in memory to hydrated index, one worker, introspection on',
    run: async (w, n) => (await import('./tidemark.ts')).runTidemark(w, n, 'engine'),
  },
  'tidemark, shard': {
    measured: 'the same from compressed parts in a memory blob store: fetch, checksum, zstd, decode included',
    run: async (w, n) => (await import('./tidemark.ts')).runTidemark(w, n, 'shard'),
  },
  'db-ivm': {
    measured: 'a multiset of row objects in memory to output, @tanstack/db-ivm as documented',
    run: async (w, n) => (await import('./db-ivm.ts')).runDbIvm(w, n),
  },
} as const satisfies Record<string, Contestant>;

export type ContestantName = keyof typeof CONTESTANTS;
export const isContestant = (name: string): name is ContestantName => Object.hasOwn(CONTESTANTS, name);
