/**
 * The real file: what SELECT gives through an index and through a materialized view equals what a plain script over the Parquet
 * file computes. Does not see: faults that both the decoder and the script share, for they use one Parquet library.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { zstdDecompressSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import { NotReadyError, open } from '../packages/tidemark/src/index.ts';

const FILE = fileURLToPath(new URL('../data/flights-3m.parquet', import.meta.resolve('vega-datasets')));

interface Sums {
  flights: number;
  delay: number;
  worst: number;
}

/** The plain script: one pass over rows as objects. */
async function byOrigin(): Promise<Map<string, Sums>> {
  const bytes = readFileSync(FILE);
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const compressors = { ZSTD: (input: Uint8Array) => new Uint8Array(zstdDecompressSync(input)) };
  const rows = (await parquetReadObjects({ file, compressors, columns: ['origin', 'delay'] })) as Record<
    string,
    unknown
  >[];
  const out = new Map<string, Sums>();
  for (const r of rows) {
    const origin = r['origin'] as string;
    const delay = Number(r['delay']);
    let s = out.get(origin);
    if (s === undefined) out.set(origin, (s = { flights: 0, delay: 0, worst: -Infinity }));
    s.flights++;
    s.delay += delay;
    s.worst = Math.max(s.worst, delay);
  }
  return out;
}

test('three million flights through an index and a materialized view give the plain script’s numbers', async () => {
  const db = await open({ memory: true });
  try {
    await db.exec("CREATE CLUSTER two (SIZE '2'); SET cluster = two");
    await db.query(`CREATE SOURCE flights FROM FILE '${FILE}' (FORMAT PARQUET)`);
    await db.exec(`
      CREATE INDEX by_origin ON flights (origin);
      CREATE MATERIALIZED VIEW airports AS
        SELECT origin, count(*) AS flights, sum(delay) AS delay, max(delay) AS worst FROM flights GROUP BY origin`);
    // The load takes seconds: both wait for it, and say so.
    await assert.rejects(db.ready({ timeoutMs: 1 }), (e: NotReadyError) => {
      assert.ok(e instanceof NotReadyError);
      assert.deepEqual(new Set(e.missing.map((m) => m.name)), new Set(['by_origin', 'airports']));
      const late = e.missing.filter((m) => m.reason === 'waiting_for_inputs');
      return late.every((m) => m.stage === 'installed' && m.blockedBy !== null);
    });
    const expected = await byOrigin();
    assert.ok(expected.size > 50, 'the file names many airports');

    const view = await db.query('SELECT * FROM airports');
    const found = new Map(
      view.rows.map((r) => [
        String(r['origin']),
        { flights: Number(r['flights']), delay: Number(r['delay']), worst: Number(r['worst']) },
      ]),
    );
    assert.deepEqual(found, expected);

    const all = await db.query('SELECT count(*) AS n FROM flights');
    assert.equal(all.rows[0]!['n'], 3_000_000n);
    for (const origin of ['LAX', 'JFK', 'no such airport']) {
      const { rows } = await db.query(
        'SELECT count(*) AS n, sum(delay) AS d FROM flights WHERE origin = $1',
        [origin],
      );
      assert.equal(Number(rows[0]!['n']), expected.get(origin)?.flights ?? 0);
      assert.equal(Number(rows[0]!['d'] ?? 0), expected.get(origin)?.delay ?? 0);
    }
  } finally {
    await db.close();
  }
});
