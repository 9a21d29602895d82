/**
 * Files read on threads: one thread a file, started for it and gone with it. Batches are transferred, never copied, at
 * most two of them on their way: a slow consumer holds the decoding up, and memory stays where it is.
 *
 * However a call ends (done, failed, cancelled), its thread has ended before the promise settles.
 */
import { Worker } from 'node:worker_threads';
import { SqlError } from '../base/error.ts';
import type { Batch } from '../repr/batch.ts';
import type { RelationDesc } from '../repr/types.ts';
import { fileMessage, MAX_BATCH_ROWS } from '../storage/byte-source.ts';
import type { FileDescription, FileOrigin, FileProgress, FileReader } from '../storage/file-source.ts';
import type { FileTask, FromFileThread, ToFileThread } from './file-reader-protocol.ts';
import { workerFlags } from './worker-flags.ts';

/** The thread's entry lies beside this file: TypeScript in the source tree, JavaScript in the package. */
const ENTRY = new URL(
  `./file-reader-main${import.meta.url.slice(import.meta.url.lastIndexOf('.'))}`,
  import.meta.url,
);

/** One with the consumer, one on its way or being decoded. */
const IN_FLIGHT = 2;

export class ThreadFileReader implements FileReader {
  readonly #maxBatchRows: number;

  constructor(options: { readonly maxBatchRows?: number } = {}) {
    this.#maxBatchRows = options.maxBatchRows ?? MAX_BATCH_ROWS;
  }

  async describe(origin: FileOrigin): Promise<FileDescription> {
    await using thread = this.#start(origin, null);
    const m = await thread.next();
    if (m.kind === 'description') return m.description;
    throw unexpected(origin, m);
  }

  async read(
    origin: FileOrigin,
    desc: RelationDesc,
    onBatch: (batch: Batch, progress: FileProgress) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    if (signal.aborted) throw cancelled(origin, signal);
    await using thread = this.#start(origin, desc);
    const abort = (): void => thread.stop(cancelled(origin, signal));
    signal.addEventListener('abort', abort);
    try {
      for (;;) {
        const m = await thread.next();
        if (m.kind === 'done') return;
        if (m.kind !== 'batch') throw unexpected(origin, m);
        await onBatch(m.batch, m.progress);
        thread.credit();
      }
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  #start(origin: FileOrigin, desc: RelationDesc | null): FileThread {
    return new FileThread({ origin, desc, maxBatchRows: this.#maxBatchRows, credits: IN_FLIGHT });
  }
}

function cancelled(origin: FileOrigin, signal: AbortSignal): SqlError {
  if (signal.reason instanceof SqlError) return signal.reason;
  return new SqlError('query_canceled', fileMessage(origin.path, 'reading was cancelled'), {
    cause: signal.reason,
  });
}

const unexpected = (origin: FileOrigin, m: FromFileThread): SqlError =>
  new SqlError('internal_error', fileMessage(origin.path, `its thread sent "${m.kind}" out of turn`));

/** A thread and what it sent that nobody took yet. */
class FileThread implements AsyncDisposable {
  readonly #worker: Worker;
  readonly #path: string;
  readonly #inbox: FromFileThread[] = [];
  #error: SqlError | null = null;
  #wake: () => void = () => undefined;

  constructor(task: FileTask) {
    this.#path = task.origin.path;
    this.#worker = new Worker(ENTRY, { workerData: task, name: 'file reader', execArgv: workerFlags() });
    this.#worker.on('message', (m: FromFileThread) => {
      this.#inbox.push(m);
      this.#wake();
    });
    this.#worker.on('error', (error) => this.stop(this.#failure(error)));
    this.#worker.on('exit', (code) => {
      // What it sent before it ended comes first.
      this.#inbox.push({
        kind: 'failed',
        code: 'internal_error',
        message: fileMessage(this.#path, `its thread ended with code ${code}`),
      });
      this.#wake();
    });
  }

  #failure(error: unknown): SqlError {
    if ((error as { code?: unknown }).code === 'ERR_WORKER_OUT_OF_MEMORY')
      return new SqlError('out_of_memory', fileMessage(this.#path, 'does not fit in memory'), {
        cause: error,
      });
    const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return new SqlError('internal_error', fileMessage(this.#path, 'its thread failed'), {
      detail,
      cause: error,
    });
  }

  /** The next message; raises what ended the thread, or what the thread says is wrong. */
  async next(): Promise<FromFileThread> {
    for (;;) {
      if (this.#error !== null) throw this.#error;
      const m = this.#inbox.shift();
      if (m?.kind === 'failed') throw new SqlError(m.code, m.message, { detail: m.detail, hint: m.hint });
      if (m !== undefined) return m;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  credit(): void {
    this.#worker.postMessage({ kind: 'credit' } satisfies ToFileThread);
  }

  /** Ends the thread now; whoever waits for it gets `error`. */
  stop(error: SqlError): void {
    this.#error ??= error;
    void this.#worker.terminate();
    this.#wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}
