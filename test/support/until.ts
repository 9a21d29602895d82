/** Waiting for what comes by itself, for as long as a loaded machine may need: a test asks until it is there, and asserts on what it then has. */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { sleep } from './crash/random.ts';

/** Far above what anything takes; below the limit of a test's file, so that what was asked for is told. */
const PATIENCE_MS = 120_000;
const STEP_MS = 20;

/** The first answer that is wanted; the last one is the failure. */
export async function until<T>(ask: () => Promise<T>, isWanted: (answer: T) => boolean): Promise<T> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask();
    if (isWanted(answer)) return answer;
    assert.ok(Date.now() < deadline, `not what is waited for: ${JSON.stringify(answer, asText)}`);
    await sleep(STEP_MS);
  }
}

export async function untilEqual<T>(ask: () => Promise<T>, wanted: T): Promise<void> {
  await until(ask, (answer) => isDeepStrictEqual(answer, wanted));
}

const asText = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? `${value}` : value);
