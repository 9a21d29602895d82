/** What the README shows is run as it stands: its SQL through the wire's door, its program against the library. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { open } from '../packages/tidemark/src/index.ts';
import { until } from './support/until.ts';

const README = readFileSync(fileURLToPath(new URL('../README.md', import.meta.url)), 'utf8');
const LIBRARY = new URL('../packages/tidemark/src/index.ts', import.meta.url).href;

const blocks = (language: string): string[] =>
  [...README.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map((m) => m[1]!);

test('the SQL of the README gives what it says', async () => {
  const [tour, verdict, why, story] = blocks('sql');
  assert.ok(tour && verdict && why && story, 'the README has a tour and three questions in SQL');
  const db = await open({ memory: true, workers: 'inline' });
  try {
    const last = await db.exec(tour);
    assert.deepEqual(last.rows, [{ customer: 7, orders: 1n, amount: 100n }]);
    await db.ready();
    while ((await db.query(why)).rows.length > 0);
    let { rows } = await db.query(verdict);
    // The history is durable, and so a commit later.
    while (rows[0]?.['queue_ms'] === null || rows[0]?.['compute_ms'] === null)
      ({ rows } = await db.query(verdict));
    assert.equal(rows.length, 1);
    const [r1] = rows as [Record<string, unknown>];
    assert.partialDeepStrictEqual(r1, { cluster: 'quickstart', replica: 'r1', hydrated: true, reason: null });
    assert.match(String(r1['since']), /^\d{4}-/);
    assert.match(String(r1['slowest']), /^(totals|orders_by_customer)$/);
    for (const part of ['queue_ms', 'compute_ms']) assert.match(String(r1[part]), /^\d+\.\d{3}$/, part);
    // The log shows what happened up to an interval ago.
    const told = await until(
      () => db.query(story),
      (r) => r.rows.length === 2 && r.rows.some((row) => row['writing'] !== null),
    );
    assert.deepEqual(new Set(told.rows.map((r) => r['name'])), new Set(['totals', 'orders_by_customer']));
    for (const r of told.rows) {
      assert.equal(r['workers'], 1n);
      for (const interval of ['queued', 'computed']) assert.match(String(r[interval]), /^\d\d:\d\d:\d\d/);
      assert.equal(
        r['writing'] === null,
        r['name'] === 'orders_by_customer',
        'a view is written, an index is not',
      );
    }
  } finally {
    await db.close();
  }
});

test('the program of the README runs to its end', async () => {
  const [program] = blocks('ts');
  assert.ok(program !== undefined, 'the README has a program');
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-readme-'));
  try {
    const file = join(folder, 'program.ts');
    writeFileSync(file, program.replace("from 'tidemark'", `from '${LIBRARY}'`));
    await import(pathToFileURL(file).href);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
