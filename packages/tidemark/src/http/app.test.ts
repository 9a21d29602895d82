import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StatusReport } from '../adapter/status.ts';
import { silentLogger } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import {
  createHttpApp,
  type HttpDeps,
  type MissingObject,
  type Readiness,
  type ReadinessQuery,
} from './app.ts';

const MISSING: MissingObject = {
  ...{ objectId: 'u1', name: 'orders_by_day', clusterId: 'u2', replicaId: 'u3', replica: 'days.r1' },
  ...{
    stage: 'started',
    reason: 'hydrating',
    since: '2026-11-29T10:00:00.000Z',
    blockedBy: null,
    blockedByName: null,
    details: null,
  },
};

const STATUS: StatusReport = { ready: true, missing: [], at: '2026-11-29T10:00:00.000Z', clusters: [] };
const READY: Readiness = { ready: true, missing: [], clustersWithoutReplica: ['idle'] };

const STANDBY = { role: 'read_only', generation: 2, caughtUp: false, missing: [MISSING] };

const LEADER: HttpDeps['leader'] = {
  status: () => STANDBY,
  promote: async () => undefined,
  mayPromote: () => true,
};

const DEPS: HttpDeps = {
  readiness: async () => READY,
  leader: LEADER,
  status: async () => STATUS,
  logger: silentLogger,
};

async function get(path: string, deps: Partial<HttpDeps> = {}, method = 'GET') {
  const app = createHttpApp({
    ...DEPS,
    ...deps,
  });
  const response = await app.fetch(new Request(`http://localhost${path}`, { method }));
  const text = await response.text();
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  assert.equal(response.headers.get('cache-control'), 'no-store');
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
}

describe('GET /api/livez', () => {
  it('answers without asking the engine', async () => {
    const readiness = () => assert.fail('not asked');
    assert.deepEqual(await get('/api/livez', { readiness }), { status: 200, body: { status: 'live' } });
    assert.deepEqual(await get('/api/livez', { readiness }, 'HEAD'), { status: 200, body: null });
  });
});

describe('GET /api/readyz', () => {
  it('says that all is ready, or what is not', async () => {
    assert.deepEqual(await get('/api/readyz'), { status: 200, body: READY });
    const body = { ready: false, missing: [MISSING], clustersWithoutReplica: [] };
    assert.deepEqual(await get('/api/readyz', { readiness: async () => body }), { status: 503, body });
  });

  it('passes its parameters on, and only those given', async () => {
    const asked: ReadinessQuery[] = [];
    const deps = {
      readiness: async (query: ReadinessQuery) => {
        asked.push(query);
        return READY;
      },
    };
    await get('/api/readyz', deps);
    await get('/api/readyz?cluster=my%20cluster&stable_for=10s&max_lag=500ms', deps);
    await get('/api/readyz?stable_for=0', deps);
    assert.deepEqual(asked, [
      {},
      { cluster: 'my cluster', stableForMs: 10_000, maxLagMs: 500 },
      { stableForMs: 0 },
    ]);
  });

  it('refuses what it does not understand', async () => {
    for (const [query, expected] of [
      ['stable_for=10', /"stable_for" is not a duration: "10"/],
      ['stable_for=', /"stable_for" is not a duration/],
      ['max_lag=-1s', /"max_lag" is not a duration/],
      ['max_lag=1x', /"max_lag" is not a duration/],
      ['max_lag=0.5ms', /"max_lag" is not a duration/],
      ['stablefor=10s', /unknown parameter "stablefor"/],
      ['cluster=a&cluster=b', /"cluster" is given 2 times/],
      ['cluster=', /"cluster" is empty/],
    ] as const) {
      const { status, body } = await get(`/api/readyz?${query}`, {
        readiness: () => assert.fail('not asked'),
      });
      assert.equal(status, 400, query);
      assert.equal(body.error.code, '22023');
      assert.match(body.error.message, expected);
      assert.ok(body.error.hint.length > 0);
    }
  });

  it('maps errors of the engine to a status', async () => {
    for (const [error, expected, code] of [
      [new SqlError('undefined_object', 'unknown cluster "x"'), 404, '42704'],
      [new SqlError('cannot_connect_now', 'the catalog is being restored'), 503, '57P03'],
      [new SqlError('invalid_parameter_value', 'bad'), 400, '22023'],
      [new TypeError('x is not a function'), 500, 'XX000'],
    ] as const) {
      const { status, body } = await get('/api/readyz', { readiness: () => Promise.reject(error) });
      assert.equal(status, expected);
      assert.equal(body.error.code, code);
    }
  });
});

it('answers unknown paths and methods in JSON', async () => {
  for (const [path, method] of [
    ['/', 'GET'],
    ['/api/readyz/x', 'GET'],
    ['/api/readyz', 'POST'],
  ]) {
    const { status, body } = await get(path, {}, method);
    assert.equal(status, 404);
    assert.equal(body.error.message, `there is no ${method} ${path}`);
  }
});

describe('GET /api/status', () => {
  it('passes its cluster on, and answers 200 whether all is ready or not', async () => {
    const asked: unknown[] = [];
    const body = { ...STATUS, ready: false };
    const status = async (query: object) => {
      asked.push(query);
      return body;
    };
    assert.deepEqual(await get('/api/status', { status }), { status: 200, body });
    assert.equal((await get('/api/status?cluster=c', { status })).status, 200);
    assert.deepEqual(asked, [{}, { cluster: 'c' }]);
    assert.equal((await get('/api/status?stable_for=1s')).status, 400);
    assert.equal((await get('/api/status?cluster=')).status, 400);
  });
});

describe('/api/leader', () => {
  const post = async (
    leader: Partial<HttpDeps['leader']>,
    init: { readonly body?: string; readonly headers?: Record<string, string> } = {},
  ) => {
    const deps = { ...DEPS, leader: { ...LEADER, ...leader } };
    const request = new Request('http://localhost/api/leader/promote', { method: 'POST', ...init });
    const response = await createHttpApp(deps).fetch(request);
    return { status: response.status, body: JSON.parse(await response.text()) };
  };

  it('tells the status', async () => {
    assert.deepEqual(await get('/api/leader/status'), { status: 200, body: STANDBY });
    assert.equal((await get('/api/leader/status?cluster=c')).status, 400);
  });

  it('promotes, forced where the body says so, and answers with the status', async () => {
    const asked: unknown[] = [];
    const promote = async (o: unknown) => void asked.push(o);
    assert.deepEqual(await post({ promote }), { status: 200, body: STANDBY });
    await post({ promote }, { body: '{"force": true}' });
    await post({ promote }, { body: '{}' });
    assert.deepEqual(asked, [{ force: false }, { force: true }, { force: false }]);
    // In the address it would be passed over, and a promotion taken for forced that is not.
    const leader = { ...LEADER, promote: () => assert.fail('refused before') };
    const request = new Request('http://localhost/api/leader/promote?force=true', { method: 'POST' });
    assert.equal((await createHttpApp({ ...DEPS, leader }).fetch(request)).status, 400);
    for (const body of ['force', '[]', '{"force": 1}', '{"forced": true}', 'null'])
      assert.equal(
        (await post({ promote: () => assert.fail('refused before') }, { body })).status,
        400,
        body,
      );
  });

  it('says what is missing where a promotion is refused', async () => {
    const promote = async (): Promise<void> => {
      throw new SqlError('object_not_in_prerequisite_state', 'this generation is not caught up');
    };
    const { status, body } = await post({ promote });
    assert.equal(status, 409);
    assert.equal(body.error.message, 'this generation is not caught up');
    assert.deepEqual(body.missing, [MISSING]);
  });

  it('takes the token, and nothing from a page of another origin', async () => {
    const seen: (string | undefined)[] = [];
    const leader = {
      promote: () => assert.fail('not promoted'),
      mayPromote: (a: string | undefined) => void seen.push(a) === undefined && false,
    };
    assert.equal((await post(leader)).status, 401);
    assert.equal((await post(leader, { headers: { authorization: 'Bearer x' } })).status, 401);
    assert.deepEqual(seen, [undefined, 'Bearer x']);
    const foreign = { headers: { origin: 'http://elsewhere.example', host: 'localhost' } };
    assert.equal((await post({ promote: () => assert.fail('not promoted') }, foreign)).status, 403);
    const own = { headers: { origin: 'http://localhost', host: 'localhost' } };
    assert.equal((await post({}, own)).status, 200);
  });
});
