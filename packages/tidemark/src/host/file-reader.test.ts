import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { SqlError } from '../base/error.ts';
import { i64ToNumber, isNull } from '../repr/column.ts';
import { textAt } from '../repr/text.ts';
import type { FileFormat, FileOrigin, FileProgress } from '../storage/file-source.ts';
import { ThreadFileReader } from './file-reader.ts';
import type { FileTask, FromFileThread } from './file-reader-protocol.ts';

const VEGA = new URL('../../../../node_modules/vega-datasets/data/', import.meta.url);
const vega = (name: string, format: FileFormat): FileOrigin => ({
  path: fileURLToPath(new URL(name, VEGA)),
  format,
  header: true,
});
const never = new AbortController().signal;

let dir: string;
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'tidemark-files-'));
});
after(() => rm(dir, { recursive: true, force: true }));

/** Threads of this process that still live, by the handles that they keep. */
const threads = (): number =>
  process.getActiveResourcesInfo().filter((r) => r === 'MessagePort' || r === 'Worker').length;

const rejects = (p: Promise<unknown>, code: string, message: RegExp): Promise<void> =>
  assert.rejects(p, (e) => {
    assert.ok(e instanceof SqlError, String(e));
    assert.equal(e.code, code, e.message);
    assert.match(e.message, message);
    return true;
  });

test('three formats, described and read', async () => {
  const reader = new ThreadFileReader();
  for (const [name, format, rows] of [
    ['airports.csv', 'csv', 3376],
    ['movies.json', 'json', 3201],
  ] as const) {
    const origin = vega(name, format);
    const { desc, bytes } = await reader.describe(origin);
    let n = 0;
    let last: FileProgress | null = null;
    await reader.read(
      origin,
      desc,
      async (b, progress) => {
        n += b.length;
        last = progress;
      },
      never,
    );
    assert.equal(n, rows);
    assert.deepEqual(last, { rowsRead: rows, bytesRead: bytes });
  }
});

test('flights: three million rows and their sums', async () => {
  const reader = new ThreadFileReader();
  const origin = vega('flights-3m.parquet', 'parquet');
  const { desc, rowsKnown } = await reader.describe(origin);
  assert.equal(rowsKnown, 3_000_000);
  let rows = 0;
  let delay = 0;
  let most = 0;
  const origins = new Map<string, number>();
  await reader.read(
    origin,
    desc,
    async (b) => {
      rows += b.length;
      most = Math.max(most, b.length);
      const [, d, , o] = b.columns;
      for (let i = 0; i < b.length; i++) {
        if (!isNull(d!, i)) delay += i64ToNumber(d!.values as Int32Array, i);
        const name = textAt(o!, i);
        origins.set(name, (origins.get(name) ?? 0) + 1);
      }
    },
    never,
  );
  // By a script over the rows that hyparquet's own parquetRead gives.
  assert.deepEqual([rows, delay, origins.size, origins.get('ORD')], [3_000_000, 20_003_603, 229, 166_341]);
  assert.ok(most <= 131_072);
});

test('what cannot be opened says why', async () => {
  const reader = new ThreadFileReader();
  const at = (name: string, format: FileFormat = 'csv'): FileOrigin => ({ path: join(dir, name), format });
  await rejects(reader.describe(at('none')), 'undefined_file', /^file ".*none": does not exist$/);
  await writeFile(join(dir, 'plain'), 'a\n');
  await rejects(reader.describe(at('plain/none')), 'undefined_file', /does not exist/);
  await mkdir(join(dir, 'sub'));
  await rejects(reader.describe(at('sub')), 'wrong_object_type', /is a directory$/);
  await rejects(
    reader.describe({ path: '/dev/null', format: 'csv' }),
    'wrong_object_type',
    /is not a regular file$/,
  );
  await promisify(execFile)('mkfifo', [join(dir, 'pipe')]);
  await rejects(reader.describe(at('pipe')), 'wrong_object_type', /is not a regular file$/);
  for (const format of ['csv', 'json', 'parquet'] as const) {
    await writeFile(join(dir, 'empty'), '');
    await assert.rejects(reader.describe(at('empty', format)), SqlError);
    await assert.rejects(
      reader.read(at('none', format), { columns: [], keys: [] }, async () => undefined, never),
      SqlError,
    );
  }
});

test('a file that may not be read', async () => {
  const path = join(dir, 'secret');
  await writeFile(path, 'a\n');
  await chmod(path, 0);
  // The superuser reads everything: a child without privileges asks in its place.
  const script = `
    import { ThreadFileReader } from ${JSON.stringify(new URL('./file-reader.ts', import.meta.url).href)};
    const e = await new ThreadFileReader().describe({ path: ${JSON.stringify(path)}, format: 'csv' }).catch((e) => e);
    console.log(e.code);`;
  await chmod(dir, 0o755);
  const uid = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
  await writeFile(join(dir, 'ask.mjs'), script);
  const { stdout } = await promisify(execFile)(process.execPath, [join(dir, 'ask.mjs')], uid);
  assert.equal(stdout.trim(), 'insufficient_privilege');
});

test('an error in the middle comes after the batches before it', async () => {
  const reader = new ThreadFileReader({ maxBatchRows: 100 });
  const path = join(dir, 'middle.csv');
  await writeFile(path, `${'1\n'.repeat(20_000)}x\n`);
  const origin: FileOrigin = { path, format: 'csv' };
  const { desc } = await reader.describe(origin);
  let rows = 0;
  await rejects(
    reader.read(origin, desc, async (b) => void (rows += b.length), never),
    'invalid_text_representation',
    /^file ".*middle.csv": line 20001, column "column1": /,
  );
  assert.equal(rows, 20_000);
});

/** Waits as long as it takes: what never comes hangs the test. */
async function until(f: () => boolean): Promise<void> {
  while (!f()) await new Promise((resolve) => setImmediate(resolve));
}

test('a thread decodes as many batches as it has credit for', async () => {
  const path = join(dir, 'five.csv');
  await writeFile(path, '1\n2\n3\n4\n5\n');
  const origin: FileOrigin = { path, format: 'csv' };
  const { desc } = await new ThreadFileReader().describe(origin);
  const task: FileTask = { origin, desc, maxBatchRows: 1, credits: 2 };
  const worker = new Worker(new URL('./file-reader-main.ts', import.meta.url), { workerData: task });
  const kinds: string[] = [];
  worker.on('message', (m: FromFileThread) => kinds.push(m.kind));
  for (const expected of [2, 3, 4, 5, 6]) {
    await until(() => kinds.length >= expected);
    // Long enough for a thread that does not wait to show it.
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(kinds.length, expected);
    worker.postMessage({ kind: 'credit' });
  }
  assert.deepEqual(kinds, [...new Array<string>(5).fill('batch'), 'done']);
  await worker.terminate();
});

test('one batch at a time; a file that shrinks under the reader is an error', async () => {
  const reader = new ThreadFileReader({ maxBatchRows: 10 });
  const path = join(dir, 'shrinks.csv');
  await writeFile(path, '1,a\n'.repeat(300_000));
  const origin: FileOrigin = { path, format: 'csv' };
  const { desc } = await reader.describe(origin);
  let running = 0;
  let batches = 0;
  const read = reader.read(
    origin,
    desc,
    async () => {
      assert.equal(++running, 1);
      // A chunk of a megabyte is read by now; what comes after it is not.
      if (++batches === 3) await truncate(path, 0);
      running--;
    },
    never,
  );
  await rejects(read, 'io_error', /became shorter while it was read/);
  assert.ok(batches >= 3);
});

test('a cancelled load ends its thread before it rejects', async () => {
  const reader = new ThreadFileReader({ maxBatchRows: 1000 });
  const origin = vega('flights-3m.parquet', 'parquet');
  const { desc } = await reader.describe(origin);
  await until(() => threads() === 0);
  const stop = new AbortController();
  let batches = 0;
  await rejects(
    reader.read(
      origin,
      desc,
      async () => {
        assert.ok(threads() > 0, 'a thread that lives is seen');
        if (++batches === 2) stop.abort();
      },
      stop.signal,
    ),
    'query_canceled',
    /reading was cancelled/,
  );
  assert.equal(batches, 2);
  assert.equal(threads(), 0);
  await rejects(
    reader.read(origin, desc, async () => undefined, stop.signal),
    'query_canceled',
    /cancelled/,
  );
  const reason = new SqlError('admin_shutdown', 'the server is shutting down');
  const waiting = new AbortController();
  const read = reader.read(origin, desc, async () => undefined, waiting.signal);
  waiting.abort(reason);
  await assert.rejects(read, reason);
  assert.equal(threads(), 0);
});

test('a consumer that fails ends the load with its own error', async () => {
  const reader = new ThreadFileReader({ maxBatchRows: 1000 });
  const origin = vega('flights-3m.parquet', 'parquet');
  const { desc } = await reader.describe(origin);
  const own = new Error('staging failed');
  await assert.rejects(
    reader.read(origin, desc, () => Promise.reject(own), never),
    own,
  );
  assert.equal(threads(), 0);
});
