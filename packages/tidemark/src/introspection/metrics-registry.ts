/**
 * The metrics of one worker: counters, gauges and histograms that the engine keeps, and samples that others keep (a metric sink's rows).
 * Reading makes the samples; counting is a field of an object. Names and labels follow Prometheus.
 */
import { assert } from '../base/assert.ts';

export const METRIC_TYPES = ['counter', 'gauge', 'histogram', 'summary', 'untyped'] as const;
export type MetricType = (typeof METRIC_TYPES)[number];

export type Labels = readonly (readonly [name: string, value: string])[];

/** One number of a metric, as it is scraped. A histogram is a sample a bucket (`_bucket`, label `le`), and `_sum` and `_count`. */
export interface Sample {
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
  /** Sorted by name. */
  readonly labels: Labels;
  readonly value: number;
}

export interface MetricOptions {
  readonly name: string;
  readonly help: string;
  readonly labels?: Readonly<Record<string, string>>;
}

export class Counter {
  value = 0;
  add(n = 1): void {
    this.value += n;
  }
}

export class Gauge {
  value = 0;
  set(value: number): void {
    this.value = value;
  }
}

export class Histogram {
  /** Inclusive upper bounds, ascending. */
  readonly bounds: readonly number[];
  /** Of each bound alone, and of what is above all. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let i = 0;
    while (i < this.bounds.length && value > this.bounds[i]!) i++;
    this.counts[i]!++;
    this.sum += value;
  }
}

/** Samples that somebody else keeps. */
export type SampleSource = () => Iterable<Sample>;

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

export const isMetricName = (name: string): boolean => NAME.test(name);
/** Those that begin with two underscores are Prometheus's own. */
export const isLabelName = (name: string): boolean => LABEL.test(name) && !name.startsWith('__');

export const sortedLabels = (labels: Readonly<Record<string, string>>): Labels =>
  Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));

export class MetricsRegistry {
  readonly #sources = new Set<SampleSource>();

  counter(options: MetricOptions): Counter {
    const counter = new Counter();
    this.#keep(options, 'counter', () => counter.value);
    return counter;
  }

  gauge(options: MetricOptions): Gauge {
    const gauge = new Gauge();
    this.#keep(options, 'gauge', () => gauge.value);
    return gauge;
  }

  /** A gauge that is read when it is scraped. */
  observed(options: MetricOptions, read: () => number): void {
    this.#keep(options, 'gauge', read);
  }

  histogram(options: MetricOptions & { readonly bounds: readonly number[] }): Histogram {
    const { name, help } = options;
    const histogram = new Histogram(options.bounds);
    const labels = this.#labels(options);
    this.addSource(function* () {
      let below = 0;
      for (const [i, bound] of [...histogram.bounds, Number.POSITIVE_INFINITY].entries()) {
        below += histogram.counts[i]!;
        const le = bound === Number.POSITIVE_INFINITY ? '+Inf' : `${bound}`;
        const of = sortedLabels({ ...Object.fromEntries(labels), le });
        yield { name: `${name}_bucket`, type: 'histogram', help, labels: of, value: below };
      }
      yield { name: `${name}_sum`, type: 'histogram', help, labels, value: histogram.sum };
      yield { name: `${name}_count`, type: 'histogram', help, labels, value: below };
    });
    return histogram;
  }

  #labels({ name, labels = {} }: MetricOptions): Labels {
    assert(isMetricName(name), `${name} is a metric's name`);
    return sortedLabels(labels);
  }

  #keep(options: MetricOptions, type: MetricType, read: () => number): void {
    const labels = this.#labels(options);
    const { name, help } = options;
    this.addSource(() => [{ name, type, help, labels, value: read() }]);
  }

  /** Asked at each scrape, until the returned function is called. */
  addSource(source: SampleSource): () => void {
    this.#sources.add(source);
    return () => void this.#sources.delete(source);
  }

  /** What there is now. No two of one worker have the same name and labels; among sinks the first one counts. */
  *samples(): Iterable<Sample> {
    const seen = new Set<string>();
    for (const source of this.#sources)
      for (const sample of source()) {
        const key = JSON.stringify([sample.name, sample.labels]);
        if (seen.has(key)) continue;
        seen.add(key);
        yield sample;
      }
  }
}
