/**
 * What is read now and then and not told by events: the metrics of a worker's registry, and what its process takes of the machine. Each scrape is
 * compared with the one before, and only rows that changed move.
 *
 * Every worker scrapes its own registry; the label `worker`, which it adds to every sample, keeps the rows of one process apart. A sample
 * that has such a label carries it as `exported_worker`, as Prometheus does: always, for which worker keeps a sink's samples is a hash's choice.
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
  #told: ReadonlyMap<string, Row> = new Map();

  constructor(log: LogName, buffer: LogBuffer) {
    this.#log = log;
    this.#buffer = buffer;
  }

  /** Any column may have moved: a sample keeps its value and gets another help text. */
  replace(now: ReadonlyMap<string, Row>): void {
    for (const [key, old] of this.#told)
      if (!sameRow(now.get(key), old)) this.#buffer.row(this.#log, old, -1);
    for (const [key, next] of now)
      if (!sameRow(this.#told.get(key), next)) this.#buffer.row(this.#log, next, 1);
    this.#told = now;
  }
}

const sameRow = (a: Row | undefined, b: Row): boolean => a?.every((v, k) => Object.is(v, b[k])) === true;

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

  #usageRows(): Map<string, Row> {
    const rows = new Map<string, Row>();
    for (const { source, metric, value } of this.#o.usage())
      rows.set(`${source} ${metric}`, [PROCESS, source, metric, Math.round(value)]);
    return rows;
  }

  #metricRows(): Map<string, Row> {
    const rows = new Map<string, Row>();
    for (const s of this.#o.metrics.samples()) {
      const labels = this.#labels(s);
      rows.set(`${s.name} ${labels}`, [PROCESS, s.name, s.type, labels, s.value, s.help]);
    }
    return rows;
  }

  #labels(s: Sample): string {
    const labels = new Map<string, string>(s.labels);
    const theirs = labels.get('worker');
    if (theirs !== undefined) {
      let name = 'exported_worker';
      while (labels.has(name)) name = `exported_${name}`;
      labels.set(name, theirs);
    }
    labels.set('worker', `${this.#o.worker}`);
    return canonicalJson(`{${[...labels].map(([k, v]) => `${jsonQuote(k)}: ${jsonQuote(v)}`).join(', ')}}`);
  }
}
