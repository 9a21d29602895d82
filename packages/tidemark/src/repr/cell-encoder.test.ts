/** Digits written by hand against the forms of datums; `values.test.ts` has every type in UTC. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { encodedCell, textEncoder } from './cell-encoder.ts';
import { ColumnBuilder } from './column.ts';
import { columnOf } from './datum.ts';
import { textOf } from './format.ts';
import { decodeUtf8 } from './text.ts';
import { timeZone } from './time-zone.ts';
import { type Datum, kindOf, type SqlType } from './types.ts';

const params = { seed: Number(process.env['SEED'] ?? 1), numRuns: Number(process.env['RUNS'] ?? 300) };
const DAY = 86_400_000_000n;
/** From 1 BC to 10000 AD, at whole seconds too. */
const instants = fc
  .tuple(fc.bigInt({ min: -720_000n, max: 2_933_000n }), fc.bigInt({ min: 0n, max: DAY - 1n }), fc.boolean())
  .map(([days, micros, whole]) => days * DAY + (whole ? micros - (micros % 1_000_000n) : micros));

function sameText(type: SqlType, d: Datum, zone: string): void {
  const context = { timeZone: timeZone(zone), nowMicros: 0 };
  const cell = encodedCell(
    textEncoder(type, context),
    columnOf(type, [d], new ColumnBuilder(kindOf(type))),
    0,
  )!;
  assert.equal(decodeUtf8(cell), textOf(type, d, context));
}

for (const zone of ['UTC', 'Europe/Amsterdam', 'Asia/Kolkata', 'America/St_Johns', '-03:30', '+05'])
  test(`instants in ${zone} are written as their datums are`, () => {
    fc.assert(
      fc.property(instants, (t) => {
        sameText({ name: 'timestamptz' }, t, zone);
        sameText({ name: 'timestamp' }, t, zone);
      }),
      params,
    );
  });

test('whole numbers to the ends of their range are written as their datums are', () => {
  const ends = [0n, 1n, 9n, 10n, 2n ** 31n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n - 1n];
  for (const v of ends)
    for (const d of [v, -v]) {
      sameText({ name: 'int8' }, d, 'UTC');
      if (d >= 0n) sameText({ name: 'uint8' }, d, 'UTC');
    }
  sameText({ name: 'int8' }, -(2n ** 63n), 'UTC');
  sameText({ name: 'uint8' }, 2n ** 64n - 1n, 'UTC');
});
