import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GlobalId } from '../base/ids.ts';
import { ClosedLives, type EndedLife } from './closed-lives.ts';
import type { LifeClosedResponse, LifecycleResponse, Response } from './protocol.ts';

function life(id: string, n: number): EndedLife {
  const installed: LifecycleResponse = {
    kind: 'lifecycle',
    worker: 1,
    id: id as GlobalId,
    stage: 'installed',
    occurredAt: 100 * n,
    reason: 'commanded',
    asOf: n,
    life: n,
  };
  return { id: id as GlobalId, told: [installed], peakBytes: 8 * n };
}

const brief = (rs: readonly Response[]): string[] =>
  rs.map((r) => {
    assert.equal(r.kind, 'lifeClosed');
    const { id, sequence, peakBytes, cut, stages } = r as LifeClosedResponse;
    return `${id} ${stages.map((s) => s.stage)}, closed as ${sequence} at ${peakBytes}, ${cut} cut`;
  });

test('a closed life is told once, and again with its stages until it is acknowledged', () => {
  const sent: Response[] = [];
  const lives = new ClosedLives({ worker: 1, send: (r) => sent.push(r) });
  lives.close(life('u1', 1));
  lives.close(life('u2', 2));
  assert.deepEqual(brief(sent.splice(0)), [
    'u1 installed, closed as 1 at 8, 0 cut',
    'u2 installed, closed as 2 at 16, 0 cut',
  ]);
  lives.repeat();
  assert.deepEqual(brief(sent.splice(0)), [
    'u1 installed, closed as 1 at 8, 0 cut',
    'u2 installed, closed as 2 at 16, 0 cut',
  ]);
  lives.acknowledged(1);
  lives.acknowledged(1);
  lives.repeat();
  assert.deepEqual(brief(sent.splice(0)), ['u2 installed, closed as 2 at 16, 0 cut']);
  lives.acknowledged(2);
  assert.equal(lives.size, 0);
});

test('what is not of a user is nobody’s history', () => {
  const sent: Response[] = [];
  const lives = new ClosedLives({ worker: 1, send: (r) => sent.push(r) });
  for (const id of ['t1', 'si2', 's3']) lives.close(life(id, 1));
  assert.deepEqual([sent, lives.size], [[], 0]);
});

test('an environment that stays away costs no memory without end, and hears what was cut', () => {
  const sent: Response[] = [];
  const lives = new ClosedLives({ worker: 1, send: (r) => sent.push(r), limit: 2 });
  for (let n = 1; n <= 4; n++) lives.close(life(`u${n}`, n));
  assert.equal(lives.size, 2);
  sent.length = 0;
  lives.repeat();
  assert.deepEqual(brief(sent), [
    'u3 installed, closed as 3 at 24, 2 cut',
    'u4 installed, closed as 4 at 32, 2 cut',
  ]);
});
