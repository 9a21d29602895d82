import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ReplicaId } from '../base/ids.ts';
import type { Command } from '../compute/protocol.ts';
import { EMPTY } from '../time/timestamp.ts';
import { CommandHistory } from './command-history.ts';
import { dataflow, gid } from './instance.fixture.ts';

const R = 'r' as ReplicaId;

const compact = (id: string, frontier: number): Command => ({
  kind: 'allowCompaction',
  id: gid(id),
  frontier,
});
const schedule = (id: string): Command => ({ kind: 'schedule', id: gid(id), waitedOn: 'inputs_available' });
const create = (id: string): Command => ({
  kind: 'createDataflow',
  dataflow: dataflow(id, ['t1'], { view: true }),
});

function replayed(commands: readonly Command[]): Command[] {
  const h = new CommandHistory();
  for (const c of commands) h.record(c);
  return [...h.replay(R)];
}

test('a replica learns everything first and then starts: the order of replay', () => {
  const kinds = replayed([
    { kind: 'hello', nonce: 'n', version: 1, generation: 1, start: 1 },
    {
      kind: 'createInstance',
      logging: { intervalMs: 0, debugging: false, indexes: [] },
      tunables: { maxResultSize: 1 },
    },
    { kind: 'initializationComplete' },
    create('u1'),
    schedule('u1'),
    compact('u1', 12),
    { kind: 'updateConfiguration', tunables: { maxResultSize: 2 } },
    create('u2'),
    schedule('u2'),
  ]).map((c) => c.kind);
  assert.deepEqual(kinds, [
    'hello',
    'createInstance',
    'updateConfiguration',
    'createDataflow',
    'createDataflow',
    'schedule',
    'schedule',
    'allowCompaction',
    'initializationComplete',
  ]);
});

test('a dataflow comes back as of what its exports were allowed to compact to, the least of them', () => {
  const two = dataflow('u1', ['t1']);
  const both = { ...two, indexExports: [...two.indexExports, { ...two.indexExports[0]!, id: gid('u2') }] };
  const asOf = (...more: Command[]): number => {
    const [c] = replayed([{ kind: 'createDataflow', dataflow: both }, ...more]);
    assert.equal(c?.kind, 'createDataflow');
    return (c as Extract<Command, { kind: 'createDataflow' }>).dataflow.asOf;
  };
  assert.equal(asOf(), 10);
  assert.equal(asOf(compact('u1', 30)), 10, 'the other has not been');
  assert.equal(asOf(compact('u1', 30), compact('u2', 20)), 20);
  assert.equal(asOf(compact('u1', 30), compact('u2', EMPTY)), 30, 'one that is gone does not hold it back');
  assert.equal(asOf(compact('u1', 5), compact('u2', 6)), 10, 'and never before it began');
});

test('permission to write folds into the dataflow', () => {
  const d = { ...dataflow('u1', [], { view: true }), mayWrite: false };
  const [c, ...rest] = replayed([
    { kind: 'createDataflow', dataflow: d },
    { kind: 'allowWrites', id: gid('u1') },
  ]);
  assert.equal((c as Extract<Command, { kind: 'createDataflow' }>).dataflow.mayWrite, true);
  assert.deepEqual(rest, []);
});

test('what was dropped is gone without a trace, whatever came between', () => {
  const op = fc.tuple(
    fc.constantFrom('schedule', 'compact', 'write'),
    fc.constantFrom('u1', 'u2', 'u3'),
    fc.nat(50),
  );
  fc.assert(
    fc.property(fc.array(op, { maxLength: 30 }), (ops) => {
      const h = new CommandHistory();
      for (const id of ['u1', 'u2', 'u3']) h.record(create(id));
      for (const [kind, id, n] of ops)
        h.record(
          kind === 'schedule'
            ? schedule(id)
            : kind === 'compact'
              ? compact(id, n)
              : { kind: 'allowWrites', id: gid(id) },
        );
      h.record(compact('u2', EMPTY));
      for (const c of h.replay(R)) assert.ok(!JSON.stringify(c).includes('"u2"'));
      for (const id of ['u1', 'u3']) h.record(compact(id, EMPTY));
      assert.equal(h.size, 0);
      assert.deepEqual([...h.replay(R)], []);
    }),
  );
});

test('a dataflow of one replica is told to no other', () => {
  const h = new CommandHistory();
  h.record(create('u1'), 'r1' as ReplicaId);
  h.record(schedule('u1'));
  h.record(compact('u1', 12));
  assert.equal([...h.replay('r1' as ReplicaId)].length, 3);
  assert.deepEqual([...h.replay('r2' as ReplicaId)], []);
});

test('what still imports an index that ended is told to nobody, nor its schedule', () => {
  const h = new CommandHistory();
  h.record({ kind: 'createDataflow', dataflow: dataflow('u1', ['t1']) });
  h.record({ kind: 'createDataflow', dataflow: dataflow('u2', ['u1'], { view: true }) });
  h.record({ kind: 'createDataflow', dataflow: dataflow('u3', ['t1'], { view: true }) });
  for (const id of ['u1', 'u2', 'u3']) h.record(schedule(id));
  h.record(compact('u1', EMPTY));
  assert.deepEqual(
    [...h.replay(R)].map((c) => `${c.kind} ${c.kind === 'createDataflow' ? c.dataflow.name : 'u3'}`),
    ['createDataflow u3', 'schedule u3'],
  );
  h.record(compact('u2', EMPTY));
  h.record(compact('u3', EMPTY));
  assert.equal(h.size, 0);
});
