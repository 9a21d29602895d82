/**
 * Random bytes and random messages against a whole connection. It must neither crash, nor hang, nor leave a
 * session or result open, and it must answer each Sync and Query with exactly one ReadyForQuery while it lives.
 * Cannot see: wrong contents of answers (`connection.test.ts`), sockets (`host/pg-server.test.ts`).
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LIMITS } from './messages.ts';
import { message, type Reply, send, settle, until, WireClient } from './wire-client.fixture.ts';

const parameters = { seed: Number(process.env['SEED'] ?? 7), numRuns: Number(process.env['RUNS'] ?? 300) };

/** The stream in pieces, with turns of the event loop between some; then the client leaves. */
async function feed(client: WireClient, stream: Uint8Array, cuts: readonly number[]): Promise<void> {
  for (let at = 0, i = 0; at < stream.length && !client.ended; i++) {
    const size = cuts[i % cuts.length] + 1;
    client.send(stream.subarray(at, at + size));
    at += size;
    if (i % 3 === 0) await Promise.resolve();
    if (i % 50 === 0) await settle();
  }
  await settle();
}

async function endsClean(client: WireClient): Promise<Reply[]> {
  client.hangUp();
  await client.finished;
  await until(() => client.backend.open.size === 0 && client.backend.results === 0, 'everything is closed');
  assert.equal(client.registry.size, 0);
  return client.take();
}

const cuts = fc.array(fc.nat(200), { minLength: 1, maxLength: 10 });
const byte = fc.oneof({ weight: 2, arbitrary: fc.nat(255) }, { weight: 1, arbitrary: fc.constant(0) });
const garbage = fc.array(byte, { maxLength: 300 }).map((list) => Uint8Array.from(list));

describe('a connection under noise', () => {
  it('survives random bytes before start-up', async () => {
    await fc.assert(
      fc.asyncProperty(garbage, cuts, async (stream, sizes) => {
        const client = new WireClient();
        await feed(client, stream, sizes);
        await endsClean(client);
      }),
      parameters,
    );
  });

  it('survives random bodies of known types after start-up', async () => {
    const frame = fc.tuple(fc.constantFrom(...'BCDEHPQSXdcfFpzZ'), garbage);
    await fc.assert(
      fc.asyncProperty(fc.array(frame, { maxLength: 10 }), garbage, cuts, async (frames, tail, sizes) => {
        const client = await WireClient.ready();
        await feed(
          client,
          Buffer.concat([...frames.map(([type, body]) => message(type.charCodeAt(0), body)), tail]),
          sizes,
        );
        await endsClean(client);
      }),
      parameters,
    );
  });

  it('answers every Sync and Query once, in any order of well-formed messages', async () => {
    const texts = [
      'select 1',
      '',
      'rows 250',
      'fail',
      'crash',
      'begin',
      'rollback',
      'notice',
      'fail after 120',
      'echo $1',
      'nonsense',
    ];
    const text = fc.constantFrom(...texts);
    const name = fc.constantFrom('', 'a');
    const ready = fc.oneof(fc.constant(send.sync()), text.map(send.query));
    const silent = fc.oneof(
      fc.tuple(text, name).map(([sql, statement]) => send.parse(sql, statement)),
      fc
        .tuple(name, name)
        .map(([portal, statement]) => send.bind(['x'], { portal, statement, formats: [1] })),
      fc
        .tuple(fc.constantFrom('S' as const, 'P' as const), name)
        .map(([kind, target]) => send.describe(kind, target)),
      fc.tuple(fc.nat(3), name).map(([maxRows, portal]) => send.execute(maxRows, portal)),
      fc
        .tuple(fc.constantFrom('S' as const, 'P' as const), name)
        .map(([kind, target]) => send.closeTarget(kind, target)),
      fc.constantFrom(send.flush(), send.copyData('stray'), send.copyDone(), send.copyFail('stray')),
    );
    const step = fc.oneof(
      ready.map((frame) => ({ frame, isReady: true })),
      silent.map((frame) => ({ frame, isReady: false })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), cuts, async (steps, sizes) => {
        const client = await WireClient.ready();
        // A Query inside a failed batch is skipped with the rest; a Sync before each keeps the count simple.
        const frames = steps.flatMap(({ frame, isReady }) => (isReady ? [send.sync(), frame] : [frame]));
        const expected = 2 * steps.filter(({ isReady }) => isReady).length + 1;
        await feed(client, Buffer.concat([...frames, send.sync()]), sizes);
        const replies = await client.replies('Z', expected);
        assert.equal(replies.filter(({ type }) => type === 'Z').length, expected);
        assert.ok(!client.ended);
        await endsClean(client);
      }),
      parameters,
    );
  });

  it('leaves nothing behind when the client leaves in the middle', async () => {
    const text = fc.constantFrom(
      'endless',
      'wait',
      'copy t from stdin',
      'copy changes to stdout',
      'copy 5000 to stdout',
      'rows 9999',
    );
    await fc.assert(
      fc.asyncProperty(text, fc.boolean(), fc.boolean(), fc.nat(8), async (sql, extended, stalled, turns) => {
        const client = await WireClient.ready();
        if (stalled) client.stall();
        if (extended) client.send(send.parse(sql), send.bind(), send.execute(0), send.sync());
        else client.send(send.query(sql));
        for (let i = 0; i < turns; i++) await client.turn();
        await endsClean(client);
      }),
      { ...parameters, numRuns: Math.min(parameters.numRuns, 100) },
    );
  });

  it('never holds more than the limit for a client it does not know', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: LIMITS.beforeAuthentication + 1, max: 0x7fffffff }),
        async (length) => {
          const client = new WireClient();
          const head = Buffer.alloc(4);
          head.writeInt32BE(length);
          client.send(head);
          await client.finished;
          assert.ok(client.ended);
        },
      ),
      parameters,
    );
  });
});
