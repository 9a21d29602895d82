/**
 * Cut-over between real processes under load: `npm run cutover -- --rounds 50 [--seed S]`. Each round a second server stands by on the
 * leader's directory, catches up, and is promoted in the middle of writes; it leads in the next round. Every row that was acknowledged is
 * there once, in the table and in a view; the longest time without an acknowledged write is told.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Random, sleep } from './support/crash/random.ts';
import { Client, ServerProcess } from './support/crash/server-process.ts';
import { type Acknowledged, CutoverWriter } from './support/cutover-writers.ts';

export interface CutoverRun {
  readonly seed: number;
  readonly rounds: number;
  readonly say?: (line: string) => void;
}

export interface CutoverReport {
  /** Without an acknowledged write, in the rounds whose leader was alive and awake at its promotion. */
  readonly longestGapMs: number;
  readonly acknowledged: number;
}

/** The process that another one takes over from stops by itself, with this code. */
const FENCED = 3;
const NOT_CAUGHT_UP = '55000';
const WRITERS = 4;

/** What befalls the leader around a promotion. */
const FATES = [
  'promoted',
  'promoted twice',
  'killed before',
  'killed during',
  'hung',
  'candidate killed',
] as const;
type Fate = (typeof FATES)[number];

export async function runCutovers({ seed, rounds, say }: CutoverRun): Promise<CutoverReport> {
  const dataDir = await mkdtemp(join(tmpdir(), 'tidemark-cutover-'));
  const world = new World(join(dataDir, 'data'), new Random(seed));
  let longestGapMs = 0;
  try {
    await world.begin();
    for (let n = 1; n <= rounds; n++) {
      const fate = FATES[(n - 1) % FATES.length]!;
      const gapMs = await world.round(fate);
      if (fate.startsWith('promoted')) longestGapMs = Math.max(longestGapMs, gapMs);
      say?.(
        `round ${n}: ${fate}; ${world.all.count} writes acknowledged, longest gap ${Math.round(gapMs)} ms`,
      );
    }
    return { longestGapMs, acknowledged: world.all.count };
  } catch (error) {
    throw new Error(
      `${(error as Error).message}\nreplay: npm run cutover -- --rounds ${rounds} --seed ${seed}\n${world.logs}`,
      { cause: error },
    );
  } finally {
    await world.end();
    await rm(dataDir, { recursive: true, force: true });
  }
}

class World {
  readonly all: Acknowledged = { lastMs: 0, longestGapMs: 0, count: 0 };
  readonly #dataDir: string;
  readonly #random: Random;
  readonly #servers: ServerProcess[] = [];
  #ports: number[] = [];
  #leader!: ServerProcess;
  #writers: CutoverWriter[] = [];
  #running: Promise<unknown> = Promise.resolve();
  #rounds = 0;

  constructor(dataDir: string, random: Random) {
    this.#dataDir = dataDir;
    this.#random = random;
  }

  get logs(): string {
    return this.#servers.map((s) => `${s.pid}: ${s.log.split('\n').slice(-15).join('\n')}`).join('\n');
  }

  async #start(...more: string[]): Promise<{ server: ServerProcess; port: number }> {
    const server = new ServerProcess(this.#dataDir, more);
    this.#servers.push(server);
    const port = await server.ready();
    assert.ok(port !== null, `the server came up\n${server.log}`);
    return { server, port };
  }

  async begin(): Promise<void> {
    const { server, port } = await this.#start();
    this.#leader = server;
    this.#ports = [port];
    await withClient(port, async (c) => {
      await c.query('CREATE TABLE t (w int NOT NULL, n int NOT NULL)');
      await c.query('CREATE MATERIALIZED VIEW counts AS SELECT w, count(*) AS n FROM t GROUP BY w');
      await c.query('CREATE INDEX t_n ON t (n)');
    });
    this.#writers = Array.from(
      { length: WRITERS },
      (_, i) => new CutoverWriter(i, () => this.#ports, this.all),
    );
    this.#running = Promise.all(this.#writers.map((w) => w.run()));
    this.#running.catch(() => undefined);
  }

  /** Gives the longest time without an acknowledged write, from before the promotion to after it. */
  async round(fate: Fate): Promise<number> {
    this.#rounds++;
    const old = this.#leader;
    const { server, port } = await this.#start('--read-only');
    const view = `late${this.#rounds}`;
    await withClient(this.#ports[0]!, (c) =>
      c.query(`CREATE MATERIALIZED VIEW ${view} AS SELECT max(n) AS m FROM t`),
    );
    await caughtUp(server, view, port);
    await sleep(this.#random.between(0, 300));
    this.all.longestGapMs = 0;
    if (fate === 'candidate killed') return this.#withoutCandidate(server, port, view);
    if (fate === 'killed before') await old.kill();
    if (fate === 'hung') old.pause();
    const promotions = [promote(server, fate)];
    // Writers learn the way as a client behind a proxy does: who refuses them is not asked first again.
    this.#ports = [port, ...this.#ports];
    if (fate === 'promoted twice') promotions.push(promote(server));
    if (fate === 'killed during') await old.kill();
    if (fate === 'hung' && (await promotions[0]) === 409) {
      // It stopped in the middle of a transaction, which nobody can end for it.
      await old.kill();
      promotions[0] = promote(server);
    }
    for (const p of promotions) assert.equal(await p, 200, 'the promotion is accepted');
    this.#ports = [port];
    if (fate === 'hung') {
      await sleep(300);
      old.resume();
    }
    if (!old.wasKilled) assert.equal(await old.exit(), FENCED, `the old leader stops\n${old.log}`);
    const before = this.all.count;
    while (this.all.count < before + 20) await Promise.race([sleep(5), this.#running]);
    const gapMs = this.all.longestGapMs;
    this.#leader = server;
    await this.#verify(port, view);
    return gapMs;
  }

  /**
   * The candidate dies somewhere in its promotion. Either the old leader goes on, or it was fenced; then a server that is started as always
   * leads, as the generation that was claimed.
   */
  async #withoutCandidate(candidate: ServerProcess, port: number, view: string): Promise<number> {
    const old = this.#leader;
    const answered = promote(candidate).catch(() => 0);
    this.#ports = [...this.#ports, port];
    await sleep(this.#random.between(0, 25));
    await candidate.kill();
    await answered;
    const comment = withClient(this.#ports[0]!, (c) => c.query("COMMENT ON TABLE t IS 'who leads writes'"));
    const goesOn = await comment.then(
      () => true,
      () => false,
    );
    if (goesOn) this.#ports = this.#ports.slice(0, 1);
    else {
      assert.equal(await old.exit(), FENCED, `the old leader stops\n${old.log}`);
      const next = await this.#start();
      this.#leader = next.server;
      this.#ports = [next.port];
    }
    const before = this.all.count;
    while (this.all.count < before + 20) await Promise.race([sleep(5), this.#running]);
    await this.#verify(this.#ports[0]!, view, false);
    return this.all.longestGapMs;
  }

  async #verify(port: number, view: string, promoted = true): Promise<void> {
    const books = this.#writers.map((w) => ({ id: w.id, acknowledged: [...w.acknowledged] }));
    await withClient(port, async (c) => {
      const { rows } = await c.query('SELECT w, n, count(*) FROM t GROUP BY w, n');
      const found = new Map(rows.map(([w, n, times]) => [`${w} ${n}`, times]));
      assert.deepEqual(
        [...found].filter(([, times]) => times !== '1'),
        [],
        'no row is there twice',
      );
      const lost = books.flatMap((w) => w.acknowledged.filter((n) => !found.has(`${w.id} ${n}`)));
      assert.deepEqual(lost, [], 'no acknowledged row is lost');
      const all = await c.query(`SELECT (SELECT count(*) FROM t) = (SELECT sum(n) FROM counts),
        (SELECT max(n) FROM t) = (SELECT m FROM ${view})`);
      assert.deepEqual(all.rows, [['t', 't']], 'views and table agree');
      await c.query(`DROP MATERIALIZED VIEW ${view}`);
    });
    if (promoted) await this.#stagesInOrder(port);
  }

  /** The view went on writing here: it was blocked, then permitted, then durable. */
  async #stagesInOrder(port: number): Promise<void> {
    await withClient(port, async (c) => {
      for (;;) {
        const { rows } =
          await c.query(`SELECT event FROM mz_introspection.mz_compute_lifecycle_events_per_worker e
          JOIN mz_materialized_views v ON v.id = e.export_id WHERE v.name = 'counts' ORDER BY occurred_at, event`);
        const events = rows.map(([e]) => e);
        if (!events.includes('written')) {
          await sleep(20);
          continue;
        }
        assert.deepEqual(events.slice(-3), ['write_blocked', 'write_unblocked', 'written']);
        return;
      }
    });
  }

  async end(): Promise<void> {
    for (const w of this.#writers) w.end();
    for (const s of this.#servers) await s.kill();
    await this.#running.catch(() => undefined);
  }
}

async function withClient<T>(port: number, f: (c: Client) => Promise<T>): Promise<T> {
  const client = await new Client(port).connected();
  try {
    return await f(client);
  } finally {
    await client.end();
  }
}

/** Until it says so, with the leader's newest view among what it knows. */
async function caughtUp(server: ServerProcess, view: string, port: number): Promise<void> {
  const deadline = Date.now() + 60_000;
  await withClient(port, async (c) => {
    for (;;) {
      const status = (await (await fetch(`http://127.0.0.1:${server.http}/api/leader/status`)).json()) as {
        role: string;
        caughtUp: boolean;
      };
      assert.equal(status.role, 'read_only');
      const known = await c.query(`SELECT name FROM mz_materialized_views WHERE name = '${view}'`);
      if (status.caughtUp && known.rows.length === 1) return;
      assert.ok(Date.now() < deadline, `caught up, not ${JSON.stringify(status)}`);
      await sleep(50);
    }
  });
}

/**
 * At once, or when it has caught up again with writes that never rest, or when a leader that was only slow has ended the transaction in
 * which it was found. One that hangs never will.
 */
async function promote(server: ServerProcess, fate?: Fate): Promise<number> {
  for (const deadline = Date.now() + 60_000; ; ) {
    const answer = await fetch(`http://127.0.0.1:${server.http}/api/leader/promote`, { method: 'POST' });
    const { error } = (await answer.json()) as { error?: { code: string; message: string } };
    const writes = /in the middle of a write/.test(error?.message ?? '');
    const passes = writes ? fate !== 'hung' : error?.code === NOT_CAUGHT_UP;
    if (!passes || Date.now() > deadline) return answer.status;
    await sleep(50);
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { rounds: { type: 'string', default: '50' }, seed: { type: 'string' } },
  });
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  const rounds = Number(values.rounds);
  console.log(`seed ${seed}, ${rounds} rounds`);
  const { longestGapMs, acknowledged } = await runCutovers({ seed, rounds, say: console.log });
  console.log(
    `${rounds} cut-overs, seed ${seed}: ${acknowledged} writes, none lost, none twice; longest gap ${Math.round(longestGapMs)} ms`,
  );
}
