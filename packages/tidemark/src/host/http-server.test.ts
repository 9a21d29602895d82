import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { silentLogger } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import { createHttpApp, type HttpApp } from '../http/app.ts';
import { type HttpServer, listenHttp } from './http-server.ts';

const APP = createHttpApp({
  readiness: async () => ({ ready: false, missing: [], clustersWithoutReplica: [] }),
  leader: {
    status: () => ({ role: 'leader', generation: 1, caughtUp: true, missing: [] }),
    promote: async () => undefined,
    mayPromote: () => true,
  },
  status: () => Promise.reject(new Error('not asked')),
  logger: silentLogger,
});

async function start(
  t: TestContext,
  { app = APP, port = 0 }: { app?: HttpApp; port?: number } = {},
): Promise<HttpServer> {
  const server = await listenHttp({ host: '127.0.0.1', port, app, logger: silentLogger });
  t.after(() => server.close());
  return server;
}

describe('listenHttp', () => {
  it('serves the application', async (t) => {
    const { port } = await start(t);
    const live = await fetch(`http://127.0.0.1:${port}/api/livez`);
    assert.deepEqual(await live.json(), { status: 'live' });
    assert.equal((await fetch(`http://127.0.0.1:${port}/api/readyz`)).status, 503);
    assert.equal((await fetch(`http://127.0.0.1:${port}/api/readyz?max_lag=x`)).status, 400);
    assert.equal((await fetch(`http://127.0.0.1:${port}/none`)).status, 404);
  });

  it('says what is wrong with a port', async (t) => {
    const { port } = await start(t);
    await assert.rejects(
      start(t, { port }),
      (error) => error instanceof SqlError && /the port is in use/.test(error.message),
    );
  });

  it('survives what is not HTTP', async (t) => {
    const { port } = await start(t);
    const socket = connect(port, '127.0.0.1');
    socket.write('\0\0\0\x08\x04\xd2\x16\x2f');
    socket.resume();
    await once(socket, 'close');
    assert.equal((await fetch(`http://127.0.0.1:${port}/api/livez`)).status, 200);
  });

  it('closes with idle and with endless requests', async (t) => {
    const endless: HttpApp = {
      fetch: () => new Response(new ReadableStream({ pull: (c) => c.enqueue(new Uint8Array(10)) })),
    };
    const server = await start(t, { app: endless });
    const idle = connect(server.port, '127.0.0.1');
    await once(idle, 'connect');
    const response = await fetch(`http://127.0.0.1:${server.port}/`);
    const reading = response.arrayBuffer().then(
      () => assert.fail('it has no end'),
      () => 'cut',
    );
    const closing = server.close();
    assert.equal(await reading, 'cut');
    await closing;
    await server.close();
  });
});
