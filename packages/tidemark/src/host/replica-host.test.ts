/** Who is served, who is refused, and what makes the workers start anew. What workers then do is the simulator's (`test/reconnect.test.ts`). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../base/clock.ts';
import {
  type Command,
  PROTOCOL_VERSION,
  type ReplicaConnection,
  type Response,
} from '../compute/protocol.ts';
import { ReplicaHost } from './replica-host.ts';

class Workers implements ReplicaConnection {
  readonly workers = 1;
  readonly got: Command[] = [];
  onResponse: (r: Response) => void = () => undefined;
  onLost: (reason: string) => void = () => undefined;
  closed = false;
  send(c: Command): void {
    this.got.push(c);
  }
  async close(): Promise<void> {
    this.closed = true;
  }
}

function fixture(leading = 1) {
  const lives: Workers[] = [];
  const state = { leading };
  const host = new ReplicaHost({
    workers: 1,
    startLife: () => {
      const w = new Workers();
      lives.push(w);
      return w;
    },
    newIncarnation: () => `${lives.length}`,
    leadingGeneration: async () => state.leading,
    logger: silentLogger,
  });
  /** Connects, and resolves with why it ended, or null when it is served. */
  const connect = async (
    over: { version?: number; generation?: number; start?: number; interval?: number } = {},
  ) => {
    const responses: Response[] = [];
    let ended: string | null = null;
    const { promise, resolve } = Promise.withResolvers<void>();
    const attachment = host.attach({
      respond: (r) => responses.push(r),
      accepted: resolve,
      ended: (reason) => {
        ended = reason;
        resolve();
      },
    });
    const { version = PROTOCOL_VERSION, generation = 1, start = 1, interval = 1000 } = over;
    attachment.send({ kind: 'hello', nonce: 'n', version, generation, start });
    attachment.send({
      kind: 'createInstance',
      logging: { intervalMs: interval, debugging: false, indexes: [] },
      tunables: { maxResultSize: 1 },
    });
    await promise;
    return {
      attachment,
      responses,
      get ended() {
        return ended;
      },
    };
  };
  return { host, lives, connect, state };
}

const hello = (worker = 0): Response => ({
  kind: 'hello',
  worker,
  incarnation: 'x',
  version: PROTOCOL_VERSION,
  generation: 1,
});
const status = (message: string): Response => ({ kind: 'status', worker: 0, message });

test('the last client is served, and what workers said before they saw its hello is not for it', async () => {
  const { lives, connect } = fixture();
  const first = await connect();
  lives[0]!.onResponse(hello());
  lives[0]!.onResponse(status('for the first'));
  const second = await connect({ start: 2 });
  assert.match(first.ended!, /took its place/);
  lives[0]!.onResponse(status('of before'));
  lives[0]!.onResponse(hello());
  lives[0]!.onResponse(status('for the second'));
  assert.deepEqual(first.responses, [hello(), status('for the first')]);
  assert.deepEqual(second.responses, [hello(), status('for the second')]);
  assert.equal(lives.length, 1, 'the workers went on');
  assert.deepEqual(
    lives[0]!.got.map((c) => c.kind),
    ['hello', 'createInstance', 'hello', 'createInstance'],
  );
  first.attachment.send({ kind: 'initializationComplete' });
  assert.equal(lives[0]!.got.length, 4, 'who is not served says nothing');
});

test('another version, another generation and an earlier start are refused, and the one served stays', async () => {
  const { lives, connect } = fixture();
  const served = await connect({ start: 5 });
  assert.match((await connect({ version: 99 })).ended!, /speaks version/);
  assert.match((await connect({ start: 4 })).ended!, /start 5 of the environment, and 4 came before/);
  assert.match((await connect({ generation: 2 })).ended!, /serves generation 1, not 2/);
  assert.match((await connect({ generation: 0 })).ended!, /serves generation 1, not 0/);
  assert.equal(served.ended, null);
  assert.equal(lives.length, 1);
  assert.equal((await connect({ start: 5 })).ended, null, 'the same start connects again');
});

test('a later generation is served once it leads, by workers without state', async () => {
  const { lives, connect, state } = fixture();
  const old = await connect();
  state.leading = 2;
  const now = await connect({ generation: 2 });
  assert.equal(now.ended, null);
  assert.match(old.ended!, /took its place/);
  assert.equal(lives.length, 2);
  assert.ok(lives[0]!.closed);
  assert.match((await connect({ generation: 1, start: 9 })).ended!, /serves generation 2, not 1/);
});

test('logs that are configured otherwise start the workers anew', async () => {
  const { lives, connect } = fixture();
  await connect();
  await connect();
  assert.equal(lives.length, 1);
  await connect({ interval: 2000 });
  assert.equal(lives.length, 2);
});

test('workers that are lost end the connection; the next client finds others', async () => {
  const { lives, connect } = fixture();
  const c = await connect();
  lives[0]!.onLost('an assertion');
  assert.match(c.ended!, /workers were lost: an assertion/);
  const next = await connect();
  assert.equal(next.ended, null);
  assert.equal(lives.length, 2);
  lives[1]!.onLost('oom');
  assert.equal(next.ended, 'oom');
});

test('a client that is dropped takes all state with it; one that is not served does not', async () => {
  const { host, lives, connect } = fixture();
  const first = await connect();
  const second = await connect();
  host.retire(first.attachment);
  assert.ok(!lives[0]!.closed);
  host.retire(second.attachment);
  assert.ok(lives[0]!.closed);
});

test('a connection begins with hello and createInstance', async () => {
  const { host, lives } = fixture();
  const reasons: string[] = [];
  const client = {
    respond: () => undefined,
    accepted: () => undefined,
    ended: (r: string) => reasons.push(r),
  };
  host.attach(client).send({ kind: 'initializationComplete' });
  const second = host.attach(client);
  second.send({ kind: 'hello', nonce: 'n', version: PROTOCOL_VERSION, generation: 1, start: 1 });
  second.send({ kind: 'initializationComplete' });
  assert.deepEqual(reasons, [
    'a connection begins with hello, not with initializationComplete',
    'hello is followed by createInstance, not by initializationComplete',
  ]);
  assert.deepEqual(lives[0]!.got, []);
  await host.close();
  assert.ok(lives[0]!.closed);
});
