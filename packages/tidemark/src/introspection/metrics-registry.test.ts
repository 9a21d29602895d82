import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MetricsRegistry } from './metrics-registry.ts';

const texts = (r: MetricsRegistry): string[] =>
  Array.from(r.samples(), (s) => `${s.name}{${s.labels.map(([k, v]) => `${k}=${v}`).join()}} ${s.value}`);

test('counters, gauges and histograms become samples', () => {
  const r = new MetricsRegistry();
  r.counter({ name: 'peeks_total', help: 'reads' }).add(3);
  r.gauge({ name: 'bytes', help: 'memory', labels: { of: 'arrangements' } }).set(7);
  const h = r.histogram({ name: 'seconds', help: 'time', bounds: [0.1, 1] });
  for (const v of [0.1, 0.5, 5]) h.observe(v);
  assert.deepEqual(texts(r), [
    'peeks_total{} 3',
    'bytes{of=arrangements} 7',
    'seconds_bucket{le=0.1} 1',
    'seconds_bucket{le=1} 2',
    'seconds_bucket{le=+Inf} 3',
    'seconds_sum{} 5.6',
    'seconds_count{} 3',
  ]);
});

test('a source is asked until it is taken away, and never says again what another has said', () => {
  const r = new MetricsRegistry();
  const sample = { name: 'a', type: 'gauge', help: '', labels: [], value: 1 } as const;
  const stop = r.addSource(() => [sample]);
  r.addSource(() => [{ ...sample, value: 2 }]);
  assert.deepEqual(texts(r), ['a{} 1']);
  stop();
  assert.deepEqual(texts(r), ['a{} 2']);
});
