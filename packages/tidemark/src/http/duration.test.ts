import assert from 'node:assert/strict';
import { it } from 'node:test';
import { DURATION_UNITS, parseDurationMs } from './duration.ts';

it('reads durations to the millisecond', () => {
  const cases = {
    '0': 0,
    '500ms': 500,
    '10s': 10_000,
    '1.5s': 1_500,
    '0.001s': 1,
    '2m': 120_000,
    '1h': 3_600_000,
    '1d': 86_400_000,
  };
  for (const [text, ms] of Object.entries(cases)) assert.equal(parseDurationMs(text), ms, text);
  for (const unit of DURATION_UNITS) assert.notEqual(parseDurationMs(`1${unit}`), null);
});

it('refuses the rest', () => {
  const bad = [
    '',
    '10',
    's',
    '-1s',
    '1 s',
    '1S',
    '1e3s',
    '0.5ms',
    '.5s',
    '1.s',
    'NaNs',
    '999999999999999d',
    '1s2s',
    '1constructor',
  ];
  for (const text of bad) assert.equal(parseDurationMs(text), null, text);
});
