import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Batch } from '../../repr/batch.ts';
import { EMPTY } from '../../time/timestamp.ts';
import { Fuel, unlimitedFuel } from '../../trace/fuel.ts';
import { OpenTime } from './open-time.ts';
import type { RuleOutput, StateRule } from './state-rule.ts';
import { emptySize, type StateSize } from './state-size.ts';
import { batchOf, type Update } from './test-support.ts';

/** Tells what it was asked to do. */
class Recorder implements StateRule {
  readonly log: string[] = [];
  #rows = 0;
  get pending(): boolean {
    return this.#rows > 0;
  }
  absorb(batch: Batch): void {
    this.log.push(`absorb ${batch.length} at ${String(batch.times)}`);
    this.#rows += batch.length;
  }
  flush(time: number, _output: RuleOutput, fuel: Fuel): boolean {
    this.log.push(`flush ${time}`);
    fuel.spend(1);
    this.#rows = 0;
    return true;
  }
  addSize(_size: StateSize): void {}
}

const output: RuleOutput = { oks() {}, errs() {} };
const rows = (...times: number[]): Batch =>
  batchOf(
    ['i32'],
    times.map((time): Update => ({ row: [time], time, diff: 1 })),
  );

test('rows at the open time are absorbed as they come, later ones when it closes', () => {
  const rule = new Recorder();
  const time = new OpenTime(rule);
  time.advance(5);
  assert.ok(time.work(unlimitedFuel(), output));
  assert.equal(time.push(rows(5, 5)), 0);
  assert.ok(time.work(unlimitedFuel(), output));
  assert.equal(time.push(rows(9, 5, 7, 7)), 3);
  assert.ok(time.work(unlimitedFuel(), output));
  assert.deepEqual(rule.log.splice(0), ['absorb 2 at 5', 'absorb 1 at 5']);
  assert.equal(time.held, 5);
  time.advance(9);
  assert.ok(time.work(unlimitedFuel(), output));
  assert.deepEqual(rule.log.splice(0), ['flush 5', 'absorb 2 at 7', 'flush 7', 'absorb 1 at 9']);
  assert.equal(time.held, 9);
  time.advance(EMPTY);
  assert.ok(time.work(unlimitedFuel(), output));
  assert.deepEqual(rule.log, ['flush 9']);
  assert.equal(time.held, EMPTY);
});

test('what waits is measured, and nothing is left of it', () => {
  const time = new OpenTime(new Recorder());
  time.push(rows(3, 8, 3, 2));
  time.push(rows(8));
  const waiting = emptySize();
  time.addWaiting(waiting);
  assert.equal(waiting.records, 5);
  assert.ok(waiting.used > 0 && waiting.allocated >= waiting.used && waiting.buffers > 0);
  time.advance(EMPTY);
  assert.ok(time.work(unlimitedFuel(), output));
  const after = emptySize();
  time.addWaiting(after);
  assert.deepEqual(after, emptySize());
});

test('one unit of fuel makes progress, and work stops where it ends', () => {
  const rule = new Recorder();
  const time = new OpenTime(rule);
  time.advance(1);
  time.work(unlimitedFuel(), output);
  time.push(rows(1, 1, 1));
  time.advance(2);
  let steps = 0;
  while (!time.work(new Fuel(1), output)) steps++;
  assert.deepEqual(rule.log, ['absorb 1 at 1', 'absorb 1 at 1', 'absorb 1 at 1', 'flush 1']);
  assert.ok(steps >= 3);
});

test('a row before the frontier is a broken promise of the input', () => {
  const time = new OpenTime(new Recorder());
  time.advance(4);
  assert.throws(() => time.push(rows(3)), /a row at 3 comes after the frontier 4/);
  assert.throws(() => time.push(rows(9, 3)), /a row at 3 comes after the frontier 4/);
});
