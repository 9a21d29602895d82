import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ObjectStatus, ReplicaStatus, StatusReport } from '../adapter/status.ts';
import { duration, renderStatus } from './status-view.ts';

const object = (o: Partial<ObjectStatus>): ObjectStatus => ({
  ...{ id: 'u1', name: 'totals', kind: 'materialized-view', stage: 'written', reason: null, since: null },
  ...{
    blockedBy: null,
    details: null,
    rowsDone: null,
    rowsTotal: null,
    queueMs: null,
    computeMs: null,
    blockedMs: null,
    writeMs: null,
  },
  ...o,
});

const report = (r: Partial<ReplicaStatus>): StatusReport => ({
  ready: r.hydrated === true,
  missing: r.hydrated === true ? [] : [{ name: 'totals', replicaId: 'u1', reason: 'computing' }],
  at: '2026-11-29T18:00:00.000Z',
  clusters: [
    {
      id: 'u1',
      name: 'quickstart',
      waiting: [],
      replicas: [
        {
          ...{ id: 'u1', name: 'r1', workers: 2, connected: true, hydrated: false, reason: 'computing' },
          ...{ since: null, hydratedObjects: 1, slowest: 'totals', objects: [] },
          ...r,
        },
      ],
    },
  ],
});

test('a replica, its objects, why each is not done, and the parts of their lives to scale', () => {
  const objects = [
    object({ queueMs: 1000, computeMs: 2000, writeMs: 1000 }),
    object({
      name: 'by_day',
      stage: 'installed',
      reason: 'waiting_for_inputs',
      blockedBy: 'totals',
      queueMs: 3000,
    }),
    object({ name: 'idle', stage: null, reason: 'installing' }),
  ];
  const text = renderStatus(report({ objects }), { width: 100, color: false });
  assert.equal(
    text,
    [
      'quickstart.r1 · 2 workers · not hydrated (computing) · 1 of 3 objects · waits for totals',
      '  object  stage      why                         queue  compute  blocked  write',
      '  totals  written    done                         1.0s     2.0s        -   1.0s  ░░░░░█████████▓▓▓▓▓',
      '  by_day  installed  waiting_for_inputs: totals   3.0s        -        -      -  ░░░░░░░░░░░░░░',
      '  idle    -          installing                      -        -        -      -',
      '',
      'not ready: 1 thing is missing',
      '',
    ].join('\n'),
  );
});

test('hydrated: since when, and which object was slowest; no line is wider than the terminal that has room', () => {
  const r = {
    hydrated: true,
    reason: null,
    since: '2026-11-29T17:59:58.123Z',
    objects: [object({ computeMs: 5 })],
  };
  const text = renderStatus(report(r), { width: 120, color: false });
  assert.match(text, /hydrated since 17:59:58\.123 · 1 of 1 objects · slowest totals\n/);
  assert.match(text, /\nready\n$/);
  for (const width of [20, 80, 120, 300]) {
    const lines = renderStatus(report(r), { width, color: false }).split('\n').slice(1);
    const least = lines[0]!.length;
    for (const line of lines) assert.ok(line.length <= Math.max(width, least), `${width}: ${line}`);
  }
});

test('progress is told while it computes, and 100 % not before it is there', () => {
  const of = (rowsDone: number | null, reason = 'computing'): string => {
    const objects = [object({ reason, stage: 'started', rowsDone, rowsTotal: 1000 })];
    const [, , line] = renderStatus(report({ objects }), { width: 120, color: false }).split('\n');
    return line!.trim().split(/ {2,}/)[2]!;
  };
  assert.deepEqual(
    [of(0), of(456), of(999), of(null)],
    ['computing 0 %', 'computing 45 %', 'computing 99 %', 'computing'],
  );
  assert.equal(of(1000, 'writing'), 'writing');
});

test('colours change nothing but colours', () => {
  const r = { objects: [object({ queueMs: 10, computeMs: 20, blockedMs: 5, writeMs: 5 })] };
  const [plain, colored] = [false, true].map((color) => renderStatus(report(r), { width: 120, color }));
  assert.notEqual(colored, plain);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  assert.equal(colored!.replaceAll(/\u001b\[\d+m/g, ''), plain);
});

test('a cluster without replicas names what nothing maintains', () => {
  const empty: StatusReport = {
    ...report({ hydrated: true }),
    clusters: [{ id: 'u2', name: 'idle', replicas: [], waiting: ['j'] }],
  };
  assert.equal(
    renderStatus(empty, { width: 80, color: false }),
    'idle · no replica · nothing maintains j\n\nready\n',
  );
});

test('durations keep three digits', () => {
  const shown = [null, 0, 0.85, 1, 12.4, 999, 4512, 59_949, 59_951, 190_000, 3_599_600, 7_500_000].map(
    duration,
  );
  const expected = [
    '-',
    '0µs',
    '850µs',
    '1ms',
    '12ms',
    '999ms',
    '4.5s',
    '59.9s',
    '1m00s',
    '3m10s',
    '1h00m',
    '2h05m',
  ];
  assert.deepEqual(shown, expected);
});
