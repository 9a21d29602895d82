import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { expandFormats } from './formats.ts';
import { FrameReader } from './frame-reader.ts';
import { parseOptions, readBind, readExecute, readStartup, readTarget } from './requests.ts';
import { message, send } from './wire-client.fixture.ts';

function frame(stream: Uint8Array): FrameReader {
  const reader = new FrameReader();
  reader.push(stream);
  assert.ok(reader.next(true, 100_000));
  return reader;
}
const startup = (settings: Record<string, string>) =>
  readStartup(frame(message(0, ...Object.entries(settings).flat(), 0)));

describe('start-up packet', () => {
  it('sorts its settings', () => {
    const packet = startup({
      user: 'ada',
      options: '-c search_path=a,\\ b --statement-timeout=5s -cx=y=z',
      application_name: 'psql',
      '_pq_.fancy': '1',
    });
    assert.equal(packet.database, 'ada');
    assert.deepEqual(packet.unknownOptions, ['_pq_.fancy']);
    assert.deepEqual(Object.fromEntries(packet.settings), {
      application_name: 'psql',
      search_path: 'a, b',
      statement_timeout: '5s',
      x: 'y=z',
    });
  });

  it('needs a user, refuses replication and other encodings', () => {
    assert.throws(() => startup({ database: 'd' }), /no PostgreSQL user name/);
    assert.throws(() => startup({ user: 'u', replication: 'database' }), /replication/);
    assert.equal(startup({ user: 'u', replication: 'off' }).user, 'u');
    assert.throws(
      () => startup({ user: 'u', client_encoding: 'LATIN1' }),
      /conversion between LATIN1 and UTF8/,
    );
    for (const name of ["'utf-8'", 'UTF8', 'unicode', 'SQL_ASCII']) {
      assert.equal(startup({ user: 'u', client_encoding: name }).settings.get('client_encoding'), 'UTF8');
    }
  });

  it('refuses options that assign nothing', () => {
    for (const options of ['-c', '-c x', 'x=y', '--x', '-d 5'])
      assert.throws(() => parseOptions(options), /command-line/);
    assert.deepEqual(parseOptions('  '), []);
  });
});

describe('extended messages', () => {
  it('reads Bind with nulls and formats', () => {
    const bind = readBind(frame(send.bind(['x', null], { portal: 'p', statement: 's', formats: [1, 0] })));
    assert.deepEqual(
      { ...bind, params: bind.params.map((param) => param && Buffer.from(param).toString()) },
      { portal: 'p', statement: 's', params: ['x', null], paramFormats: [], resultFormats: [1, 0] },
    );
  });

  it('refuses negative lengths, unknown formats and targets, and leftovers', () => {
    const { bind } = { bind: 66 };
    assert.throws(() =>
      readBind(frame(message(bind, '', '', { short: 0 }, { short: 1 }, { long: -2 }, { short: 0 }))),
    );
    assert.throws(() => readBind(frame(message(bind, '', '', { short: 1 }, { short: 2 }))), /format code: 2/);
    assert.throws(() => readTarget(frame(message(68, 81, 'x'))), /invalid target/);
    assert.throws(() => readTarget(frame(message(68, 80, 'x', 0))), /invalid message format/);
  });

  it('takes no row limit from zero and below', () => {
    assert.equal(readExecute(frame(send.execute(0))).maxRows, Number.POSITIVE_INFINITY);
    assert.equal(readExecute(frame(send.execute(-1))).maxRows, Number.POSITIVE_INFINITY);
    assert.equal(readExecute(frame(send.execute(7))).maxRows, 7);
  });

  it('expands formats as Bind says', () => {
    assert.deepEqual(expandFormats([], 2, 'result'), [0, 0]);
    assert.deepEqual(expandFormats([1], 2, 'result'), [1, 1]);
    assert.deepEqual(expandFormats([1, 0], 2, 'result'), [1, 0]);
    assert.deepEqual(expandFormats([1], 0, 'parameter'), []);
    assert.throws(() => expandFormats([1, 0], 3, 'result'), /2 result formats but the query has 3 columns/);
    assert.throws(() => expandFormats([1, 0], 1, 'parameter'), /2 parameter formats but 1 parameters/);
  });
});
