/** What must hold whatever the number of workers: one alone, two that share, and more than some objects have rows. */
import { test } from 'node:test';

const WORKERS = [1, 2, 4] as const;

/** The test on each number of workers. */
export function onWorkers(name: string, body: (workers: number) => Promise<void>): void {
  for (const workers of WORKERS) test(`${name}, on ${workers} workers`, () => body(workers));
}
