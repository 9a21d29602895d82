/**
 * SQL behaviour as text: every file of `test/slt` runs as a batch, incrementally, and on PostgreSQL (PGlite). The
 * reference sees what our functions get wrong, the incremental run what maintenance gets wrong. None sees what all of
 * the ways to read share, such as a wrong answer that is also the one in the file under `ours`.
 *
 *     node test/slt.test.ts [--rewrite] [joins.slt[:12]] …     SEED=<n> draws other orders and batches
 *
 * `--rewrite` puts what a batch answers into the files, where PostgreSQL answers the same or the record says `ours`.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parseArgs } from 'node:util';
import { TestEngine } from '../packages/tidemark/src/testkit/engine.ts';
import { runSlt, type SltMode, type SltTarget } from '../packages/tidemark/src/testkit/slt.ts';
import { parseSlt, printSlt, type SltFile, type SltRun } from '../packages/tidemark/src/testkit/slt-file.ts';
import { openReference } from './support/reference.ts';

const SEED = Number(process.env.SEED ?? 20_261_129);
const DIR = join(import.meta.dirname, 'slt');
const { values, positionals } = parseArgs({
  options: { rewrite: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const wanted = positionals.map((p) => p.split(':') as [string, string?]);

let reference: SltTarget & { close(): Promise<void> };
before(async () => {
  reference = await openReference();
});
after(() => reference.close());

/** The record of a line is the last query or statement that begins at it or above, or else the first. */
function only(file: SltFile, name: string): ((r: SltRun) => boolean) | undefined {
  const lines = wanted
    .filter(([n, line]) => n === name && line !== undefined)
    .map(([, line]) => Number(line));
  if (lines.length === 0) return undefined;
  const records = file.sections.flatMap((s) => s.records.filter((r): r is SltRun => r.kind !== 'table'));
  const chosen = new Set(lines.map((line) => records.findLast((r) => r.line <= line) ?? records[0]));
  return (r) => chosen.has(r);
}

async function engine(workers: number): Promise<TestEngine> {
  const e = await TestEngine.open({ workers: 'seeded', seed: SEED, schedule: (f) => void setImmediate(f) });
  await e.exec(`CREATE CLUSTER c (SIZE '${workers}'); SET cluster = c`);
  return e;
}

async function run(name: string, file: SltFile, mode: SltMode) {
  const target: SltTarget & Partial<TestEngine> =
    mode === 'reference' ? reference : await engine(mode === 'batch' ? 1 : 2);
  try {
    const filter = only(file, name);
    const outcome = await runSlt(file, target, { mode, seed: SEED, ...(filter && { only: filter }) });
    assert.deepEqual(target.faults ?? [], [], 'no worker failed');
    return outcome;
  } finally {
    if (target !== reference) await (target as TestEngine).close();
  }
}

for (const name of readdirSync(DIR).filter((f) => f.endsWith('.slt'))) {
  if (wanted.length > 0 && !wanted.some(([n]) => n === name)) continue;
  const path = join(DIR, name);
  test(name, async (t) => {
    if (values.rewrite) {
      const file = parseSlt(readFileSync(path, 'utf8'));
      const ours = await run(name, file, 'batch');
      const theirs = await run(name, file, 'reference');
      const agreed = new Map<SltRun, readonly string[]>();
      for (const [r, answer] of ours.answers)
        if (r.words.includes('ours') || String(theirs.answers.get(r)) === String(answer))
          agreed.set(r, answer);
        else
          t.diagnostic(
            `${name}:${r.line} is left: we say ${answer}; PostgreSQL says ${theirs.answers.get(r)}`,
          );
      writeFileSync(path, printSlt(file, agreed));
    }
    const file = parseSlt(readFileSync(path, 'utf8'));
    for (const mode of ['batch', 'incremental', 'reference'] as const) {
      const start = performance.now();
      const { failures, compared } = await run(name, file, mode);
      t.diagnostic(`${name} ${mode}: ${compared} compared in ${Math.round(performance.now() - start)} ms`);
      assert.ok(compared > 0, `${name} compares nothing`);
      assert.deepEqual(
        failures.map((f) => `SEED=${SEED} node test/slt.test.ts ${name}:${f.line}\n${f.message}`).join('\n'),
        '',
      );
    }
  });
}
