import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { SqlError } from '../base/error.ts';
import { decodeUtf8, FatalError, FrameReader } from './frame-reader.ts';
import { bytes, message } from './wire-client.fixture.ts';

const LIMIT = 1000;
const parameters = { seed: Number(process.env['SEED'] ?? 1), numRuns: Number(process.env['RUNS'] ?? 200) };

/** All frames of a reader as `type:body`. */
function drain(reader: FrameReader): string[] {
  const found: string[] = [];
  while (reader.next(true, LIMIT)) {
    found.push(
      `${String.fromCharCode(reader.type)}:${Buffer.from(reader.take(reader.remaining)).toString('hex')}`,
    );
  }
  return found;
}

describe('FrameReader', () => {
  it('gives the same frames however the stream is cut', () => {
    const frame = fc.tuple(fc.integer({ min: 65, max: 90 }), fc.uint8Array({ maxLength: 40 }));
    fc.assert(
      fc.property(
        fc.array(frame, { maxLength: 6 }),
        fc.array(fc.nat(30), { minLength: 1, maxLength: 8 }),
        (frames, cuts) => {
          const stream = Buffer.concat(frames.map(([type, body]) => message(type, body)));
          const reader = new FrameReader();
          const found: string[] = [];
          for (let at = 0, i = 0; at < stream.length; i++) {
            const size = cuts[i % cuts.length] + 1;
            reader.push(stream.subarray(at, at + size));
            at += size;
            found.push(...drain(reader));
          }
          assert.deepEqual(
            found,
            frames.map(([type, body]) => `${String.fromCharCode(type)}:${Buffer.from(body).toString('hex')}`),
          );
          assert.equal(reader.buffered, 0);
        },
      ),
      parameters,
    );
  });

  it('reads a frame inside a chunk in place', () => {
    const chunk = message(88, Buffer.from('abc'));
    const reader = new FrameReader();
    reader.push(chunk);
    assert.ok(reader.next(true, LIMIT));
    const body = reader.take(3);
    assert.equal(body.buffer, chunk.buffer);
    assert.equal(body.byteOffset, chunk.byteOffset + 5);
  });

  it('keeps up with a large frame in single bytes', () => {
    const reader = new FrameReader();
    const stream = message(88, Buffer.alloc(50_000, 7));
    for (let i = 0; i < stream.length; i++) {
      assert.equal(reader.next(true, 100_000), false);
      reader.push(stream.subarray(i, i + 1));
    }
    assert.ok(reader.next(true, 100_000));
    assert.equal(reader.remaining, 50_000);
  });

  it('refuses a length under four and over the limit before its bytes come', () => {
    for (const [length, code] of [
      [3, 'protocol_violation'],
      [-1, 'protocol_violation'],
      [LIMIT + 1, 'program_limit_exceeded'],
    ] as const) {
      const reader = new FrameReader();
      reader.push(bytes(88, { long: length }));
      assert.throws(
        () => reader.next(true, LIMIT),
        (error) => error instanceof FatalError && error.code === code,
      );
    }
  });

  it('reads its fields and refuses to read past them', () => {
    const reader = new FrameReader();
    reader.push(message(88, { short: 0xffff }, { long: -5 }, 'tëxt', '', 9, { short: 1 }));
    assert.ok(reader.next(true, LIMIT));
    assert.equal(reader.int16(), -1);
    assert.equal(reader.uint32(), 0xfffffffb);
    assert.equal(reader.cstring(), 'tëxt');
    assert.equal(reader.cstring(), '');
    assert.equal(reader.byte(), 9);
    assert.throws(() => reader.done(), /invalid message format/);
    assert.equal(reader.format(), 1);
    reader.done();
    for (const read of [
      () => reader.byte(),
      () => reader.int16(),
      () => reader.int32(),
      () => reader.take(1),
      () => reader.cstring(),
    ]) {
      assert.throws(read, FatalError);
    }
  });

  it('does not look for the end of a text in the next frame', () => {
    const reader = new FrameReader();
    reader.push(Buffer.concat([message(88, Buffer.from('abc')), message(88, 'x')]));
    assert.ok(reader.next(true, LIMIT));
    assert.throws(() => reader.cstring(), /invalid string in message/);
  });

  it('takes text that is not UTF-8 for the statement’s error', () => {
    assert.throws(
      () => decodeUtf8(new Uint8Array([0xc3, 0x28])),
      (error) => error instanceof SqlError && !(error instanceof FatalError) && error.sqlstate === '22021',
    );
  });
});
