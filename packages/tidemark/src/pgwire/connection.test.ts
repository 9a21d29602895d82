import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CannedBackend } from './canned-backend.fixture.ts';
import { adminShutdown } from './connection.ts';
import { LIMITS } from './messages.ts';
import {
  bytes,
  cancel,
  fields,
  keyOf,
  message,
  send,
  settle,
  until,
  WireClient,
} from './wire-client.fixture.ts';

describe('cancelling and leaving', () => {
  it('cancels for the right secret alone', async () => {
    const client = new WireClient();
    const { pid, secret } = await keyOf(client);
    client.send(send.query('wait'));
    await until(() => client.backend.waiting === 1, 'the statement runs');
    await cancel(client, pid, Buffer.from(secret.map((byte) => byte ^ 1)));
    await cancel(client, pid + 1, secret);
    await cancel(client, pid, Buffer.alloc(0));
    assert.deepEqual(client.backend.sessions[0].calls, []);
    await cancel(client, pid, secret);
    const replies = await client.replies('Z');
    assert.equal(fields(replies[0])['C'], '57014');
  });

  it('does not let a late cancel hit anything', async () => {
    const client = new WireClient();
    const { pid, secret } = await keyOf(client);
    client.send(send.query('select 1'));
    await client.replies('Z');
    await cancel(client, pid, secret);
    client.send(send.query('select 2'));
    assert.equal(await client.types('Z'), 'TDCZ');
    assert.deepEqual(client.backend.sessions[0].calls, []);
  });

  it('survives a cancel at any moment of a statement', async () => {
    for (let turns = 0; turns < 12; turns++) {
      const client = new WireClient();
      const { pid, secret } = await keyOf(client);
      client.send(send.query('rows 1000'));
      for (let i = 0; i < turns; i++) await Promise.resolve();
      await cancel(client, pid, secret);
      const replies = await client.replies('Z');
      assert.match(replies.map((reply) => reply.type).join(''), /^(T?D*E|TD+C)Z$/);
      client.send(send.query('select 2'));
      assert.equal(await client.types('Z'), 'TDCZ');
      assert.equal(client.backend.results, 0);
    }
  });

  it('frees a waiting statement at once when the client leaves', async () => {
    const client = await WireClient.ready();
    client.send(send.query('wait'));
    await until(() => client.backend.waiting === 1, 'the statement runs');
    client.connection.disconnected();
    assert.equal(client.backend.open.size, 0, 'closed before anything else happens');
    client.connection.disconnected();
    await client.finished;
    assert.deepEqual(client.backend.sessions[0].calls, ['close']);
  });

  it('closes the session of a client that left while it connected', async () => {
    const backend = new CannedBackend();
    const gate = Promise.withResolvers<void>();
    const connect = backend.connect.bind(backend);
    backend.connect = async (startup, client) => {
      await gate.promise;
      return connect(startup, client);
    };
    const client = new WireClient({ backend });
    client.send(send.startup());
    await settle();
    client.hangUp();
    gate.resolve();
    await client.finished;
    assert.equal(backend.sessions.length, 1);
    assert.equal(backend.open.size, 0);
  });

  it('frees a result in the middle when the client leaves', async () => {
    const client = await WireClient.ready();
    client.stall();
    client.send(send.query('endless'));
    await until(() => client.backend.pages > 0, 'a page');
    client.hangUp();
    await client.finished;
    assert.equal(client.backend.results, 0);
    assert.equal(client.backend.open.size, 0);
  });

  it('ends a session that the backend terminates, in the middle of a statement', async () => {
    const client = await WireClient.ready();
    client.send(send.query('wait'));
    await until(() => client.backend.waiting === 1, 'the statement runs');
    client.connection.terminate(adminShutdown());
    await client.finished;
    const replies = client.take();
    assert.equal(replies.length, 1);
    assert.equal(fields(replies[0])['C'], '57P01');
    assert.equal(fields(replies[0])['S'], 'FATAL');
    assert.ok(client.ended);
    assert.equal(client.backend.open.size, 0);
  });
});

describe('limits and order', () => {
  it('stops pulling rows while the client does not take them', async () => {
    const client = await WireClient.ready();
    client.stall();
    client.send(send.query('endless'));
    await until(() => client.backend.pages > 0, 'a page');
    await settle();
    const { pages } = client.backend;
    await settle();
    assert.equal(client.backend.pages, pages);
    assert.ok(pages <= 2, `${pages} pages ahead of the client`);
    client.drain();
    await until(() => client.backend.pages > pages + 100, 'more pages');
    client.hangUp();
    await client.finished;
  });

  it('stops reading while a statement runs and much waits, then goes on', async () => {
    const client = new WireClient();
    const { pid, secret } = await keyOf(client);
    client.send(send.query('wait'));
    await until(() => client.backend.waiting === 1, 'the statement runs');
    const filler = send.query(`select 1${' '.repeat(100_000)}`);
    let sent = 0;
    while (!client.paused) {
      client.send(filler);
      sent++;
    }
    assert.ok(sent * filler.length > LIMITS.inputHighWater);
    assert.ok(sent * filler.length < LIMITS.inputHighWater + 2 * filler.length);
    await cancel(client, pid, secret);
    assert.equal(await client.types('Z', sent + 1), `EZ${'TDCZ'.repeat(sent)}`);
    assert.equal(client.paused, false);
  });

  it('does not stop reading a large message that it waits for', async () => {
    const client = await WireClient.ready();
    const large = send.query(`select 1${' '.repeat(3 * LIMITS.inputHighWater)}`);
    for (let at = 0; at < large.length; at += 65_536) {
      assert.equal(client.paused, false);
      client.send(large.subarray(at, at + 65_536));
      await Promise.resolve();
      await Promise.resolve();
      await Promise.resolve();
      await Promise.resolve();
    }
    assert.equal(await client.types('Z'), 'TDCZ');
  });

  it('gives other clients a turn in a long pipeline', async () => {
    const client = await WireClient.ready();
    let others = 0;
    const tick = () => {
      others++;
      if (!client.ended) setImmediate(tick);
    };
    setImmediate(tick);
    client.send(...Array.from({ length: 5_000 }, () => send.sync()), send.terminate());
    await client.finished;
    assert.ok(others > 20, `${others} turns of others`);
  });

  it('ends the connection where the stream has no meaning any more', async () => {
    for (const [frame, code] of [
      [bytes(81, { long: LIMITS.message + 1 }), '54000'],
      [bytes(81, { long: 2 }), '08P01'],
      [bytes(200, { long: 4 }), '08P01'],
      [message(81, Buffer.from('no end')), '08P01'],
      [message(83, 0), '08P01'],
      [send.password('late'), '08P01'],
      [Buffer.concat([send.flush(), bytes(200, { long: 4 })]), '08P01'],
      [message(80, 'name', 'text', { short: 9 }), '08P01'],
    ] as const) {
      const client = await WireClient.ready();
      client.send(frame, send.query('select 1'));
      await client.finished;
      const replies = client.take();
      assert.equal(replies.length, 1);
      assert.equal(fields(replies[0])['C'], code);
      assert.equal(fields(replies[0])['S'], 'FATAL');
      assert.equal(client.backend.open.size, 0);
    }
  });

  it('ends it at an unknown message also while it skips to Sync', async () => {
    const client = await WireClient.ready();
    client.send(send.parse('nonsense'), send.parse('select 1'), bytes(200, { long: 4 }), send.sync());
    await client.finished;
    const replies = client.take();
    assert.deepEqual(
      replies.map((reply) => fields(reply)['S']),
      ['ERROR', 'FATAL'],
    );
  });

  it('outlives a session that fails to close', async () => {
    const client = await WireClient.ready();
    client.backend.sessions[0].close = () => {
      throw new TypeError('x is not a function');
    };
    client.connection.disconnected();
    await client.finished;
    assert.equal(client.registry.size, 0);
  });

  it('ends at Terminate, whatever follows', async () => {
    const client = await WireClient.ready();
    client.send(send.query('begin'), send.terminate(), send.query('select 1'));
    await client.finished;
    assert.equal(
      client
        .take()
        .map((reply) => reply.type)
        .join(''),
      'CZ',
    );
    assert.deepEqual(client.backend.sessions[0].calls, ['close']);
  });
});
