/** Parts that are staged and never appended are given up, however it comes that they are not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlError } from '../../base/error.ts';
import { type InputHandle, source } from '../../operators/source.ts';
import { TestCluster } from '../../operators/test-cluster.ts';
import type { Shard } from '../../persist/shard.ts';
import type { AppendResult, Part } from '../../persist/shard-types.ts';
import { batchOf } from '../../repr/rows.ts';
import { type } from '../../repr/types.ts';
import { MIN_TIME } from '../../time/timestamp.ts';
import { append } from './append.ts';
import { mint } from './mint.ts';
import { write } from './write.ts';

const PART = {
  key: 'u1/part',
  inline: null,
  rows: 1,
  retractions: 0,
  bytes: 9,
  minTime: 9,
  maxTime: 9,
} as Part;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A sink with one row to write, as of 9; its shard is a promise for each staging and each append. */
async function sink() {
  const cluster = new TestCluster({ peers: 1, seed: 1 });
  const stagings: PromiseWithResolvers<Part[]>[] = [];
  const appends: PromiseWithResolvers<AppendResult>[] = [];
  const discarded: (string | null)[] = [];
  const errors: unknown[] = [];
  const desired: InputHandle[] = [];
  const under = <T>(list: PromiseWithResolvers<T>[]): Promise<T> => {
    list.push(Promise.withResolvers<T>());
    return list.at(-1)!.promise;
  };
  const dataflow = cluster.workers[0]!.buildDataflow('sink', (scope) => {
    const [oks, errs, readOks, readErrs] = [source(scope), source(scope), source(scope), source(scope)];
    desired.push(oks.handle, errs.handle);
    const wanted = { oks: oks.stream, errs: errs.stream };
    const io = {
      discard: async (parts: readonly Part[]) => void discarded.push(...parts.map((p) => p.key)),
      onError: (error: unknown) => void errors.push(error),
      onRetry: () => undefined,
      pause: () => Promise.resolve(),
    };
    const { descriptions, handle } = mint(scope, wanted, {
      ...{ owner: 0, asOf: 9, mayWrite: true, refresh: undefined },
      ...{ since: () => 9, firstWrite: () => MIN_TIME },
    });
    const staged = write(scope, wanted, { oks: readOks.stream, errs: readErrs.stream }, descriptions, {
      ...{ ...io, kinds: ['i32'], owner: 0, refresh: undefined },
      stage: () => under(stagings),
    });
    append(scope, descriptions, staged, {
      ...{ ...io, isOwner: true, fence: { generation: 1, exportId: 'u1' } },
      shard: Promise.resolve({
        compareAndAppend: () => under(appends),
        refresh: () => Promise.reject(new SqlError('io_error', 'no answer came')),
      } as unknown as Shard),
      onUpper: () => undefined,
      onFenced: () => undefined,
    });
    handle.shardMoved(0);
  });
  desired[0]!.push(batchOf([type('int4')], [[1]], { times: [9] }));
  for (const d of desired) d.advanceTo(10);
  cluster.settle();
  assert.equal(stagings.length, 1);
  return {
    ...{ cluster, dataflow, stagings, appends, discarded, errors },
    settle: async () => {
      await turn();
      cluster.settle();
      await turn();
    },
  };
}

const gone = (): SqlError => new SqlError('undefined_object', 'shard u1 was dropped');

test('the shard is gone when they are to be appended', async () => {
  const s = await sink();
  s.stagings[0]!.resolve([PART]);
  await s.settle();
  assert.deepEqual([s.appends.length, s.discarded], [1, []]);
  s.appends[0]!.reject(gone());
  await s.settle();
  assert.deepEqual([s.discarded, s.errors.length], [['u1/part'], 1]);
});

test('the sink is dropped while they are staged', async () => {
  const s = await sink();
  s.dataflow.drop();
  s.stagings[0]!.resolve([PART]);
  await s.settle();
  assert.deepEqual([s.appends.length, s.discarded, s.errors], [0, ['u1/part'], []]);
});

test('the sink is dropped while they are appended, and the shard with it', async () => {
  const s = await sink();
  s.stagings[0]!.resolve([PART]);
  await s.settle();
  s.dataflow.drop();
  s.appends[0]!.reject(gone());
  await s.settle();
  assert.deepEqual([s.discarded, s.errors], [['u1/part'], []]);
});

test('another one has written meanwhile', async () => {
  const s = await sink();
  s.stagings[0]!.resolve([PART]);
  await s.settle();
  s.appends[0]!.resolve({ kind: 'mismatch', shardId: 'u1', upper: 10 });
  await s.settle();
  assert.deepEqual([s.discarded, s.errors], [['u1/part'], []]);
});

test('not where an append may have named them: a refusal that follows an unknown outcome may be of itself', async () => {
  const s = await sink();
  s.stagings[0]!.resolve([PART]);
  await s.settle();
  s.appends[0]!.reject(new SqlError('io_error', 'no answer came'));
  await s.settle();
  assert.equal(s.appends.length, 2, 'it is tried again');
  s.appends[1]!.resolve({ kind: 'mismatch', shardId: 'u1', upper: 10 });
  await s.settle();
  s.dataflow.drop();
  await s.settle();
  assert.deepEqual([s.discarded, s.errors], [[], []]);
});
