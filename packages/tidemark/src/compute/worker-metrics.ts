/** What the engine counts on each worker: one literal a metric, kept in the worker's registry. */
import type { Counter, MetricsRegistry } from '../introspection/metrics-registry.ts';

const COUNTED = {
  steps: { name: 'tidemark_worker_steps_total', help: 'slices that the worker was given' },
  commands: { name: 'tidemark_worker_commands_total', help: 'commands that the worker obeyed' },
  peeks: { name: 'tidemark_worker_peeks_total', help: 'reads that the worker accepted' },
} as const;

const READ = {
  arrangementBytes: {
    name: 'tidemark_worker_arrangement_bytes',
    help: 'bytes allocated by the arrangements of the worker',
  },
  arrangementPeakBytes: {
    name: 'tidemark_worker_arrangement_peak_bytes',
    help: 'the most bytes that its arrangements had allocated at one moment',
  },
  collections: { name: 'tidemark_worker_collections', help: 'exports that live on the worker' },
  dataflows: { name: 'tidemark_worker_dataflows', help: 'dataflows that users have on the worker' },
} as const;

export class WorkerMetrics {
  readonly steps: Counter;
  readonly commands: Counter;
  readonly peeks: Counter;

  constructor(registry: MetricsRegistry, read: Readonly<Record<keyof typeof READ, () => number>>) {
    this.steps = registry.counter(COUNTED.steps);
    this.commands = registry.counter(COUNTED.commands);
    this.peeks = registry.counter(COUNTED.peeks);
    for (const key of Object.keys(READ) as (keyof typeof READ)[]) registry.observed(READ[key], read[key]);
  }
}
