import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bytes, cells, fields, message, send, WireClient } from './wire-client.fixture.ts';

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

  it('lets a backend send notices while it cleans up after a broken row', async () => {
    const client = await WireClient.ready();
    const [session] = client.backend.sessions;
    const simple = session.simple.bind(session);
    session.simple = async function* (text) {
      for await (const outcome of simple(text)) {
        if (outcome.kind !== 'rows') throw new TypeError('the statement has rows');
        const close = () =>
          session.client.notice({ severity: 'NOTICE', code: 'warning', message: 'cleaning up' });
        yield { ...outcome, close };
      }
    };
    client.send(send.query('bad cell'));
    assert.equal(await client.types('Z'), 'TDNEZ');
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
