import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Reporting } from './reporting.ts';

class Looks {
  readonly reporting = new Reporting();
  readonly restless = new Set<number>();
  #looked: number[] = [];

  add(dataflow: number, reads?: number[]): void {
    const report = () => {
      this.#looked.push(dataflow);
      return this.restless.has(dataflow) ? ('restless' as const) : ('settled' as const);
    };
    this.reporting.add(dataflow, { report }, reads);
  }

  after(...ran: number[]): readonly number[] {
    this.#looked = [];
    this.reporting.report(ran);
    return this.#looked.sort();
  }
}

test('a dataflow at rest is looked at once after it was added, and then when it ran', () => {
  const t = new Looks();
  t.add(0);
  t.add(1);
  assert.deepEqual(t.after(), [0, 1]);
  assert.deepEqual(t.after(), []);
  assert.deepEqual(t.after(1), [1]);
});

test('what reads an arrangement is looked at when its writer ran, through others too', () => {
  const t = new Looks();
  t.add(0);
  t.add(1, [0]);
  t.add(2, [1]);
  t.add(3);
  t.after();
  assert.deepEqual(t.after(0), [0, 1, 2]);
  assert.deepEqual(t.after(1), [1, 2]);
  assert.deepEqual(t.after(3), [3]);
  t.reporting.remove(1);
  assert.deepEqual(t.after(0), [0, 2]);
});

test('what is on its way to its last stage is looked at each time', () => {
  const t = new Looks();
  t.add(0);
  t.restless.add(0);
  t.after();
  assert.deepEqual(t.after(), [0]);
  t.restless.clear();
  assert.deepEqual(t.after(), [0]);
  assert.deepEqual(t.after(), []);
});

test('a touched one is looked at once though nothing ran; one that is gone never', () => {
  const t = new Looks();
  t.add(0);
  t.after();
  t.reporting.touch(0);
  assert.deepEqual(t.after(), [0]);
  t.reporting.touch(0);
  t.reporting.remove(0);
  assert.deepEqual(t.after(0), []);
});
