import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { MessageWriter } from './message-writer.ts';
import { bytes } from './wire-client.fixture.ts';

const parameters = { seed: Number(process.env['SEED'] ?? 1), numRuns: Number(process.env['RUNS'] ?? 200) };

describe('MessageWriter', () => {
  it('writes messages with their lengths', () => {
    const out = new MessageWriter();
    out.begin(67);
    out.cstring('SELECT 1');
    out.end();
    out.empty(110);
    assert.deepEqual(Buffer.from(out.take()), bytes(67, { long: 13 }, 'SELECT 1', 110, { long: 4 }));
    assert.equal(out.length, 0);
  });

  it('writes each kind of cell with its length', () => {
    const out = new MessageWriter();
    out.begin(68);
    out.null();
    out.text('é');
    out.bytes(new Uint8Array([1, 2, 3, 4]), 1, 3);
    out.uint8(1);
    out.int16(-2);
    out.int32(-3);
    out.int64(-1, 5);
    out.float32(0.5);
    out.float64(-0.25);
    assert.equal(out.takeCellCount(), 9);
    out.end();
    const doubles = Buffer.alloc(12);
    doubles.writeFloatBE(0.5, 0);
    doubles.writeDoubleBE(-0.25, 4);
    const body = bytes(
      ...[
        { long: -1 },
        { long: 2 },
        Buffer.from('é'),
        { long: 2 },
        2,
        3,
        { long: 1 },
        1,
        { long: 2 },
        { short: 0xfffe },
      ],
      ...[{ long: 4 }, { long: -3 }, { long: 8 }, { long: -1 }, { long: 5 }],
      ...[{ long: 4 }, doubles.subarray(0, 4), { long: 8 }, doubles.subarray(4)],
    );
    assert.deepEqual(Buffer.from(out.take()).subarray(5), body);
  });

  it('writes any text as UTF-8, short and long, ASCII and not', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 100 }),
      fc.string({ unit: 'grapheme-ascii', maxLength: 100 }),
    );
    fc.assert(
      fc.property(fc.array(text, { maxLength: 5 }), (texts) => {
        const out = new MessageWriter();
        out.begin(68);
        for (const value of texts) out.text(value);
        out.end();
        const expected = texts.flatMap((value) => [{ long: Buffer.byteLength(value) }, Buffer.from(value)]);
        assert.deepEqual(Buffer.from(out.take()).subarray(5), bytes(...expected));
      }),
      parameters,
    );
  });

  it('grows for what does not fit, and gives large chunks away', () => {
    const out = new MessageWriter();
    const long = 'ü'.repeat(300_000);
    out.begin(68);
    out.text(long);
    out.bytes(new Uint8Array(200_000).fill(7));
    out.end();
    const first = out.take();
    out.empty(90);
    assert.equal(first.length, 5 + 4 + 600_000 + 4 + 200_000);
    assert.equal(Buffer.from(first).toString('utf8', 9, 9 + 600_000), long);
    assert.deepEqual(Buffer.from(out.take()), bytes(90, { long: 4 }));
  });

  it('keeps what was taken apart from what is written next', () => {
    const out = new MessageWriter();
    out.empty(49);
    const first = out.take();
    out.empty(50);
    assert.deepEqual(Buffer.from(first), bytes(49, { long: 4 }));
  });

  it('forgets an aborted message and keeps those before', () => {
    const out = new MessageWriter();
    out.empty(49);
    out.begin(68);
    out.text('half');
    out.abort();
    out.abort();
    out.empty(90);
    assert.deepEqual(Buffer.from(out.take()), bytes(49, { long: 4 }, 90, { long: 4 }));
    assert.equal(out.takeCellCount(), 0);
  });

  it('ends a C string at a NUL inside it', () => {
    const out = new MessageWriter();
    out.begin(67);
    out.cstring('a\0b');
    out.end();
    assert.deepEqual(Buffer.from(out.take()), bytes(67, { long: 6 }, 'a'));
  });
});
