import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import type { MeshMessage } from '../dataflow/mesh.ts';
import { NO_OFFSETS } from '../repr/column.ts';
import { EMPTY } from '../time/timestamp.ts';
import { PortMesh } from './port-mesh.ts';

const frontier = (channel: number, at: number): MeshMessage => ({
  kind: 'frontier',
  dataflow: 7,
  channel,
  frontier: at,
});

const batch = (value: number): MeshMessage => {
  const values = Int32Array.of(value);
  const column = { kind: 'i32' as const, length: 1, validity: null, values, offsets: NO_OFFSETS };
  return {
    kind: 'batch',
    dataflow: 7,
    channel: 0,
    batch: { length: 1, columns: [column], times: 0, diffs: 1 },
  };
};

const told = (m: MeshMessage): string =>
  m.kind === 'batch' ? `batch ${m.batch.columns[0]!.values[0]}` : `${m.channel} at ${m.frontier}`;

test('frontiers go with the batch that follows them, or when they are not held back, all in order', async () => {
  const { port1, port2 } = new MessageChannel();
  const [zero, one] = [new PortMesh([null, port1]), new PortMesh([port2, null])];
  const turns: string[][] = [];
  const all = Promise.withResolvers<void>();
  one.onReceived((from, messages) => {
    assert.equal(from, 0);
    turns.push([...messages].map(told));
    if (turns.flat().length === 6) all.resolve();
  });
  zero.send(1, frontier(0, 3));
  zero.send(1, frontier(1, 4));
  const sent = batch(5);
  zero.send(1, sent);
  assert.ok(
    sent.kind === 'batch' && sent.batch.columns[0]!.values.byteLength === 0,
    'it is handed over, not copied',
  );
  zero.send(1, frontier(0, 6));
  zero.send(1, frontier(1, EMPTY));
  zero.flush();
  zero.flush();
  zero.send(1, batch(8));
  await all.promise;
  port1.close();
  assert.deepEqual(turns, [['0 at 3', '1 at 4', 'batch 5'], ['0 at 6', '1 at Infinity'], ['batch 8']]);
});
