/** Imports: as-of, until, gate, frozen, and what happens when the writer goes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Gate } from '../dataflow/gate.ts';
import type { Kind } from '../repr/types.ts';
import { EMPTY, type Frontier } from '../time/timestamp.ts';
import { arrangementSpec } from '../trace/arranged-batch.ts';
import type { TraceHandle } from '../trace/trace.ts';
import { type Arranged, arrange } from './arrange.ts';
import { asRows } from './as-rows.ts';
import { capture } from './capture.ts';
import { importFrozen, importTrace } from './import.ts';
import { join } from './join.ts';
import { type InputHandle, source } from './source.ts';
import { batchOf, contents, TestCluster, type Update, updatesOf } from './test-cluster.ts';

const KINDS: Kind[] = ['i32', 'bytes'];
const SPEC = arrangementSpec(KINDS, [0]);

class Producer {
  readonly cluster = new TestCluster({ peers: 1, seed: 5, fuel: 7 });
  readonly worker = this.cluster.workers[0]!;
  readonly updates: Update[] = [];
  readonly input: InputHandle;
  readonly trace: TraceHandle;

  constructor(cuts = true) {
    let input!: InputHandle;
    let trace!: TraceHandle;
    this.worker.buildDataflow('producer', (scope) => {
      const s = source(scope);
      input = s.handle;
      trace = arrange(scope, s.stream, { spec: SPEC }).trace.clone({ cuts });
    });
    this.input = input;
    this.trace = trace;
  }

  /** Ten rows, one of them taken back at the next time. */
  round(t: number): void {
    const rows = Array.from({ length: 10 }, (_, i) => ({ row: [i % 3, `r${t}-${i}`], time: t, diff: 1 }));
    const updates: Update[] = [...rows, { ...rows[0]!, time: t + 1, diff: -1 }];
    this.updates.push(...updates);
    this.input.push(batchOf(KINDS, updates));
    this.input.advanceTo(t + 1);
    this.cluster.settle();
  }

  /** Captures an import, and its join with itself. */
  follow(makeImport: (scope: Parameters<typeof importTrace>[0]) => Arranged) {
    const seen = { updates: [] as Update[], joined: [] as Update[], frontier: 0 as Frontier, ended: false };
    this.worker.buildDataflow('consumer', (scope) => {
      const imported = makeImport(scope);
      capture(scope, asRows(scope, imported), {
        batch: (b) => seen.updates.push(...updatesOf(b)),
        frontier: (f) => {
          seen.frontier = f;
        },
        end: () => {
          seen.ended = true;
        },
      });
      const output = [
        { from: 'key', column: 0 },
        { from: 'left', column: 0 },
        { from: 'right', column: 0 },
      ] as const;
      capture(scope, join(scope, imported, imported, { output }), {
        batch: (b) => seen.joined.push(...updatesOf(b)),
        frontier() {},
      });
    });
    this.cluster.settle();
    return seen;
  }
}

function selfJoin(updates: readonly Update[]): Update[] {
  return updates.flatMap((l) =>
    updates
      .filter((r) => r.row[0] === l.row[0])
      .map((r) => ({
        row: [l.row[0]!, l.row[1]!, r.row[1]!],
        time: Math.max(l.time, r.time),
        diff: l.diff * r.diff,
      })),
  );
}

describe('import', () => {
  for (const cuts of [true, false])
    it(`starts at the as-of and ends at until, from a handle that ${cuts ? 'cuts' : 'never cuts'}`, () => {
      const p = new Producer(cuts);
      for (let t = 0; t < 4; t++) p.round(t);
      while (p.worker.idle() === 'more');
      assert.equal(p.trace.batches().length < 4, !cuts);
      const seen = p.follow((scope) => importTrace(scope, p.trace, { asOf: 2, until: 6 }));
      assert.equal(seen.frontier, 4);
      assert.ok(seen.updates.every((u) => u.time >= 2));
      for (let t = 4; t < 9; t++) p.round(t);
      assert.equal(seen.frontier, EMPTY);
      assert.ok(seen.ended, 'a dataflow that is complete ends by itself');
      assert.ok(
        [...seen.updates, ...seen.joined].every((u) => u.time < 6 && u.diff !== 0),
        'nothing past until',
      );
      for (let t = 2; t < 9; t++) {
        const now = Math.min(t, 5);
        assert.deepEqual(contents(seen.updates, t), contents(p.updates, now));
        assert.deepEqual(contents(seen.joined, t), contents(selfJoin(p.updates), now));
      }
      assert.equal(p.worker.debugCounts().importers, 0);
    });

  it('waits behind its gate, while the trace goes on merging', () => {
    const p = new Producer();
    const gate = new Gate();
    p.round(0);
    const seen = p.follow((scope) => importTrace(scope, p.trace, { asOf: 0, gate }));
    for (let t = 1; t < 40; t++) {
      p.round(t);
      p.trace.setPhysicalCompaction(t);
      while (p.worker.idle() === 'more');
    }
    assert.ok(p.trace.batches().length < 12, `${p.trace.batches().length} batches behind a closed gate`);
    assert.equal(seen.updates.length, 0);
    assert.equal(seen.frontier, 0);
    gate.open();
    p.cluster.settle();
    assert.equal(seen.frontier, 40);
    for (const t of [0, 1, 20, 39]) {
      assert.deepEqual(contents(seen.updates, t), contents(p.updates, t));
      assert.deepEqual(contents(seen.joined, t), contents(selfJoin(p.updates), t));
    }
  });

  for (const onWriterGone of ['hold', 'close'] as const)
    it(`on the end of the writer: ${onWriterGone}`, () => {
      const p = new Producer();
      for (let t = 0; t < 3; t++) p.round(t);
      const seen = p.follow((scope) => importTrace(scope, p.trace, { asOf: 2, onWriterGone }));
      p.worker.dataflow(0)!.drop();
      p.cluster.settle();
      assert.equal(seen.frontier, onWriterGone === 'hold' ? 3 : EMPTY);
      assert.deepEqual(contents(seen.updates, 2), contents(p.updates, 2));
      const again = p.follow((scope) => importTrace(scope, p.trace, { asOf: 2, onWriterGone }));
      assert.deepEqual(contents(again.updates, 2), contents(p.updates, 2));
      p.trace.dispose();
      for (let d = 1; d < 3; d++) p.worker.dataflow(d)?.drop();
      p.cluster.settle();
      for (const [what, n] of Object.entries(p.worker.debugCounts())) assert.equal(n, 0, what);
    });

  it('freezes the contents of one time at another', () => {
    const p = new Producer();
    for (let t = 0; t < 3; t++) p.round(t);
    const seen = p.follow((scope) => importFrozen(scope, p.trace, { readAt: 4, presentAt: 1_000 }));
    assert.equal(seen.frontier, 0, 'it waits until the time is complete');
    for (let t = 3; t < 7; t++) p.round(t);
    assert.equal(seen.frontier, EMPTY);
    assert.ok(seen.ended);
    assert.ok(seen.updates.every((u) => u.time === 1_000 && u.diff === 1));
    assert.deepEqual(contents(seen.updates, 1_000), contents(p.updates, 4));
    assert.deepEqual(contents(seen.joined, 1_000), contents(selfJoin(p.updates), 4));
    p.trace.dispose();
    p.input.close();
    p.cluster.settle();
    for (const [what, n] of Object.entries(p.worker.debugCounts())) assert.equal(n, 0, what);
  });
});
