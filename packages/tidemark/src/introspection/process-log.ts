/**
 * What is read now and then and not told by events: the metrics of a worker's registry, and what its process takes of the machine. Each scrape is
 * compared with the one before, and only rows that changed move.
 *
 * Every worker scrapes its own registry; the label `worker` keeps the rows of one process apart. A sample that has that label from
 * elsewhere carries it as `exported_worker`, as Prometheus does.
 */
import { canonicalJson, jsonQuote } from '../repr/json.ts';
import type { Row } from '../repr/types.ts';
import type { LogBuffer } from './log-buffer.ts';
import type { MetricsRegistry, Sample } from './metrics-registry.ts';
import type { LogName } from './relations.ts';

/** One figure, in whole units that the metric's name says. */
export interface ResourceUsage {
  readonly source: string;
  readonly metric: string;
  readonly value: number;
}

export interface ProcessLogOptions {
  readonly worker: number;
  readonly metrics: MetricsRegistry;
  /** What the worker may say of its process; nothing in a simulation. */
  readonly usage: () => Iterable<ResourceUsage>;
  readonly buffer: LogBuffer;
}

/** A process is a replica, until one has several. */
const PROCESS = 0;

/** The rows of one relation as they were told last. */
class Snapshot {
  readonly #log: LogName;
  readonly #buffer: LogBuffer;
  #told = new Map<string, { readonly row: Row; readonly value: number }>();

  constructor(log: LogName, buffer: LogBuffer) {
    this.#log = log;
    this.#buffer = buffer;
  }

  replace(now: ReadonlyMap<string, { readonly row: Row; readonly value: number }>): void {
    for (const [key, old] of this.#told)
      if (!Object.is(now.get(key)?.value, old.value)) this.#buffer.row(this.#log, old.row, -1);
    const told = new Map<string, { readonly row: Row; readonly value: number }>();
    for (const [key, next] of now) {
      const old = this.#told.get(key);
      const same = old !== undefined && Object.is(old.value, next.value);
      if (!same) this.#buffer.row(this.#log, next.row, 1);
      told.set(key, same ? old : next);
    }
    this.#told = told;
  }
}

export class ProcessLog {
  readonly #o: ProcessLogOptions;
  readonly #metrics: Snapshot;
  readonly #usage: Snapshot;
  #metricsIntervalMs = 1000;
  #metricsAtMs = 0;

  constructor(options: ProcessLogOptions) {
    this.#o = options;
    this.#metrics = new Snapshot('mz_cluster_prometheus_metrics', options.buffer);
    this.#usage = new Snapshot('mz_cluster_replica_resource_usage', options.buffer);
  }

  /** 0: no metrics, and what was told is taken back. */
  setMetricsInterval(ms: number): void {
    this.#metricsIntervalMs = ms;
    this.#metricsAtMs = 0;
  }

  /** Called once an interval of the log; metrics are read as often as they are wanted, if that is less. */
  scrape(nowMs: number, logIntervalMs: number): void {
    this.#usage.replace(this.#usageRows());
    if (nowMs < this.#metricsAtMs) return;
    // Calls are never quite an interval apart.
    this.#metricsAtMs = nowMs + this.#metricsIntervalMs - logIntervalMs / 2;
    this.#metrics.replace(this.#metricsIntervalMs === 0 ? new Map() : this.#metricRows());
  }

  #usageRows(): Map<string, { row: Row; value: number }> {
    const rows = new Map<string, { row: Row; value: number }>();
    for (const { source, metric, value } of this.#o.usage())
      rows.set(`${source} ${metric}`, { row: [PROCESS, source, metric, Math.round(value)], value });
    return rows;
  }

  #metricRows(): Map<string, { row: Row; value: number }> {
    const rows = new Map<string, { row: Row; value: number }>();
    for (const s of this.#o.metrics.samples()) {
      const labels = this.#labels(s);
      rows.set(`${s.name} ${labels}`, {
        row: [PROCESS, s.name, s.type, labels, s.value, s.help],
        value: s.value,
      });
    }
    return rows;
  }

  #labels(s: Sample): string {
    const worker = `${this.#o.worker}`;
    const labels = new Map<string, string>();
    for (const [name, value] of s.labels)
      labels.set(name === 'worker' && value !== worker ? 'exported_worker' : name, value);
    labels.set('worker', worker);
    return canonicalJson(`{${[...labels].map(([k, v]) => `${jsonQuote(k)}: ${jsonQuote(v)}`).join(', ')}}`);
  }
}
