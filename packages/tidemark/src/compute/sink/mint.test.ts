/** What is minted, from the frontier of what is desired and what is known of the shard. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { capture } from '../../operators/capture.ts';
import { type InputHandle, source } from '../../operators/source.ts';
import { TestCluster } from '../../operators/test-cluster.ts';
import type { RefreshSchedule } from '../../time/refresh-schedule.ts';
import { MIN_TIME } from '../../time/timestamp.ts';
import { decodeControl } from '../control.ts';
import { type MintHandle, mint, type WriteDescription } from './mint.ts';

interface Minted {
  readonly bounds: readonly (readonly [number, number])[];
  /** What is desired has come that far. */
  desiredTo(frontier: number): void;
  /** So has the shard. */
  shardTo(upper: number): void;
}

interface Shown {
  readonly asOf: number;
  readonly since: number;
  readonly refresh?: RefreshSchedule;
}

function minting({ asOf, since, refresh }: Shown): Minted {
  const cluster = new TestCluster({ peers: 1, seed: 1 });
  const bounds: [number, number][] = [];
  const inputs: InputHandle[] = [];
  let handle!: MintHandle;
  cluster.workers[0]!.buildDataflow('sink', (scope) => {
    const [oks, errs] = [source(scope), source(scope)];
    const minted = mint(
      scope,
      { oks: oks.stream, errs: errs.stream },
      { owner: 0, asOf, mayWrite: true, refresh, since: () => since, firstWrite: () => MIN_TIME },
    );
    capture(scope, minted.descriptions, {
      batch: (b) => {
        for (const { value } of decodeControl<WriteDescription>(b)) bounds.push([value.lower, value.upper]);
      },
      frontier() {},
    });
    inputs.push(oks.handle, errs.handle);
    ({ handle } = minted);
  });
  return {
    bounds,
    desiredTo(frontier) {
      for (const i of inputs) i.advanceTo(frontier);
      cluster.settle();
    },
    shardTo(upper) {
      handle.shardMoved(upper);
      cluster.settle();
    },
  };
}

test('a description begins where the shard is and ends where what is desired is; one at a time', () => {
  const m = minting({ asOf: 9, since: 9 });
  m.shardTo(0);
  m.desiredTo(9);
  assert.deepEqual(m.bounds, [], 'nothing is computed yet');
  m.desiredTo(10);
  m.desiredTo(12);
  assert.deepEqual(m.bounds, [[0, 10]]);
  m.shardTo(10);
  assert.deepEqual(m.bounds.slice(1), [[10, 12]]);
});

test('none ends before the shard begins: what it said could not be read back', () => {
  const m = minting({ asOf: 9, since: 13 });
  m.shardTo(0);
  m.desiredTo(10);
  m.desiredTo(13);
  assert.deepEqual(m.bounds, []);
  m.desiredTo(14);
  assert.deepEqual(m.bounds, [[0, 14]]);
});

test('the time before the first refresh, where the shard begins, is said to be empty at once', () => {
  const m = minting({ asOf: 9, since: 40, refresh: { every: [], at: [40] } });
  m.shardTo(0);
  m.desiredTo(10);
  assert.deepEqual(m.bounds, [[0, 40]]);
});
