import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GlobalId } from '../base/ids.ts';
import { ProgressReporter, SnapshotProgress } from './progress.ts';
import type { ProgressResponse } from './protocol.ts';

const S = 1e9;

function reporter(progress: SnapshotProgress): {
  readonly r: ProgressReporter;
  readonly said: () => string[];
} {
  const sent: ProgressResponse[] = [];
  const r = new ProgressReporter({
    id: 'u1' as GlobalId,
    worker: 0,
    life: 1,
    progress,
    send: (p) => sent.push(p),
  });
  return { r, said: () => sent.splice(0).map((p) => `${p.rowsDone} of ${p.rowsTotal}`) };
}

test('nothing is said before every import was looked at: a total would grow', () => {
  const progress = new SnapshotProgress(() => 0);
  const { r, said } = reporter(progress);
  const [big, small] = [progress.import(), progress.import()];
  big({ kind: 'total', rows: 1000 });
  r.step(0, false);
  assert.deepEqual(said(), []);
  small({ kind: 'total', rows: 10 });
  small({ kind: 'read', rows: 10 });
  r.step(2 * S, false);
  assert.deepEqual(said(), ['10 of 1010'], 'a large input weighs more');
});

test('a row that waits in a queue is not done: one big part advances as it is worked off, and never goes back', () => {
  let queued = 0;
  const progress = new SnapshotProgress(() => queued);
  const { r, said } = reporter(progress);
  const part = progress.import();
  part({ kind: 'total', rows: 1000 });
  part({ kind: 'read', rows: 1000 });
  for (const [i, waiting] of [1000, 700, 900, 100].entries()) {
    queued = waiting;
    r.step(i * S, false);
  }
  assert.deepEqual(said(), ['0 of 1000', '300 of 1000', '900 of 1000']);
});

test('at most once a second, and once more when it is hydrated', () => {
  const progress = new SnapshotProgress(() => 0);
  const { r, said } = reporter(progress);
  const part = progress.import();
  part({ kind: 'total', rows: 100 });
  for (let i = 0; i < 20; i++) {
    part({ kind: 'read', rows: 5 });
    r.step(i * 0.1 * S, i === 19);
  }
  assert.deepEqual(said(), ['5 of 100', '55 of 100', '100 of 100']);
  r.step(100 * S, true);
  assert.deepEqual(said(), [], 'it is over');
  r.repeat();
  assert.deepEqual(said(), ['100 of 100']);
});

test('hydrated without a look at what it imports', () => {
  const progress = new SnapshotProgress(() => 0);
  const { r, said } = reporter(progress);
  progress.import();
  r.step(0, true);
  assert.deepEqual(said(), ['0 of 0']);
});
