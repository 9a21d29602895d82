/**
 * A random life of a few tables and views: what is created, written and read, in which order. Plain data, so that a
 * failing one can be stored, replayed and made smaller.
 */
import { type ColumnKind, generateQuery, KINDS, type Relation, randomValue } from './generator.ts';
import { SeededRandom } from './random.ts';

export interface WorkloadQuery {
  /** Of its views: `m<number>` is materialized, `v<number>` indexed. */
  readonly number: number;
  readonly sql: string;
  readonly kinds: readonly ColumnKind[];
  readonly constructs: readonly string[];
  /** Created before this step; what comes before is there already when the views begin. */
  readonly createdAt: number;
}

export type WorkloadStatement =
  | { readonly insert: string; readonly rows: readonly string[] }
  | { readonly sql: string };

/** On a table: what joins and reads it from then on may use it. */
export interface WorkloadIndex {
  readonly on: string;
  readonly column: string;
  readonly createdAt: number;
}

/** Written as one transaction. */
export type WorkloadStep = readonly WorkloadStatement[];

export interface Workload {
  readonly seed: number;
  readonly workers: number;
  readonly tables: readonly Relation[];
  readonly queries: readonly WorkloadQuery[];
  readonly indexes: readonly WorkloadIndex[];
  readonly steps: readonly WorkloadStep[];
}

const QUERIES = 3;
const STEPS = 9;

export function generateWorkload(seed: number): Workload {
  const random = new SeededRandom(seed);
  const tables = Array.from({ length: 2 + random.below(2) }, (_, i) => randomTable(random, `t${i}`));
  const relations = [...tables];
  const queries: WorkloadQuery[] = [];
  let createdAt = 0;
  for (let number = 0; number < QUERIES; number++) {
    const { sql, kinds, constructs } = generateQuery(random, relations);
    createdAt = Math.max(createdAt, random.below(STEPS - 3));
    queries.push({ number, sql, kinds, constructs: [...constructs], createdAt });
    // Later queries may stand on this one; PostgreSQL evaluates no more of a view than it is asked for, we all of it.
    if (random.chance(40) && !constructs.has('fallible'))
      relations.push({
        name: `${random.pick(['m', 'v'])}${number}`,
        columns: kinds.map((kind, i) => ({ name: `c${i}`, kind })),
      });
  }
  const indexes = Array.from({ length: random.below(4) }, (): WorkloadIndex => {
    const { name: on, columns } = random.pick(tables);
    return { on, column: random.pick(columns).name, createdAt: random.below(STEPS) };
  });
  const steps = Array.from({ length: STEPS }, () => randomStep(random, tables));
  return { seed, workers: 1 + random.below(3), tables, queries, indexes, steps };
}

function randomTable(random: SeededRandom, name: string): Relation {
  const kinds = Object.keys(KINDS) as ColumnKind[];
  // Two integers at least, so that there is something to join.
  const columns = ['i', 'i', ...Array.from({ length: 1 + random.below(3) }, () => random.pick(kinds))];
  return { name, columns: columns.map((kind, i) => ({ name: `c${i}`, kind: kind as ColumnKind })) };
}

function randomStep(random: SeededRandom, tables: readonly Relation[]): WorkloadStep {
  const table = random.pick(tables);
  if (random.chance(25)) return [{ sql: `DELETE FROM ${table.name}${where(random, table, 85)}` }];
  if (random.chance(25)) {
    const set = random.pick(table.columns);
    const value = `${randomValue(random, set.kind, 25)}::${KINDS[set.kind].type}`;
    return [{ sql: `UPDATE ${table.name} SET ${set.name} = ${value}${where(random, table, 80)}` }];
  }
  // Only inserts may share a transaction.
  return Array.from({ length: 1 + random.below(3) }, () => {
    const t = random.pick(tables);
    const rows = Array.from({ length: 1 + random.below(4) }, () =>
      t.columns.map((c) => randomValue(random, c.kind, 20)).join(', '),
    );
    return { insert: t.name, rows };
  });
}

function where(random: SeededRandom, table: Relation, percent: number): string {
  if (!random.chance(percent)) return '';
  const c = random.pick(table.columns);
  if (random.chance(25)) return ` WHERE ${c.name} IS ${random.pick(['', 'NOT '])}NULL`;
  return ` WHERE ${c.name} ${random.pick(['=', '=', '<>', '<='])} ${random.pick(KINDS[c.kind].values)}`;
}

export function stepSql(step: WorkloadStep): readonly string[] {
  const all = step.map((s) =>
    'sql' in s ? s.sql : `INSERT INTO ${s.insert} VALUES ${s.rows.map((r) => `(${r})`).join(', ')}`,
  );
  return all.length > 1 ? ['BEGIN', ...all, 'COMMIT'] : all;
}

/** The workload as a script, for a report. */
export function workloadSql(w: Workload): string {
  const lines = w.tables.map(createTable);
  for (let i = 0; i <= w.steps.length; i++) {
    for (const x of w.indexes) if (x.createdAt === i) lines.push(createIndex(x));
    for (const q of w.queries)
      if (q.createdAt === i) lines.push(`CREATE MATERIALIZED VIEW m${q.number} ${viewBody(q)}`);
    if (i < w.steps.length) lines.push(...stepSql(w.steps[i]!));
  }
  return lines.map((l) => `${l};`).join('\n');
}

export const createTable = (t: Relation): string =>
  `CREATE TABLE ${t.name} (${t.columns.map((c) => `${c.name} ${KINDS[c.kind].type}`).join(', ')})`;

export const createIndex = (x: WorkloadIndex): string => `CREATE INDEX ON ${x.on} (${x.column})`;

export const viewBody = (q: WorkloadQuery): string =>
  `(${q.kinds.map((_, i) => `c${i}`).join(', ')}) AS ${q.sql}`;

/**
 * Smaller workloads that still fail, found by leaving out what is not needed: queries, steps, statements, rows.
 * `attempts` bounds the runs.
 */
export async function shrink(
  workload: Workload,
  fails: (w: Workload) => Promise<boolean>,
  attempts: number,
): Promise<Workload> {
  let best = workload;
  for (let progress = true; progress; ) {
    progress = false;
    for (const smaller of candidates(best)) {
      if (attempts-- <= 0) return best;
      if (!(await fails(smaller))) continue;
      best = smaller;
      progress = true;
      break;
    }
  }
  return best;
}

function* candidates(w: Workload): Iterable<Workload> {
  for (const i of w.queries.keys())
    if (w.queries.length > 1) yield { ...w, queries: w.queries.toSpliced(i, 1) };
  for (const i of w.steps.keys()) yield withSteps(w, i, []);
  for (const [i, step] of w.steps.entries())
    for (const [j, s] of step.entries()) {
      if (step.length > 1) yield withSteps(w, i, [step.toSpliced(j, 1)]);
      if (!('rows' in s) || s.rows.length < 2) continue;
      for (const k of s.rows.keys())
        yield withSteps(w, i, [step.with(j, { ...s, rows: s.rows.toSpliced(k, 1) })]);
    }
  for (const i of w.indexes.keys()) yield { ...w, indexes: w.indexes.toSpliced(i, 1) };
  if (w.workers > 1) yield { ...w, workers: 1 };
}

/** Step `i` replaced; what is created at a step stays with it. */
function withSteps(w: Workload, i: number, steps: readonly WorkloadStep[]): Workload {
  const gone = 1 - steps.length;
  const earlier = <T extends { readonly createdAt: number }>(x: T): T =>
    x.createdAt > i ? { ...x, createdAt: x.createdAt - gone } : x;
  const [queries, indexes] = [w.queries.map(earlier), w.indexes.map(earlier)];
  return { ...w, queries, indexes, steps: w.steps.toSpliced(i, 1, ...steps) };
}
