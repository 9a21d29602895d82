/** Entry of a thread that describes or decodes one file, and ends. It imports the one format that it reads. */
import { parentPort, workerData } from 'node:worker_threads';
import { brotliDecompressSync, crc32, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import { batchBuffers } from '../repr/batch.ts';
import type { RelationDesc } from '../repr/types.ts';
import { type Decoded, type FileCodecs, fileMessage, isOutOfMemory } from '../storage/byte-source.ts';
import type { FileDescription, FileFormat, FileOrigin } from '../storage/file-source.ts';
import { FileBytes } from './file-bytes.ts';
import type { FileTask, FromFileThread, ToFileThread } from './file-reader-protocol.ts';

assert(parentPort !== null, 'a file is read on a thread of its own');
const port = parentPort;
const task = workerData as FileTask;

const post = (m: FromFileThread, transfer: ArrayBuffer[] = []): void => port.postMessage(m, transfer);

/** A page that decompresses to more than it says is damaged: the limit keeps it from filling the memory. */
const limit = (length: number): { maxOutputLength: number } => ({ maxOutputLength: Math.max(length, 1) });
const codecs: FileCodecs = {
  zstd: (bytes, length) => zstdDecompressSync(bytes, limit(length)),
  gzip: (bytes, length) => gunzipSync(bytes, limit(length)),
  brotli: (bytes, length) => brotliDecompressSync(bytes, limit(length)),
  crc32: (bytes) => crc32(bytes),
};

interface Format {
  describe(source: FileBytes, origin: FileOrigin): FileDescription;
  read(source: FileBytes, origin: FileOrigin, desc: RelationDesc, maxRows: number): Iterator<Decoded, void>;
}

const FORMATS: Readonly<Record<FileFormat, () => Promise<Format>>> = {
  csv: async () => {
    const { describeCsv, readCsv } = await import('../storage/csv.ts');
    return { describe: describeCsv, read: (s, o, desc, n) => readCsv(s, desc, o, n) };
  },
  json: async () => {
    const { describeJson, readJson } = await import('../storage/json-rows.ts');
    return { describe: describeJson, read: (s, _, desc, n) => readJson(s, desc, n) };
  },
  parquet: async () => {
    const { describeParquet, readParquet } = await import('../storage/parquet-file.ts');
    return { describe: describeParquet, read: (s, _, desc, n) => readParquet(s, desc, codecs, n) };
  },
};

let { credits } = task;
let onCredit: () => void = () => undefined;
port.on('message', (m: ToFileThread) => {
  assert(m.kind === 'credit', 'a file thread is told of credits');
  credits++;
  onCredit();
});

/** Before a batch is decoded, not before it is sent: what waits is on the disk. */
async function takeCredit(): Promise<void> {
  while (credits === 0)
    await new Promise<void>((resolve) => {
      onCredit = resolve;
    });
  credits--;
}

async function run(): Promise<void> {
  const source = new FileBytes(task.origin.path);
  try {
    const format = await FORMATS[task.origin.format]();
    if (task.desc === null) {
      post({ kind: 'description', description: format.describe(source, task.origin) });
      return;
    }
    const decoded = format.read(source, task.origin, task.desc, task.maxBatchRows);
    for (;;) {
      await takeCredit();
      const next = decoded.next();
      if (next.done === true) break;
      post({ kind: 'batch', ...next.value }, batchBuffers(next.value.batch));
    }
    post({ kind: 'done' });
  } finally {
    source.close();
  }
}

function failure(error: unknown): FromFileThread {
  if (error instanceof SqlError) {
    const { code, message, detail, hint } = error;
    return { kind: 'failed', code, message, detail, hint };
  }
  const detail = error instanceof Error ? error.stack : String(error);
  const [code, what] = isOutOfMemory(error)
    ? (['out_of_memory', 'does not fit in memory'] as const)
    : (['internal_error', 'decoding failed'] as const);
  return { kind: 'failed', code, message: fileMessage(task.origin.path, what), detail };
}

run()
  .catch((error: unknown) => post(failure(error)))
  .finally(() => port.close());
