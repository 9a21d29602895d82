import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SqlError } from '../base/error.ts';
import { nodeScramCrypto, scramAuth } from '../host/scram-auth.ts';
import { LIMITS } from './messages.ts';
import { bytes, fields, message, send, settle, until, WireClient } from './wire-client.fixture.ts';

describe('start-up', () => {
  it('tells the settings, the key, and that it is ready', async () => {
    const client = new WireClient();
    client.send(
      send.startup({ user: 'ada', database: 'd', application_name: 'psql', options: '-c cluster=c1' }),
    );
    const replies = await client.replies('Z');
    assert.equal(
      replies
        .map((reply) => reply.type)
        .join('')
        .replace(/S+/, 'S'),
      'RSKZ',
    );
    assert.equal(replies[0].body.readInt32BE(0), 0);
    const settings = replies
      .filter(({ type }) => type === 'S')
      .map(({ body }) => body.toString().split('\0'));
    const found = Object.fromEntries(settings.map(([name, value]) => [name, value]));
    assert.match(found['server_version'], /^15\.0/);
    assert.equal(found['DateStyle'], 'ISO, MDY');
    assert.equal(found['TimeZone'], 'Etc/UTC', 'the session’s own value wins');
    assert.equal(found['session_authorization'], 'ada');
    assert.equal(found['application_name'], 'psql');
    assert.equal(replies.at(-1)?.body.toString(), 'I');
    const { startup } = client.backend.sessions[0];
    assert.equal(startup.database, 'd');
    assert.equal(startup.settings.get('cluster'), 'c1');
  });

  it('works however its bytes are cut', async () => {
    const stream = Buffer.concat([send.startup(), send.query('select 7; rows 2'), send.terminate()]);
    const whole = new WireClient();
    whole.send(stream);
    await whole.finished;
    const expected = whole.take();
    assert.ok(expected.length > 10);
    for (let cut = 1; cut < stream.length; cut++) {
      const client = new WireClient();
      client.send(stream.subarray(0, cut));
      await settle();
      client.send(stream.subarray(cut));
      await client.finished;
      assert.deepEqual(client.take(), expected, `cut at ${cut}`);
    }
    const single = new WireClient();
    for (const byte of stream) single.send(Uint8Array.of(byte));
    await single.finished;
    assert.deepEqual(single.take(), expected);
  });

  it('refuses encryption where there is none, and goes on in the clear', async () => {
    const client = new WireClient();
    client.send(send.untyped({ long: 80877104 }), send.untyped({ long: 80877103 }), send.startup());
    await until(() => client.writes > 0, 'an answer');
    assert.equal(client.rawByte() + client.rawByte(), 'NN');
    assert.match(await client.types('Z'), /^RS+KZ$/);
  });

  it('negotiates a newer minor version and unknown options down', async () => {
    const client = new WireClient();
    client.send(send.startup({ user: 'ada', '_pq_.wish': 'x' }, 0x30002));
    const [first] = await client.replies('Z');
    assert.equal(first.type, 'v');
    assert.deepEqual(first.body, bytes({ long: 0x30000 }, { long: 1 }, '_pq_.wish'));
  });

  it('refuses other protocols, missing users, unknown databases, large packets and garbage', async () => {
    for (const [stream, code] of [
      [send.startup({ user: 'ada' }, 0x20000), '0A000'],
      [send.startup({}), '28000'],
      [send.startup({ user: 'ada', database: 'nowhere' }), '3D000'],
      [send.startup({ user: 'ada', x: 'y'.repeat(LIMITS.beforeAuthentication) }), '54000'],
      [Buffer.from('GET / HTTP/1.1\r\n\r\n'), '54000'],
      [bytes({ long: 7 }, 0, 0, 0), '08P01'],
      [send.untyped({ long: 0x30000 }, 'user'), '08P01'],
    ] as const) {
      const client = new WireClient();
      client.send(stream);
      await client.finished;
      const error = fields(client.take().at(-1));
      assert.equal(error['C'], code);
      assert.equal(error['S'], 'FATAL');
      assert.ok(client.ended);
      assert.equal(client.backend.open.size, 0);
    }
  });

  it('does not read what was sent ahead of TLS', async () => {
    const client = new WireClient();
    Object.assign(client, { startTls: () => assert.fail('no handshake') });
    client.send(Buffer.concat([send.untyped({ long: 80877103 }), send.startup()]));
    await client.finished;
    assert.match(fields(client.take()[0])['M'], /unencrypted data after SSL request/);
  });

  it('may insist on TLS', async () => {
    const client = new WireClient({ requireTls: true });
    client.send(send.startup());
    await client.finished;
    assert.equal(fields(client.take()[0])['C'], '28000');
    const encrypted = new WireClient({ requireTls: true });
    Object.assign(encrypted, { startTls: async () => {} });
    encrypted.send(send.untyped({ long: 80877103 }));
    await until(() => encrypted.writes > 0, 'an answer');
    assert.equal(encrypted.rawByte(), 'S');
    encrypted.send(send.startup());
    await encrypted.replies('Z');
    assert.equal(encrypted.backend.sessions[0].startup.tls, true);
  });

  it('turns away who is one too many, after authentication', async () => {
    const client = new WireClient({
      admit: () => {
        throw new SqlError('too_many_connections', 'sorry, too many clients already');
      },
    });
    client.send(send.startup());
    await client.finished;
    const replies = client.take();
    assert.equal(fields(replies.at(-1))['C'], '53300');
    assert.equal(client.backend.sessions.length, 0);
  });

  it('stops quietly when the client leaves at any byte', async () => {
    const stream = Buffer.concat([send.startup(), send.query('rows 3'), send.parse('select 1')]);
    for (let cut = 0; cut < stream.length; cut++) {
      const client = new WireClient();
      client.send(stream.subarray(0, cut));
      await settle();
      client.hangUp();
      await client.finished;
      assert.equal(client.backend.open.size, 0);
      assert.equal(client.registry.size, 0);
    }
  });
});

describe('SCRAM on the wire', () => {
  /** The client's half for the user and nonce of the test. */
  async function login(user: string, password: string): Promise<WireClient> {
    const client = new WireClient({ auth: await scramAuth({ ada: 'pencil' }) });
    client.send(send.startup({ user }));
    const [sasl] = await client.replies('R');
    assert.deepEqual(sasl.body, bytes({ long: 10 }, 'SCRAM-SHA-256', 0));
    const first = 'n,,n=,r=abcdef';
    client.send(send.password('SCRAM-SHA-256', { long: first.length }, Buffer.from(first)));
    const [challenge] = await client.replies('R');
    const serverFirst = challenge.body.toString('utf8', 4);
    const [, nonce, salt] = /^r=(.*),s=(.*),i=4096$/.exec(serverFirst) ?? [];
    const { pbkdf2Sha256, hmacSha256, sha256 } = nodeScramCrypto;
    const salted = await pbkdf2Sha256(Buffer.from(password), Buffer.from(salt, 'base64'), 4096);
    const clientKey = await hmacSha256(salted, Buffer.from('Client Key'));
    const withoutProof = `c=biws,r=${nonce}`;
    const authMessage = Buffer.from(`n=,r=abcdef,${serverFirst},${withoutProof}`);
    const signature = await hmacSha256(await sha256(clientKey), authMessage);
    const proof = Buffer.from(clientKey.map((byte, i) => byte ^ signature[i])).toString('base64');
    client.send(send.password(Buffer.from(`${withoutProof},p=${proof}`)));
    return client;
  }

  it('lets the right password in', async () => {
    const client = await login('ada', 'pencil');
    assert.match(await client.types('Z'), /^RRS+KZ$/);
  });

  it('says the same to a wrong password and an unknown user', async () => {
    for (const [user, password] of [
      ['ada', 'pen'],
      ['bob', 'pencil'],
    ]) {
      const client = await login(user, password);
      await client.finished;
      const error = fields(client.take()[0]);
      assert.equal(error['C'], '28P01');
      assert.equal(error['M'], `password authentication failed for user "${user}"`);
      assert.equal(client.backend.sessions.length, 0);
    }
  });

  it('refuses other messages, mechanisms and long ones', async () => {
    for (const frame of [
      send.query('select 1'),
      send.password('SCRAM-SHA-1', { long: 0 }),
      send.password('SCRAM-SHA-256', { long: -1 }),
      send.password('SCRAM-SHA-256', { long: 3 }, Buffer.from('n,,')),
      message(112, Buffer.alloc(LIMITS.beforeAuthentication)),
    ]) {
      const client = new WireClient({ auth: await scramAuth({ ada: 'pencil' }) });
      client.send(send.startup(), frame);
      await client.finished;
      assert.match(fields(client.take().at(-1))['C'], /^(08P01|54000)$/);
      assert.equal(client.backend.sessions.length, 0);
    }
  });
});
