import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cancel, fields, keyOf, send, until, WireClient } from './wire-client.fixture.ts';

describe('COPY', () => {
  it('takes data, with the noise that libraries add', async () => {
    const client = await WireClient.ready();
    client.send(send.query('copy t from stdin'));
    assert.equal(await client.types('G'), 'G');
    client.send(
      send.copyData('1\tone\n2\t'),
      send.flush(),
      send.sync(),
      send.copyData('two\n'),
      send.copyDone(),
    );
    const replies = await client.replies('Z');
    assert.equal(replies.map((reply) => reply.type).join(''), 'CZ');
    assert.equal(replies[0].body.toString(), 'COPY 2\0');
    assert.deepEqual(client.backend.copied, ['1\tone\n2\ttwo\n']);
  });

  it('fails when the client says so', async () => {
    const client = await WireClient.ready();
    client.send(
      send.query('copy t from stdin; select 1'),
      send.copyData('1'),
      send.copyFail('changed my mind'),
    );
    const replies = await client.replies('Z');
    assert.equal(replies.map((reply) => reply.type).join(''), 'GEZ');
    assert.equal(fields(replies[1])['C'], '57014');
    assert.equal(fields(replies[1])['M'], 'COPY from stdin failed: changed my mind');
  });

  it('forgets the data that follows an error', async () => {
    const client = await WireClient.ready();
    client.send(
      send.query('copy broken from stdin'),
      send.copyData('1\n'),
      send.copyData('2\n'),
      send.copyDone(),
    );
    client.send(send.query('select 1'));
    assert.equal(await client.types('Z', 2), 'GEZTDCZ');
    client.send(
      send.parse('copy broken from stdin'),
      send.bind(),
      send.execute(),
      send.copyData('1'),
      send.copyDone(),
    );
    client.send(send.sync(), send.query('select 1'));
    assert.equal(await client.types('Z', 2), '12GEZTDCZ');
  });

  it('reads to the end for a backend that did not', async () => {
    const client = await WireClient.ready();
    client.send(
      send.query('copy lazy from stdin'),
      send.copyData('1\n'),
      send.copyDone(),
      send.query('select 1'),
    );
    assert.equal(await client.types('Z', 2), 'GCZTDCZ');
  });

  it('is cancelled while it waits for data, and takes none of what follows', async () => {
    const client = new WireClient();
    const { pid, secret } = await keyOf(client);
    client.send(send.query('copy patient from stdin'), send.copyData('1\n'));
    await client.replies('G');
    await until(() => client.backend.copyChunks === 1, 'the first chunk is read');
    await cancel(client, pid, secret);
    assert.equal(await client.types('Z'), 'EZ');
    client.send(send.copyData('2\n'), send.copyDone(), send.query('select 1'));
    assert.equal(await client.types('Z'), 'TDCZ');
    assert.equal(client.backend.copyChunks, 1);
  });

  it('ends the connection at a message that does not belong there', async () => {
    const client = await WireClient.ready();
    client.send(send.query('copy t from stdin'), send.query('select 1'));
    await client.finished;
    const error = fields(client.take().at(-1));
    assert.equal(error['C'], '08P01');
    assert.equal(error['S'], 'FATAL');
    assert.match(error['M'], /0x51 during COPY/);
  });

  it('ends with the client', async () => {
    for (const leave of [(c: WireClient) => c.send(send.terminate()), (c: WireClient) => c.hangUp()]) {
      const client = await WireClient.ready();
      client.send(send.query('copy t from stdin'), send.copyData('1'));
      await client.replies('G');
      leave(client);
      await client.finished;
      assert.equal(client.backend.open.size, 0);
      assert.deepEqual(client.backend.copied, []);
    }
  });

  it('sends data out', async () => {
    const client = await WireClient.ready();
    client.send(send.query('copy 3 to stdout'));
    const replies = await client.replies('Z');
    assert.equal(replies.map((reply) => reply.type).join(''), 'HdddcCZ');
    assert.equal(replies[3].body.toString(), '3\trow 3\n');
    assert.equal(replies[5].body.toString(), 'COPY 3\0');
    assert.equal(client.backend.results, 0);
  });

  it('streams a subscription until it is cancelled', async () => {
    const client = new WireClient();
    const { pid, secret } = await keyOf(client);
    client.send(send.query('copy changes to stdout'));
    assert.equal(await client.types('d'), 'Hd', 'sent before the next change');
    await cancel(client, pid, secret);
    const replies = await client.replies('Z');
    assert.equal(fields(replies[0])['C'], '57014');
    assert.equal(client.backend.results, 0);
  });
});
