import assert from 'node:assert/strict';
import { test } from 'node:test';
import { identityMfp } from '../expr/scalar.ts';
import { SqlArray } from '../repr/array.ts';
import { parseText } from '../repr/format.ts';
import { Interval } from '../repr/interval.ts';
import { type } from '../repr/types.ts';
import type { Command } from './protocol.ts';
import { packCommand, unpackCommand } from './wire.ts';

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
