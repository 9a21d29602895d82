/**
 * Runs workloads one after another against PostgreSQL (PGlite). A failure is made smaller, described with the command
 * that replays it, and can be stored as a regression.
 */
import { type Difference, runWorkload } from '../../packages/tidemark/src/testkit/differential.ts';
import { TestEngine } from '../../packages/tidemark/src/testkit/engine.ts';
import { shrink, type Workload, workloadSql } from '../../packages/tidemark/src/testkit/workload.ts';
import type { Reference } from './reference.ts';

export interface FuzzTotals {
  workloads: number;
  compared: number;
  /** Queries, at a step, that PostgreSQL answers with a row or an error. */
  answered: number;
  /** Workloads that gave no row at any step. */
  empty: number;
  readonly shapes: Map<string, number>;
  readonly refused: string[];
}

export const newTotals = (): FuzzTotals => ({
  workloads: 0,
  compared: 0,
  answered: 0,
  empty: 0,
  shapes: new Map(),
  refused: [],
});

export interface Failure {
  readonly workload: Workload;
  readonly text: string;
}

export interface FuzzOptions {
  readonly reference: Reference;
  readonly threads?: boolean;
  readonly shrinkAttempts?: number;
}

export async function runOne(
  workload: Workload,
  totals: FuzzTotals,
  o: FuzzOptions,
): Promise<Failure | null> {
  const fault = await attempt(workload, o, totals);
  if (fault === null) return null;
  const kind = fault.kind;
  const smaller = await shrink(
    workload,
    async (w) => (await attempt(w, o).catch(() => null))?.kind === kind,
    // A hang takes its minutes each time.
    kind === 'hang' ? 0 : (o.shrinkAttempts ?? 80),
  );
  const last = kind === 'hang' ? fault : ((await attempt(smaller, o)) ?? fault);
  const replay = `npm run fuzz -- --seed ${workload.seed}${o.threads ? ' --threads' : ''}`;
  return { workload: smaller, text: `${last.text}\n\n${workloadSql(smaller)}\n\nreplay: ${replay}\n` };
}

interface Fault {
  readonly kind: string;
  readonly text: string;
}

/** A run that hangs has failed. One takes seconds; among thirty others on two cores it took more than a minute. */
const LIMIT_MS = 180_000;

async function attempt(w: Workload, o: FuzzOptions, totals?: FuzzTotals): Promise<Fault | null> {
  const engine = await TestEngine.open(
    o.threads === true
      ? { workers: 'threads' }
      : { workers: 'seeded', seed: w.seed, schedule: (f) => void setImmediate(f) },
  );
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), LIMIT_MS);
  });
  try {
    const outcome = await Promise.race([runWorkload(w, engine, o.reference), late]);
    if (outcome === 'late') return { kind: 'hang', text: `no answer within ${LIMIT_MS} ms` };
    if (engine.faults.length > 0)
      return { kind: 'fault', text: `the engine logged an error\n${engine.faults.join('\n')}` };
    if (totals !== undefined) {
      totals.workloads++;
      totals.compared += outcome.compared;
      totals.answered += outcome.answered;
      if (outcome.answered === 0) totals.empty++;
      for (const s of outcome.shapes) totals.shapes.set(s, (totals.shapes.get(s) ?? 0) + 1);
      totals.refused.push(...outcome.refused);
    }
    return outcome.difference === null ? null : fault(outcome.difference);
  } catch (error) {
    return { kind: 'throw', text: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  } finally {
    clearTimeout(timer);
    await engine.close();
  }
}

function fault(d: Difference): Fault {
  const text = (a: Difference['actual']): string =>
    'error' in a
      ? `  error ${a.error}: ${a.message}`
      : a.rows
          .map((r) => `  ${r.map((c) => c ?? 'NULL').join(' | ')}`)
          .sort()
          .join('\n');
  const kind = `${d.way.split(' ')[0]}${'error' in d.actual ? d.actual.error : ''}${'error' in d.expected}`;
  return {
    kind,
    text: `after step ${d.step}, ${d.way}, query ${d.query.number}\n${d.query.sql}\nPostgreSQL\n${text(d.expected)}\nengine\n${text(d.actual)}`,
  };
}
