/**
 * The dataflows that arrange a worker's log relations: what the compute log drains goes in, and comes out as indexes like any other,
 * to be peeked, imported and joined. With the interval at 0 each is there, complete and empty at once.
 */
import type { GlobalId } from '../base/ids.ts';
import type { Scope } from '../dataflow/builder.ts';
import type { Dataflow } from '../dataflow/dataflow.ts';
import type { Worker } from '../dataflow/worker.ts';
import type { ComputeLog, LogUpdates } from '../introspection/compute-log.ts';
import type { LoggingConfig } from '../introspection/logging-config.ts';
import { type LogName, logDesc, logIndexKey } from '../introspection/relations.ts';
import { arrange } from '../operators/arrange.ts';
import { constant } from '../operators/constant.ts';
import { type InputHandle, source } from '../operators/source.ts';
import { kindOf } from '../repr/types.ts';
import { arrangementSpec } from '../trace/arranged-batch.ts';
import type { TraceHandle } from '../trace/trace.ts';
import type { IndexTraces } from './peeks.ts';

export interface LogIndex {
  readonly id: GlobalId;
  readonly log: LogName;
  readonly dataflow: Dataflow;
  readonly traces: IndexTraces;
}

export class LoggingDataflows {
  readonly indexes: readonly LogIndex[];
  readonly #log: ComputeLog | null;
  readonly #onUpdates: ((updates: LogUpdates) => void) | undefined;
  readonly #inputs = new Map<LogName, InputHandle>();

  constructor(
    worker: Worker,
    config: LoggingConfig,
    log: ComputeLog | null,
    onUpdates?: (updates: LogUpdates) => void,
  ) {
    this.#log = log;
    this.#onUpdates = onUpdates;
    this.indexes = config.indexes.map(({ log: name, id }) => this.#build(worker, name, id));
  }

  #build(worker: Worker, log: LogName, id: GlobalId): LogIndex {
    let traces!: IndexTraces;
    const build = (scope: Scope): void => {
      const { handle, stream } = source(scope, { name: log });
      if (this.#log === null) handle.close();
      else this.#inputs.set(log, handle);
      const kinds = logDesc(log).columns.map((c) => kindOf(c.type));
      const oks = arrange(scope, stream, { spec: arrangementSpec(kinds, logIndexKey(log)) });
      const errs = arrange(scope, constant(scope, []), { spec: arrangementSpec(['bytes'], [0]) });
      traces = { oks: oks.trace.clone() as TraceHandle, errs: errs.trace.clone() as TraceHandle };
    };
    // Little work that tells what goes on: not after what goes on.
    const dataflow = worker.buildDataflow(`Log: ${log}`, build, { urgent: true });
    return { id, log, dataflow, traces };
  }

  /** Moves what was logged into the arrangements. Cheap when nothing happened and no interval has passed. */
  drain(): void {
    if (this.#log === null) return;
    const updates = this.#log.drain();
    this.#onUpdates?.(updates);
    const { batches, frontier } = updates;
    for (const [log, batch] of batches) this.#inputs.get(log)?.push(batch);
    for (const input of this.#inputs.values()) if (frontier > input.frontier) input.advanceTo(frontier);
  }
}
