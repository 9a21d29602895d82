/**
 * The sink of COPY … TO a file: the rows at the as-of, consolidated on the owner, written once, answered once. Errors come first: with one
 * in the collection nothing is written. The file appears when it is whole. It reports no frontiers, so its life ends with `started`.
 *
 * Memory: all rows, on the owner. Rows are consolidated and encoded a bucket of some thousand at a time; while a piece is on its way to
 * the file the worker does other things.
 */

import { SqlError } from '../../base/error.ts';
import type { Scope } from '../../dataflow/builder.ts';
import type { Capability } from '../../dataflow/capability.ts';
import { toWorker } from '../../dataflow/channel.ts';
import type { OperatorContext, OperatorLogic } from '../../dataflow/operator.ts';
import type { InputPort } from '../../dataflow/ports.ts';
import { rowErrorAt } from '../../expr/eval-error.ts';
import type { OksErrs } from '../../operators/state/stateful-operator.ts';
import { type Batch, concatBatches, diffAt, emptyBatch, sliceBatch } from '../../repr/batch.ts';
import { textEncoder } from '../../repr/cell-encoder.ts';
import { CopyWriter } from '../../repr/copy-text.ts';
import { kindOf } from '../../repr/types.ts';
import { MIN_TIME, type Timestamp } from '../../time/timestamp.ts';
import type { Fuel } from '../../trace/fuel.ts';
import { Correction } from '../correction.ts';
import { orderAndCut, projected } from '../finishing.ts';
import { frontierOwner } from '../frontier-owner.ts';
import type { CopyToResponse, CopyToSink } from '../protocol.ts';
import { hostError } from '../shard-source.ts';
import type { Sink, SinkContext } from './sink.ts';

type Result = CopyToResponse['result'];

export function copyToSink(scope: Scope, desired: OksErrs, sink: CopyToSink, context: SinkContext): Sink {
  const { host } = scope;
  const owner = frontierOwner(sink.id, host.peers);
  const isOwner = host.index === owner;
  let answered = !isOwner;
  const answer = (result: Result): void => {
    if (answered) return;
    answered = true;
    context.send({ kind: 'copyToResponse', worker: host.index, id: sink.id, result });
  };
  const op = scope.operator('CopyTo');
  const oks = op.input(desired.oks, toWorker(owner));
  const errs = op.input(desired.errs, toWorker(owner));
  op.build((ctx) => new Copier(ctx, { oks, errs, sink, answer, isOwner, context }));
  return {
    progress: MIN_TIME,
    writeFrontier: MIN_TIME,
    writes: null,
    answers: { dropped: () => answer({ kind: 'dropped' }) },
  };
}

interface Parts {
  readonly oks: InputPort<Batch>;
  readonly errs: InputPort<Batch>;
  readonly sink: CopyToSink;
  readonly context: SinkContext;
  readonly isOwner: boolean;
  readonly answer: (result: Result) => void;
}

class Copier implements OperatorLogic {
  readonly #ctx: OperatorContext;
  readonly #p: Parts;
  readonly #oks = new Correction();
  readonly #errs = new Correction();
  /** Keeps the operator from ending with its inputs while a file is being written. */
  readonly #writing: Capability;
  #begun = false;
  #ended = false;

  constructor(ctx: OperatorContext, parts: Parts) {
    this.#ctx = ctx;
    this.#p = parts;
    this.#writing = ctx.initialCapability();
    if (!parts.isOwner) this.#writing.dispose();
  }

  get #asOf(): Timestamp {
    return this.#p.context.asOf;
  }

  run(fuel: Fuel): void {
    const { oks, errs, isOwner } = this.#p;
    const absorbed = absorb(oks, this.#oks, fuel) && absorb(errs, this.#errs, fuel);
    if (!absorbed) this.#ctx.reactivate();
    else if (isOwner && !this.#begun && Math.min(oks.frontier, errs.frontier) > this.#asOf) {
      this.#begun = true;
      void this.#answer();
    }
  }

  async #answer(): Promise<void> {
    const result = await this.#write().catch(
      (error: unknown): Result => ({ kind: 'error', ...hostError(error) }),
    );
    if (this.#ended) return;
    this.#p.answer(result);
    this.#writing.dispose();
  }

  async #write(): Promise<Result> {
    const { sink, context } = this.#p;
    for (const failed of this.#due(this.#errs)) {
      for (let i = 0; i < failed.length; i++)
        if (diffAt(failed, i) > 0) return { kind: 'error', ...rowErrorAt(failed, i) };
    }
    const { columns } = sink;
    const writer = new CopyWriter(
      sink.format,
      columns.map((c) => textEncoder(c.type)),
    );
    const file = await context.openFile(sink.path);
    try {
      const header = writer.header(columns.map((c) => c.name));
      if (header !== null) await file.write([header]);
      let rows = 0;
      for (const batch of this.#rows()) {
        const lines = writer.lines(batch);
        rows += lines.length;
        await file.write(lines);
        if (this.#ended) throw new Error('the COPY was ended');
      }
      await file.commit();
      return { kind: 'rows', rows };
    } catch (error) {
      await file.abort().catch(() => undefined);
      throw error;
    }
  }

  /** In order and cut; without either, a piece at a time. */
  *#rows(): Iterable<Batch> {
    const { finishing, desc } = this.#p.sink;
    const due = this.#due(this.#oks);
    if (finishing.orderBy.length === 0 && finishing.limit === null && finishing.offset === 0) {
      for (const b of due) yield projected(positive(b), finishing.project);
      return;
    }
    const types = desc.columns.map((c) => c.type);
    const all = concatBatches([emptyBatch(types.map(kindOf)), ...[...due].map(positive)]);
    const rows = projected(orderAndCut(all, types, finishing), finishing.project);
    for (let at = 0; at < rows.length; at += PIECE_ROWS)
      yield sliceBatch(rows, at, Math.min(at + PIECE_ROWS, rows.length));
  }

  *#due(of: Correction): Iterable<Batch> {
    for (let b = 0; b < of.buckets; b++) {
      const due = of.before(b, this.#asOf, this.#asOf + 1);
      if (due !== null) yield due;
    }
  }

  shutdown(): void {
    this.#ended = true;
  }
}

const PIECE_ROWS = 8192;

function positive(b: Batch): Batch {
  for (let i = 0; i < b.length; i++)
    if (diffAt(b, i) < 0)
      throw new SqlError('data_exception', 'what is copied has a negative number of copies of a row');
  return b;
}

/** Whether nothing is left to take in. */
function absorb(from: InputPort<Batch>, into: Correction, fuel: Fuel): boolean {
  while (!fuel.exhausted) {
    const b = from.pull();
    if (b === undefined) return true;
    fuel.spend(2 * b.length);
    into.insert(b, 1);
  }
  return from.isEmpty;
}
