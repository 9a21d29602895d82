import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SqlError } from '../base/error.ts';
import { nodeScramCrypto, scramAuth } from '../host/scram-auth.ts';
import { CannedBackend } from './canned-backend.fixture.ts';
import { adminShutdown } from './connection.ts';
import { LIMITS } from './messages.ts';
import { bytes, cells, fields, message, send, settle, until, WireClient } from './wire-client.fixture.ts';

/** The parts of BackendKeyData. */
async function keyOf(client: WireClient): Promise<{ pid: number; secret: Buffer }> {
  client.send(send.startup());
  const key = (await client.replies('Z')).find((reply) => reply.type === 'K');
  assert.ok(key !== undefined);
  return { pid: key.body.readInt32BE(0), secret: key.body.subarray(4) };
}

/** Sends a cancel request on a connection of its own. */
async function cancel(client: WireClient, pid: number, secret: Uint8Array): Promise<void> {
  const other = new WireClient({ registry: client.registry });
  other.send(send.cancel(pid, secret));
  await other.finished;
  assert.ok(other.ended);
  assert.deepEqual(other.take(), []);
}

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

describe('simple queries', () => {
  it('answers each statement, then once that it is ready', async () => {
    const client = await WireClient.ready();
    client.send(send.query('select 1; begin; rows 2; insert 5'));
    const replies = await client.replies('Z');
    assert.equal(replies.map((reply) => reply.type).join(''), 'TDCCTDDCCZ');
    assert.deepEqual(cells(replies[1]), ['1']);
    const tags = replies.filter(({ type }) => type === 'C').map(({ body }) => body.toString());
    assert.deepEqual(tags, ['SELECT 1\0', 'BEGIN\0', 'SELECT 2\0', 'INSERT 0 5\0']);
    assert.equal(replies.at(-1)?.body.toString(), 'T');
    assert.equal(client.backend.results, 0);
  });

  it('answers a query without a statement', async () => {
    const client = await WireClient.ready();
    for (const text of ['', '  ;; ']) {
      client.send(send.query(text));
      assert.equal(await client.types('Z'), 'IZ');
    }
  });

  it('sends all fields of an error, and stops there', async () => {
    const client = await WireClient.ready();
    client.send(send.query('begin'), send.query('select 1; fail; select 2'));
    const replies = await client.replies('Z', 2);
    assert.equal(replies.map((reply) => reply.type).join(''), 'CZTDCEZ');
    assert.deepEqual(fields(replies.at(-2)), {
      ...{ S: 'ERROR', V: 'ERROR', C: '23505', M: 'duplicate key', D: 'the detail', H: 'the hint', P: '3' },
      ...{ s: 'public', t: 't', c: 'c', n: 't_pk' },
    });
    assert.equal(replies.at(-1)?.body.toString(), 'E');
  });

  it('reports a fault of ours as XX000 and lives on', async () => {
    const client = await WireClient.ready();
    client.send(send.query('crash'), send.query('select 1'));
    const replies = await client.replies('Z', 2);
    const error = fields(replies[0]);
    assert.equal(error['C'], 'XX000');
    assert.equal(error['M'], 'internal error: x is not a function');
    assert.equal(
      replies
        .slice(2)
        .map((reply) => reply.type)
        .join(''),
      'TDCZ',
    );
  });

  it('sends the rows before an error in the middle of a result', async () => {
    const client = await WireClient.ready();
    client.send(send.query('fail after 250'));
    const replies = await client.replies('Z');
    assert.equal(replies.filter(({ type }) => type === 'D').length, 200);
    assert.equal(fields(replies.at(-2))['C'], '22012');
    assert.equal(client.backend.results, 0);
  });

  it('keeps the rows before a row that the backend cannot write, and drops that one whole', async () => {
    const client = await WireClient.ready();
    for (const [text, expected] of [
      ['bad cell', 'internal error: the cell is broken'],
      ['two cells', 'internal error: each call of cell writes one cell'],
    ]) {
      client.send(send.query(text), send.query('select 1'));
      const replies = await client.replies('Z', 2);
      assert.equal(replies.map((reply) => reply.type).join(''), 'TDEZTDCZ');
      assert.deepEqual(cells(replies[1]), ['1', 'good']);
      assert.equal(fields(replies[2])['M'], expected);
      assert.deepEqual(cells(replies[5]), ['1']);
    }
  });

  it('passes notices and settings on', async () => {
    const client = await WireClient.ready();
    client.send(send.query('notice; set cluster c2'));
    const replies = await client.replies('Z');
    assert.equal(replies.map((reply) => reply.type).join(''), 'NCSCZ');
    assert.deepEqual(fields(replies[0]), {
      S: 'NOTICE',
      V: 'NOTICE',
      C: '01000',
      M: 'mind the gap',
      H: 'step over',
    });
    assert.equal(replies[2].body.toString(), 'cluster\0c2\0');
    client.backend.sessions[0].client.parameterStatus('cluster', 'c3');
    assert.equal(await client.types('S'), 'S', 'at once while idle');
  });

  it('takes text that is not UTF-8 for an error of the statement', async () => {
    const client = await WireClient.ready();
    client.send(message(81, Buffer.from([0x27, 0xff, 0x27, 0])), send.query('select 1'));
    const replies = await client.replies('Z', 2);
    assert.equal(fields(replies[0])['C'], '22021');
    assert.deepEqual(client.backend.sessions[0].calls, ['fail']);
  });

  it('refuses function calls and is ready again', async () => {
    const client = await WireClient.ready();
    client.send(message(70, { long: 1 }));
    const replies = await client.replies('Z');
    assert.equal(fields(replies[0])['C'], '0A000');
  });
});

describe('the extended protocol', () => {
  it('runs a prepared statement with parameters', async () => {
    const client = await WireClient.ready();
    client.send(
      ...[send.parse('echo $1, $2', 's1'), send.describe('S', 's1')],
      ...[send.bind(['grüße', null], { statement: 's1' }), send.describe('P'), send.execute(), send.sync()],
    );
    const replies = await client.replies('Z');
    assert.equal(replies.map((reply) => reply.type).join(''), '1tT2TDCZ');
    assert.deepEqual(replies[1].body, bytes({ short: 2 }, { long: 25 }, { long: 25 }));
    assert.deepEqual(cells(replies[5]), ['grüße', null]);
  });

  it('sends cells in the formats that Bind asks for', async () => {
    const client = await WireClient.ready();
    client.send(
      send.parse('types'),
      send.bind([], { formats: [1] }),
      send.describe('P'),
      send.execute(),
      send.sync(),
    );
    const [, , description, row] = await client.replies('Z');
    const long = Buffer.alloc(8);
    long.writeBigInt64BE(-9007199254740993n);
    const double = Buffer.alloc(8);
    double.writeDoubleBE(1.5);
    const text = Buffer.from('grüße 🌊');
    assert.deepEqual(
      row.body,
      bytes(
        ...[{ short: 8 }, { long: 1 }, 1, { long: 2 }, { short: 0xfffe }, { long: 4 }, { long: 70000 }],
        ...[
          { long: 8 },
          long,
          { long: 8 },
          double,
          { long: text.length },
          text,
          { long: 2 },
          0,
          255,
          { long: -1 },
        ],
      ),
    );
    assert.equal(description.body.readInt16BE(description.body.length - 2), 1);
    client.send(send.parse('types'), send.bind([], { formats: [1, 0] }), send.sync());
    assert.match(fields((await client.replies('Z'))[1])['M'], /2 result formats but the query has 8 columns/);
  });

  it('suspends a portal at the row limit and resumes it where it stood', async () => {
    const client = await WireClient.ready();
    client.send(send.parse('rows 5'), send.bind(), send.execute(2), send.execute(2), send.flush());
    const start = await client.replies('s', 2);
    assert.equal(start.map((reply) => reply.type).join(''), '12DDsDDs');
    assert.equal(client.backend.results, 1, 'a suspended portal stays open');
    client.send(send.execute(2), send.sync());
    const rest = await client.replies('Z');
    assert.equal(rest.map((reply) => reply.type).join(''), 'DCZ');
    assert.deepEqual(cells(rest[0]), ['5', 'row 5']);
    assert.equal(rest[1].body.toString(), 'SELECT 1\0');
    assert.equal(client.backend.results, 0);
  });

  it('suspends at the limit even when no row is left', async () => {
    const client = await WireClient.ready();
    client.send(send.parse('rows 2'), send.bind(), send.execute(2), send.execute(2), send.sync());
    assert.equal(await client.types('Z'), '12DDsCZ');
  });

  it('skips to Sync after an error', async () => {
    const client = await WireClient.ready();
    client.send(
      ...[send.parse('fail'), send.bind(), send.execute(), send.parse('select 1'), send.query('select 2')],
      ...[send.bind(), send.execute(), send.flush(), send.copyData('x'), message(70, 'f'), send.sync()],
      ...[send.parse('select 3'), send.bind(), send.execute(), send.sync()],
    );
    assert.equal(await client.types('Z', 2), '12EZ12DCZ');
  });

  it('reports each kind of missing name', async () => {
    const client = await WireClient.ready();
    for (const [frame, code] of [
      [send.bind([], { statement: 'none' }), '26000'],
      [send.describe('S', 'none'), '26000'],
      [send.describe('P', 'none'), '34000'],
      [send.execute(0, 'none'), '34000'],
      [send.parse('nonsense'), '42601'],
    ] as const) {
      client.send(frame, send.sync());
      assert.equal(fields((await client.replies('Z'))[0])['C'], code);
    }
    client.send(send.closeTarget('S', 'none'), send.closeTarget('P', 'none'), send.sync());
    assert.equal(await client.types('Z'), '33Z');
  });

  it('answers an empty statement and one without rows', async () => {
    const client = await WireClient.ready();
    client.send(send.parse(''), send.describe('S'), send.bind(), send.execute(), send.sync());
    assert.equal(await client.types('Z'), '1tn2IZ');
    client.send(send.parse('begin'), send.bind(), send.describe('P'), send.execute(), send.sync());
    const replies = await client.replies('Z');
    assert.equal(replies.map((reply) => reply.type).join(''), '12nCZ');
    assert.equal(replies.at(-1)?.body.toString(), 'T');
  });

  it('sends the answers of a pipeline together, in order', async () => {
    const client = await WireClient.ready();
    const writes = client.writes;
    const one = [send.parse('select 1'), send.bind(), send.execute(), send.sync()];
    client.send(Buffer.concat(Array.from({ length: 20 }, () => one).flat()));
    assert.equal(await client.types('Z', 20), '12DCZ'.repeat(20));
    assert.equal(client.writes, writes + 1);
  });

  it('does not hold answers of a pipeline back behind a long statement', async () => {
    const client = await WireClient.ready();
    client.send(Buffer.concat([send.query('select 1'), send.query('wait')]));
    assert.equal(await client.types('Z'), 'TDCZ');
    assert.equal(client.backend.waiting, 1);
    client.hangUp();
    await client.finished;
  });

  it('sends what waits when the client asks with Flush', async () => {
    const client = await WireClient.ready();
    client.send(send.parse('select 1'), send.describe('S'), send.flush());
    assert.equal(await client.types('T'), '1tT');
  });
});

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
