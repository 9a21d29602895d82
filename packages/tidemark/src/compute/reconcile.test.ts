/** The decision alone. That workers act on it alike, and on nothing else, is for the simulator (`test/reconnect.test.ts`). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GlobalId } from '../base/ids.ts';
import type { DataflowDescription, MaterializedViewSink } from './protocol.ts';
import { outcomesOf, type Running, reconcile } from './reconcile.ts';

const desc = { columns: [], keys: [] };
const id = (s: string) => s as GlobalId;

function index(name: string, asOf: number, over: Partial<DataflowDescription> = {}): DataflowDescription {
  return {
    name,
    shardImports: [{ id: id('u1'), shard: 'u1', desc }],
    indexImports: [],
    objects: [],
    indexExports: [{ id: id(name), onId: id('u1'), key: [0], desc }],
    sinkExports: [],
    asOf,
    until: Number.POSITIVE_INFINITY,
    mayWrite: true,
    ...over,
  };
}

function view(name: string, asOf: number, over: Partial<DataflowDescription> = {}): DataflowDescription {
  const sink: MaterializedViewSink = {
    kind: 'materialized-view',
    id: id(name),
    fromId: id(name),
    outputId: id(name),
    desc,
    shard: name,
  };
  return index(name, asOf, { indexExports: [], sinkExports: [sink], ...over });
}

const importing = (name: string) => ({ indexImports: [{ id: id(name), onId: id('u1'), key: [0], desc }] });

function running(description: DataflowDescription, over: Partial<Running> = {}): Running {
  return { description, compactedTo: new Map(), mayWrite: description.mayWrite, ...over };
}

const decide = (have: readonly Running[], want: readonly DataflowDescription[]) =>
  reconcile(have, want, {
    inMemory: (shard) => shard.startsWith('builtin-'),
    isLog: (i) => i.startsWith('si'),
  });

/** What becomes of the one that is requested. */
function verdict(have: Running, want: DataflowDescription): string | null {
  const r = decide([have], [want]);
  return r.retained.has(want) ? 'retained' : r.created.get(want)!;
}

test('equal but for as-of and write flag: retained', () => {
  assert.equal(verdict(running(index('u2', 5)), index('u2', 5)), 'retained');
  assert.equal(verdict(running(index('u2', 5)), index('u2', 9)), 'retained');
  assert.equal(verdict(running(view('u2', 5, { mayWrite: false })), view('u2', 5)), 'retained');
});

test('another description, be it a name, a key or a plan: not retained', () => {
  assert.equal(verdict(running(index('u2', 5)), index('u2', 5, { name: 'renamed' })), 'description');
  const key = [{ id: id('u2'), onId: id('u1'), key: [1], desc }];
  assert.equal(verdict(running(index('u2', 5)), index('u2', 5, { indexExports: key })), 'description');
  assert.equal(verdict(running(index('u2', 5)), index('u2', 5, { until: 7 })), 'description');
});

test('exactly the same exports: neither more nor fewer, nor spread over others', () => {
  const both = index('u2', 5, {
    indexExports: [...index('u2', 5).indexExports, ...index('u3', 5).indexExports],
  });
  assert.equal(verdict(running(both), index('u2', 5)), 'exports');
  assert.equal(verdict(running(index('u2', 5)), both), 'exports');
  const r = decide([running(index('u2', 5)), running(index('u3', 5))], [both]);
  assert.equal(r.created.get(both), 'exports');
  assert.equal(r.replaced.length, 2);
});

test('compacted up to the new as-of is retained, beyond it is not, by any export', () => {
  const at = (t: number) => running(index('u2', 5), { compactedTo: new Map([[id('u2'), t]]) });
  assert.equal(verdict(at(9), index('u2', 9)), 'retained');
  assert.equal(verdict(at(10), index('u2', 9)), 'compaction');
  assert.equal(
    verdict(running(index('u2', 5)), index('u2', 4)),
    'compaction',
    'the as-of counts from the start',
  );
});

test('permission to write is irreversible', () => {
  assert.equal(verdict(running(view('u2', 5)), view('u2', 5, { mayWrite: false })), 'permission');
});

test('what reads the memory of the environment is not retained', () => {
  const shardImports = [{ id: id('s1001'), shard: 'builtin-s1001', desc }];
  const d = index('u2', 5, { shardImports });
  assert.equal(verdict(running(d), d), 'memory');
});

test('an index that was not retained takes its importers with it, and theirs', () => {
  const have = [
    index('u2', 5),
    index('u3', 5, importing('u2')),
    view('u4', 5, importing('u3')),
    index('u5', 5, importing('si12')),
  ].map((d) => running(d));
  const want = [
    index('u2', 5, { name: 'other' }),
    index('u3', 5, importing('u2')),
    view('u4', 5, importing('u3')),
    index('u5', 5, importing('si12')),
  ];
  const r = decide(have, want);
  assert.deepEqual([...r.created.values()], ['description', 'import', 'import']);
  assert.deepEqual([...r.retained.keys()], [want[3]]);
  assert.deepEqual(r.replaced, have.slice(0, 3));
  assert.deepEqual(outcomesOf(r), { retained: 1, created: 3, dropped: 3, description: 1, import: 2 });
});

test('what nobody requests is dropped, what is new is created without a cause', () => {
  const have = [running(index('u2', 5)), running(index('t7', 5))];
  const want = [index('u2', 5), index('u9', 5)];
  const r = decide(have, want);
  assert.deepEqual(r.unrequested, [have[1]]);
  assert.deepEqual(r.replaced, []);
  assert.deepEqual([...r.created], [[want[1], null]]);
});

test("the engine's own dataflows over logs are retained whatever they compacted to", () => {
  const d = index('si1501', 0, { internal: true, ...importing('si12') });
  assert.equal(verdict(running(d, { compactedTo: new Map([[id('si1501'), 99]]) }), d), 'retained');
});
