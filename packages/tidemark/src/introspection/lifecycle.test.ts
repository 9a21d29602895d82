import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Lifecycle, STAGE_NAMES, STAGES, type Transition } from './lifecycle.ts';

const text = (ts: readonly Transition[]): string =>
  ts.map((t) => `${t.stage}@${t.ns}${t.reason === null ? '' : ` ${t.reason}`}`).join(', ');

test('the whole life, each step once', () => {
  const { lifecycle: l, transitions } = Lifecycle.install(5, 'commanded');
  assert.equal(text(transitions), 'installed@5 commanded');
  assert.equal(text(l.start(7, 'hydration_limit')), 'started@7 hydration_limit');
  assert.equal(text(l.start(8, 'inputs_available')), '');
  assert.equal(text(l.computed(9)), 'hydrated@9');
  assert.equal(text(l.computed(10)), '');
  assert.equal(text(l.writeBlocked(11)), 'write_blocked@11 read_only');
  assert.throws(() => l.written(12), /block is lifted/);
  assert.equal(text(l.writeUnblocked(13)), 'write_unblocked@13');
  assert.equal(text(l.writeUnblocked(14)), '');
  assert.equal(text(l.written(15)), 'written@15');
  assert.equal(text(l.written(16)), '');
  assert.equal(text(l.writeBlocked(17)), '', 'what is written is not blocked any more');
});

test('whichever reading finds the start missing first back-fills it, with the instant of the installation', () => {
  for (const first of ['computed', 'outputPassed'] as const) {
    const { lifecycle: l } = Lifecycle.install(5, 'reconciled');
    const started = 'started@5 inputs_available';
    assert.equal(text(l[first](90)), first === 'computed' ? `${started}, hydrated@90` : started);
    const second = first === 'computed' ? 'outputPassed' : 'computed';
    assert.equal(text(l[second](95)), first === 'computed' ? '' : 'hydrated@95');
    assert.equal(l.startedNs, l.installedNs);
    assert.equal(
      text(l.start(99, 'hydration_limit')),
      '',
      'a schedule that comes after a back-fill says nothing',
    );
  }
});

test('write stages before hydrated are a bug, and unblocked without blocked is nothing', () => {
  const { lifecycle: l } = Lifecycle.install(0, 'commanded');
  assert.throws(() => l.writeBlocked(1), /after hydrated/);
  assert.throws(() => l.written(1), /after hydrated/);
  assert.equal(text(l.writeUnblocked(1)), '');
});

test('in any order of calls: at most once each, predecessors first, instants in order, reasons of the vocabulary', () => {
  const call = fc.constantFrom(
    'start',
    'computed',
    'outputPassed',
    'writeBlocked',
    'writeUnblocked',
    'written',
  );
  fc.assert(
    fc.property(fc.array(call, { maxLength: 20 }), (calls) => {
      const { lifecycle: l, transitions } = Lifecycle.install(0, 'commanded');
      const seen: Transition[] = [...transitions];
      let ns = 0;
      for (const c of calls) {
        ns++;
        try {
          seen.push(...(c === 'start' ? l.start(ns, 'inputs_available') : l[c as 'computed'](ns)));
        } catch (e) {
          // Refused, and nothing of it remains.
          assert.match(String(e), /AssertionError/);
        }
      }
      const stages = seen.map((t) => t.stage);
      assert.equal(new Set(stages).size, stages.length);
      const order = stages.map((s) => STAGE_NAMES.indexOf(s));
      assert.deepEqual(
        order,
        order.toSorted((a, b) => a - b),
      );
      for (const [i, t] of seen.entries()) {
        assert.ok(i === 0 || seen[i - 1]!.ns <= t.ns);
        const { reasons } = STAGES[t.stage] as { readonly reasons: readonly string[] };
        assert.ok(reasons.length === 0 ? t.reason === null : reasons.includes(String(t.reason)));
      }
      if (stages.includes('hydrated')) assert.ok(stages.includes('started'));
      if (stages.includes('write_unblocked')) assert.ok(stages.includes('write_blocked'));
    }),
  );
});
