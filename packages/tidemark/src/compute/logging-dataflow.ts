/**
 * The dataflow that arranges a worker's log relations: what the compute log drains goes in, and comes out as indexes like any other,
 * to be peeked, imported and joined. With the interval at 0 each is there, complete and empty at once.
 *
 * One dataflow for all of them, a region each, and one arrangement of errors, which log relations never have.
 */
import type { GlobalId } from '../base/ids.ts';
import type { Scope } from '../dataflow/builder.ts';
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
  readonly traces: IndexTraces;
}

export class LoggingDataflow {
  readonly dataflowIndex: number;
  readonly indexes: readonly LogIndex[];
  readonly #config: LoggingConfig;
  readonly #log: ComputeLog | null;
  readonly #onUpdates: ((updates: LogUpdates) => void) | undefined;
  readonly #inputs = new Map<LogName, InputHandle>();

  constructor(
    worker: Worker,
    config: LoggingConfig,
    log: ComputeLog | null,
    onUpdates?: (updates: LogUpdates) => void,
  ) {
    this.#config = config;
    this.#log = log;
    this.#onUpdates = onUpdates;
    let indexes!: readonly LogIndex[];
    const build = (scope: Scope): void => {
      const errs = arrange(scope, constant(scope, []), { spec: arrangementSpec(['bytes'], [0]) });
      indexes = config.indexes.map(({ log: name, id }) => {
        const oks = scope.region(name, (inner) => this.#arrange(inner, name));
        return { id, log: name, traces: { oks, errs: errs.trace.clone() } };
      });
    };
    // Little work that tells what goes on: not after what goes on.
    this.dataflowIndex = worker.buildDataflow('Introspection', build, { urgent: true }).dataflowIndex;
    this.indexes = indexes;
  }

  /** Whether this is what the configuration asks for. */
  isFor(config: LoggingConfig): boolean {
    return JSON.stringify(config) === JSON.stringify(this.#config);
  }

  #arrange(scope: Scope, log: LogName): TraceHandle {
    const { handle, stream } = source(scope);
    if (this.#log === null) handle.close();
    else this.#inputs.set(log, handle);
    const kinds = logDesc(log).columns.map((c) => kindOf(c.type));
    return arrange(scope, stream, { spec: arrangementSpec(kinds, logIndexKey(log)) }).trace.clone();
  }

  /** Moves what was logged into the arrangements, if it is time to. */
  drain(): void {
    if (this.#log === null || !this.#log.due) return;
    const updates = this.#log.drain();
    this.#onUpdates?.(updates);
    const { batches, frontier } = updates;
    for (const [log, batch] of batches) this.#inputs.get(log)?.push(batch);
    for (const input of this.#inputs.values()) if (frontier > input.frontier) input.advanceTo(frontier);
  }
}
