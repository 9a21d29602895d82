import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import { type CasMode, type CasOp, type CasResult, MemoryConsensus } from '../persist/consensus.ts';
import { accumulate, FENCE, ints, memoryShards, readAll, rows, SCHEMA } from '../persist/fixtures.ts';
import { GroupCommit } from './group-commit.ts';
import { TimestampOracle } from './timestamp-oracle.ts';

/** Fails once, after doing or instead of doing what it is asked; `meanwhile` happens before the caller hears of it. */
class Unsure extends MemoryConsensus {
  next: { readonly applies: boolean; readonly meanwhile: () => Promise<unknown> } | null = null;

  override async compareAndSet(ops: readonly CasOp[], mode: CasMode): Promise<CasResult[]> {
    const { next } = this;
    if (next === null) return super.compareAndSet(ops, mode);
    this.next = null;
    if (next.applies) await super.compareAndSet(ops, mode);
    await next.meanwhile();
    throw new SqlError('io_error', 'the disk did not say whether');
  }
}

async function member(consensus: Unsure) {
  const durable = memoryShards({ consensus });
  const memory = memoryShards();
  const shard = await durable.create('u1', { schema: SCHEMA, since: 1, fence: FENCE });
  const told: string[] = [];
  const group = new GroupCommit({
    oracle: new TimestampOracle({ nowMs: () => 1000, monotonicNs: () => 0 }, 10),
    stores: { durable, memory },
    fence: FENCE,
    timers: { after: () => () => undefined },
    logger: silentLogger,
    tickMs: 1000,
    fenced: (detail) => {
      told.push(detail);
      return new SqlError('admin_shutdown', 'another process leads');
    },
  });
  await group.write({ join: [{ shard, store: 'durable' }] });
  const write = () => group.write({ updates: new Map([['u1', [ints([[7, 0, 1]])]]]) });
  return { durable, shard, group, told, write };
}

test('a commit whose outcome is unknown is what the shards say it is', async () => {
  for (const applies of [true, false]) {
    const consensus = new Unsure();
    const { durable, shard, write } = await member(consensus);
    consensus.next = { applies, meanwhile: async () => undefined };
    let acknowledged = 0;
    for (let i = 0; i < 2; i++)
      await write().then(
        () => acknowledged++,
        (error: SqlError) => assert.equal(error.code, 'io_error'),
      );
    const { upper } = await shard.refresh();
    const listing = await shard.snapshot(upper - 1);
    const there = accumulate(await readAll(durable, listing.parts));
    listing.release();
    assert.deepEqual([...there], [[7, acknowledged]]);
  }
});

test('a write to a table that left while it waited is refused alone: others of its commit succeed', async () => {
  const { durable, group, write } = await member(new Unsure());
  const other = await durable.create('u2', { schema: SCHEMA, since: 1, fence: FENCE });
  await group.write({ join: [{ shard: other, store: 'durable' }] });
  const leaving = group.write({ leave: ['u1'] });
  // The commit of the one before has begun.
  await Promise.resolve();
  await Promise.resolve();
  const rest = [write(), group.write({ updates: new Map([['u2', [ints([[7, 0, 1]])]]]) })];
  await leaving;
  const [late, whole] = await Promise.allSettled(rest);
  assert.equal(late!.status === 'rejected' && (late!.reason as SqlError).code, 'undefined_table');
  assert.equal(whole!.status, 'fulfilled');
});

test('the upper that another generation moved is no sign that ours was applied', async () => {
  for (const applies of [true, false]) {
    const consensus = new Unsure();
    const { durable, told, write } = await member(consensus);
    const meanwhile = async (): Promise<void> => {
      const theirs = { generation: 2, start: 1 };
      const shard = await memoryShards({ consensus, blob: durable.stores.blob }).open('u1');
      assert.equal(await shard!.takeOver(theirs), null);
      await shard!.refresh();
      const { upper } = shard!;
      await shard!.compareAndAppend(theirs, {
        updates: [rows([])],
        expectedUpper: upper,
        newUpper: upper + 100_000,
      });
    };
    consensus.next = { applies, meanwhile };
    // Ours stood before theirs, or it never was.
    if (applies) await write();
    else await assert.rejects(write(), { code: 'admin_shutdown' });
    await assert.rejects(write(), { code: 'admin_shutdown' });
    assert.equal(told.length, 1);
  }
});
