import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffAt } from '../repr/batch.ts';
import { datumAt } from '../repr/datum.ts';
import { LogBuffer } from './log-buffer.ts';
import { MetricsRegistry } from './metrics-registry.ts';
import { ProcessLog, type ResourceUsage } from './process-log.ts';
import { type LogName, logDesc } from './relations.ts';

function setup() {
  const buffer = new LogBuffer();
  const metrics = new MetricsRegistry();
  const usage: ResourceUsage[] = [];
  const log = new ProcessLog({ worker: 1, metrics, usage: () => usage, buffer });
  const said = (): string[] => {
    const out: string[] = [];
    for (const [name, b] of buffer.take()) {
      const types = logDesc(name as LogName).columns.map((c) => c.type);
      for (let i = 0; i < b.length; i++)
        out.push(
          `${diffAt(b, i) > 0 ? '+' : '-'}${types.map((t, k) => String(datumAt(t, b.columns[k]!, i))).join(' ')}`,
        );
    }
    return out;
  };
  return { log, metrics, usage, said };
}

test('only rows that changed move', () => {
  const { log, metrics, usage, said } = setup();
  const a = metrics.counter({ name: 'a', help: 'counts' });
  const b = metrics.gauge({ name: 'b', help: 'stands', labels: { of: 'it' } });
  usage.push({ source: 'process', metric: 'rss_bytes', value: 7 });
  log.scrape(0, 1000);
  assert.deepEqual(said(), [
    '+0 process rss_bytes 7',
    '+0 a counter {"worker": "1"} 0 counts',
    '+0 b gauge {"of": "it", "worker": "1"} 0 stands',
  ]);
  a.add(2);
  log.scrape(999, 1000);
  assert.deepEqual(said(), [
    '-0 a counter {"worker": "1"} 0 counts',
    '+0 a counter {"worker": "1"} 2 counts',
  ]);
  b.set(Number.NaN);
  usage.length = 0;
  log.scrape(2000, 1000);
  assert.deepEqual(said(), [
    '-0 process rss_bytes 7',
    '-0 b gauge {"of": "it", "worker": "1"} 0 stands',
    '+0 b gauge {"of": "it", "worker": "1"} NaN stands',
  ]);
  log.scrape(3000, 1000);
  assert.deepEqual(said(), [], 'what is no number is still the same');
});

test('metrics are read as often as they are wanted, and taken back when they are not', () => {
  const { log, metrics, said } = setup();
  const a = metrics.counter({ name: 'a', help: 'counts' });
  log.setMetricsInterval(3000);
  const moved: number[] = [];
  for (let now = 0; now < 7000; now += 1000) {
    a.add();
    log.scrape(now, 1000);
    if (said().length > 0) moved.push(now);
  }
  assert.deepEqual(moved, [0, 3000, 6000]);
  log.setMetricsInterval(0);
  log.scrape(7000, 1000);
  assert.deepEqual(said(), ['-0 a counter {"worker": "1"} 7 counts']);
  log.scrape(8000, 1000);
  assert.deepEqual(said(), []);
});

test('a worker named by somebody else is told apart from the one that says it, also where they are the same', () => {
  const { log, metrics, said } = setup();
  const theirs = (name: string, labels: readonly (readonly [string, string])[]) =>
    metrics.addSource(() => [{ name, type: 'gauge', help: 'h', labels, value: 1 }]);
  theirs('a', [['worker', '9']]);
  theirs('a', [['worker', '1']]);
  theirs('a', []);
  theirs('b', [
    ['exported_worker', '7'],
    ['worker', '1'],
  ]);
  log.scrape(0, 1000);
  assert.deepEqual(said(), [
    '+0 a gauge {"worker": "1", "exported_worker": "9"} 1 h',
    '+0 a gauge {"worker": "1", "exported_worker": "1"} 1 h',
    '+0 a gauge {"worker": "1"} 1 h',
    '+0 b gauge {"worker": "1", "exported_worker": "7", "exported_exported_worker": "1"} 1 h',
  ]);
});

test('a sample that keeps its value and gets another type and text moves', () => {
  const { log, metrics, said } = setup();
  let of: { type: 'gauge' | 'counter'; help: string } = { type: 'gauge', help: 'old' };
  metrics.addSource(() => [{ name: 'a', labels: [], value: 1, ...of }]);
  log.scrape(0, 1000);
  said();
  of = { type: 'counter', help: 'new' };
  log.scrape(2000, 1000);
  assert.deepEqual(said(), ['-0 a gauge {"worker": "1"} 1 old', '+0 a counter {"worker": "1"} 1 new']);
});
