import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../base/clock.ts';
import { type HistoryChange, HistoryWriter } from './history-writer.ts';

/** A writer over commits that the test lets through one by one, and pauses that it ends. */
function open(): {
  readonly w: HistoryWriter<'t'>;
  readonly put: (key: string, value: number | null, onDurable?: () => void) => void;
  /** What the commit under way holds; it succeeds, or fails. */
  readonly end: (error?: Error) => Promise<readonly string[]>;
  readonly pause: () => void;
  readonly underWay: () => boolean;
} {
  let commit: { changes: readonly HistoryChange<'t'>[]; resolve(): void; reject(e: Error): void } | null =
    null;
  let timer: (() => void) | null = null;
  const w = new HistoryWriter<'t'>({
    commit: (changes) =>
      new Promise((resolve, reject) => {
        commit = { changes, resolve, reject };
      }),
    timers: {
      after: (_, f) => {
        timer = f;
        return () => {
          timer = null;
        };
      },
    },
    logger: silentLogger,
  });
  return {
    w,
    put: (key, value, onDurable) =>
      w.put([{ table: 't', key, row: value === null ? null : [value] }], onDurable),
    async end(error) {
      assert.ok(commit, 'a commit is under way');
      const { changes, resolve, reject } = commit;
      commit = null;
      if (error === undefined) resolve();
      else reject(error);
      await new Promise((r) => setImmediate(r));
      return changes.map((c) => `${c.key}=${c.row?.[0] ?? 'gone'}`);
    },
    pause() {
      assert.ok(timer, 'it pauses between commits');
      const f = timer;
      timer = null;
      f();
    },
    underWay: () => commit !== null,
  };
}

test('one commit at a time, the newest row of each key', async () => {
  const t = open();
  t.w.permit();
  t.put('a', 1);
  t.put('a', 2);
  t.put('b', 1);
  t.put('a', 3);
  assert.deepEqual(await t.end(), ['a=1']);
  assert.equal(t.underWay(), false, 'each commit moves the clock of all tables: a pause comes between');
  t.pause();
  assert.deepEqual(await t.end(), ['a=3', 'b=1']);
  assert.equal(t.w.pending, 0);
});

test('who waits hears once everything before is durable, and not after a commit that failed', async () => {
  const t = open();
  t.w.permit();
  const heard: string[] = [];
  t.put('a', 1, () => heard.push('a'));
  t.put('b', 1, () => heard.push('b'));
  await t.end(new Error('no space left'));
  assert.deepEqual(heard, []);
  t.put('a', 2);
  t.pause();
  assert.deepEqual(await t.end(), ['a=2', 'b=1'], 'what is newer by then');
  assert.deepEqual(heard, ['a', 'b']);
});

test('before it is permitted nothing is written and nobody hears; then all of it', async () => {
  const t = open();
  const heard: string[] = [];
  t.put('a', 1, () => heard.push('a'));
  t.put('b', 1);
  t.put('b', null);
  assert.deepEqual([t.underWay(), t.w.pending], [false, 2]);
  t.w.permit();
  assert.deepEqual(await t.end(), ['a=1', 'b=gone']);
  assert.deepEqual(heard, ['a']);
});

test('the end writes what waits, once', async () => {
  const t = open();
  t.w.permit();
  t.put('a', 1);
  await t.end();
  t.put('b', 1);
  const closed = t.w.close();
  await new Promise((r) => setImmediate(r));
  assert.deepEqual(await t.end(), ['b=1']);
  await closed;
  t.put('c', 1);
  assert.equal(t.underWay(), false);
});
