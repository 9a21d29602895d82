import assert from 'node:assert/strict';
import { test } from 'node:test';
import { identityMfp } from '../expr/scalar.ts';
import { SqlArray } from '../repr/array.ts';
import { parseText } from '../repr/format.ts';
import { Interval } from '../repr/interval.ts';
import { type } from '../repr/types.ts';
import type { Command } from './protocol.ts';
import { CommandTexts, packCommand, unpackCommand, unpackCommands } from './wire.ts';

test('a command arrives as it was sent, datums of every class included', () => {
  const numeric = parseText(type('numeric'), '-12345678901234567890.50');
  const row = [
    numeric,
    new Interval(1, 2, 3),
    SqlArray.of([numeric, null]),
    9007199254740993n,
    Uint8Array.of(0, 255),
    Number.NaN,
    Number.NEGATIVE_INFINITY,
    -0,
    null,
    'text',
    true,
  ];
  const command: Command = {
    kind: 'peek',
    uuid: 'x',
    target: { kind: 'index', id: 'u1' as never, keyTypes: [type('numeric')] },
    literalKeys: [row],
    timestamp: Number.POSITIVE_INFINITY,
    mfp: { ...identityMfp(1), filter: [{ kind: 'literal', value: numeric, type: type('numeric') }] },
    finishing: { orderBy: [], limit: null, offset: 0, project: [0] },
    desc: { columns: [], keys: [] },
  };
  const back = unpackCommand(packCommand(command));
  assert.deepStrictEqual(back, command);
  assert.ok(back.kind === 'peek' && Object.is(back.literalKeys![0]![7], -0));
});

test('commands arrive in their order, and what lets many collections compact to one time is one text', () => {
  const texts = new CommandTexts();
  const compaction = (id: string, frontier: number): Command => ({
    kind: 'allowCompaction',
    id: id as never,
    frontier,
  });
  const commands: Command[] = [
    compaction('u1', 1000),
    compaction('u2', 1000),
    compaction('u3', 1500),
    { kind: 'allowWrites', id: 'u4' as never },
    compaction('u4', 1500),
    compaction('u1', Number.POSITIVE_INFINITY),
    compaction('u2', Number.POSITIVE_INFINITY),
  ];
  assert.ok(texts.isEmpty);
  for (const c of commands) texts.add(c);
  assert.ok(!texts.isEmpty);
  const packed = texts.take();
  assert.equal(packed.length, 5);
  assert.deepEqual(packed.flatMap(unpackCommands), commands);
  assert.ok(texts.isEmpty);
  assert.deepEqual(texts.take(), []);
});
