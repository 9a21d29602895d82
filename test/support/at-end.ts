/** What a test cleans up at its end: the newest first, and each also where another fails. node's own hooks run oldest first and stop at the first that fails, which removes a directory under a server and then leaves the server. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

type Work = () => unknown;

const works = new WeakMap<TestContext, Work[]>();

/** Calls `work` when the test has ended, before everything that was asked for earlier. */
export function atEnd(t: TestContext, work: Work): void {
  const known = works.get(t);
  if (known !== undefined) {
    known.push(work);
    return;
  }
  const mine = [work];
  works.set(t, mine);
  t.after(async () => {
    const failures: unknown[] = [];
    for (const each of mine.reverse()) {
      try {
        await each();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'not cleaned up');
  });
}

/** A directory that is removed at the test's end. */
export async function temporaryDirectory(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'tidemark-'));
  atEnd(t, () => rm(path, { recursive: true, force: true }));
  return path;
}
