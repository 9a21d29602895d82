/**
 * Runs a workload on the engine and on a reference (PostgreSQL) and compares, after every step, what each query gives:
 * read from its materialized view, from its indexed view, directly, summed up from the changes that a subscribe told, by the
 * naive interpreter, and by the reference.
 * Rows are multisets; numbers are compared by value, floats within 1e-9 of each other. An error must be an error with
 * the same SQLSTATE everywhere.
 *
 * It cannot see what no generated query asks for, nor faults of one function that PostgreSQL shares.
 */
import { SqlError } from '../base/error.ts';
import type { GlobalId } from '../base/ids.ts';
import { interpret } from '../plan/interpret.ts';
import { columnsOf, type Mir, someNode } from '../plan/mir.ts';
import { planQuery } from '../plan/plan-query.ts';
import { textOf } from '../repr/format.ts';
import type { Row } from '../repr/types.ts';
import { parseStatement } from '../sql/parse.ts';
import type { TestEngine, TextResult, TextRow } from './engine.ts';
import { type ColumnKind, KINDS } from './generator.ts';
import { SeededRandom } from './random.ts';
import type { Subscribed } from './subscribed.ts';
import {
  createIndex,
  createTable,
  stepSql,
  viewBody,
  type Workload,
  type WorkloadQuery,
} from './workload.ts';

export interface Reference {
  exec(sql: string): Promise<TextResult>;
}

/** A difference: where, and what each side gave. */
export interface Difference {
  readonly query: WorkloadQuery;
  readonly step: number;
  readonly way: string;
  readonly expected: Answer;
  readonly actual: Answer;
}

export type Answer =
  | { readonly rows: readonly TextRow[] }
  | { readonly error: string; readonly message: string };

export interface WorkloadOutcome {
  readonly difference: Difference | null;
  /** Comparisons of something: at least one row, or an error. */
  readonly answered: number;
  readonly compared: number;
  /** `<plan node or construct>`, with ` null` where an input held NULL and ` retract` where rows went. */
  readonly shapes: ReadonlySet<string>;
  /** Queries that the engine refuses for a listed reason; they are not compared further. */
  readonly refused: readonly string[];
}

/** What the engine may refuse although PostgreSQL answers. */
const EXPECTED_DIFFERENCES: readonly { readonly reason: string; readonly ours: RegExp }[] = [
  {
    reason: 'what a maintained dataflow cannot hold is refused where it is created',
    ours: /^0A000 /,
  },
];

export interface RunOptions {
  /** The interpreter multiplies its inputs out: not for tables of thousands of rows. */
  readonly interpret?: boolean;
}

export async function runWorkload(
  workload: Workload,
  engine: TestEngine,
  reference: Reference,
  options: RunOptions = {},
): Promise<WorkloadOutcome> {
  const run = new DifferentialRun(workload, engine, reference, options);
  try {
    await run.run();
    return run;
  } finally {
    run.close();
    for (const t of workload.tables) await reference.exec(`DROP TABLE IF EXISTS ${t.name} CASCADE`);
  }
}

class DifferentialRun implements WorkloadOutcome {
  difference: Difference | null = null;
  answered = 0;
  compared = 0;
  readonly shapes: Set<string> = new Set();
  readonly refused: string[] = [];
  readonly #w: Workload;
  readonly #engine: TestEngine;
  readonly #reference: Reference;
  readonly #random: SeededRandom;
  readonly #interprets: boolean;
  readonly #live: WorkloadQuery[] = [];
  readonly #subscribed = new Map<WorkloadQuery, Subscribed>();

  constructor(workload: Workload, engine: TestEngine, reference: Reference, options: RunOptions) {
    this.#interprets = options.interpret ?? true;
    this.#w = workload;
    this.#engine = engine;
    this.#reference = reference;
    this.#random = new SeededRandom(workload.seed);
  }

  close(): void {
    for (const s of this.#subscribed.values()) s.close();
  }

  async run(): Promise<void> {
    const { workers, tables, queries, indexes, steps } = this.#w;
    await this.#engine.exec(`CREATE CLUSTER c (SIZE '${workers}'); SET cluster = c`);
    for (const t of tables) await this.#both(createTable(t));
    for (let step = 0; step <= steps.length; step++) {
      for (const x of indexes) if (x.createdAt === step) await this.#engine.exec(createIndex(x));
      for (const q of queries) if (q.createdAt === step) await this.#create(q, step);
      if (step < steps.length) {
        for (const sql of stepSql(steps[step]!)) await this.#both(sql);
      }
      for (const q of this.#live) {
        await this.#compare(q, step);
        if (this.difference !== null) return;
      }
    }
    await this.#cover();
  }

  /** Opened when first asked, and again after an error has ended it: a collection heals, a subscribe does not. */
  async #summed(q: WorkloadQuery): Promise<Answer> {
    let s = this.#subscribed.get(q);
    if (s === undefined) {
      // In turns of a relation that is arranged, one that is in a shard, and one that is neither.
      const from = [`v${q.number}`, `m${q.number}`, `(${q.sql})`][q.number % 3]!;
      s = await this.#engine.subscribe(`SUBSCRIBE ${from} WITH (PROGRESS)`);
      this.#subscribed.set(q, s);
    }
    await s.completeBefore(this.#engine.env.oracle.readTime + 1);
    // What never changes comes to its end, and is what it is.
    if (!(s.ended instanceof SqlError)) return { rows: s.contents() };
    s.close();
    this.#subscribed.delete(q);
    return { error: s.ended.sqlstate, message: s.ended.message };
  }

  async #both(sql: string): Promise<void> {
    await this.#engine.exec(sql);
    await this.#reference.exec(sql);
  }

  async #create(q: WorkloadQuery, step: number): Promise<void> {
    const body = viewBody(q);
    const theirs = await answer(async () => {
      await this.#reference.exec(`CREATE VIEW m${q.number} ${body}`);
      await this.#reference.exec(`CREATE VIEW v${q.number} ${body}`);
      return [];
    });
    const ours = await answer(async () => {
      await this.#engine.exec(`CREATE MATERIALIZED VIEW m${q.number} ${body}`);
      await this.#engine.exec(`CREATE VIEW v${q.number} ${body}`);
      await this.#engine.exec(`CREATE DEFAULT INDEX ON v${q.number}; CREATE INDEX ON v${q.number} (c0)`);
      return [];
    });
    if (!('error' in ours) && !('error' in theirs)) {
      this.#live.push(q);
      return;
    }
    const said = 'error' in ours ? `${ours.error} ${ours.message}` : '';
    // What both refuse is a fault too: the generator's.
    if (EXPECTED_DIFFERENCES.some((d) => d.ours.test(said))) this.refused.push(`${said}: ${q.sql}`);
    else this.difference = { query: q, step, way: 'creation', expected: theirs, actual: ours };
  }

  async #compare(q: WorkloadQuery, step: number): Promise<void> {
    const expected = await answer(async () => (await this.#reference.exec(q.sql)).rows);
    if ('error' in expected || expected.rows.length > 0) this.answered++;
    const ours = (sql: string): Promise<Answer> => answer(async () => (await this.#engine.exec(sql)).rows);
    const ways: Record<string, () => Promise<Answer>> = {
      materialized: () => ours(`SELECT * FROM m${q.number}`),
      indexed: () => ours(`SELECT * FROM v${q.number}`),
      direct: () => ours(q.sql),
      subscribed: () => this.#summed(q),
    };
    // Slow: the last step sees it always.
    if (this.#interprets && (step === this.#w.steps.length || this.#random.chance(25)))
      ways['interpreted'] = () => answer(() => this.#interpret(q.sql));
    for (const [way, read] of Object.entries(ways))
      if (!this.#check({ query: q, step, way, expected, actual: await read() })) return;
    // PostgreSQL pushes the lookup below the joins, and fails for rows that these would drop.
    if (q.constructs.includes('fallible')) return;
    const kind = q.kinds[0]!;
    const found = `SELECT * FROM v${q.number} WHERE c0 = ${this.#random.pick(KINDS[kind].values)}::${KINDS[kind].type}`;
    const theirs = await answer(async () => (await this.#reference.exec(found)).rows);
    this.#check({ query: q, step, way: `lookup ${found}`, expected: theirs, actual: await ours(found) });
  }

  #check(d: Difference): boolean {
    this.compared++;
    if (same(d.expected, d.actual, d.query.kinds)) return true;
    this.difference = d;
    return false;
  }

  /** The plan as decorrelated, before any rule of the optimiser. */
  async #interpret(sql: string): Promise<TextRow[]> {
    const plan = this.#plan(sql);
    const reads = new Map<string, readonly Row[]>();
    const { catalog } = this.#engine.env;
    const ids = new Set<GlobalId>();
    someNode(plan.decorrelated, (m) => {
      if (m.op === 'Get') ids.add(m.id);
      return false;
    });
    for (const id of ids)
      reads.set(id, await this.#engine.rows(`SELECT * FROM ${catalog.item(id)!.name.item}`));
    const bag = interpret(plan.decorrelated, {
      tables: (id) => reads.get(id)!,
      context: { timeZone: 'UTC', nowMicros: 0n },
    });
    const types = columnsOf(plan.decorrelated).map((c) => c.type);
    return [...bag.values()].flatMap(({ row, count }) =>
      new Array<TextRow>(count).fill(row.map((d, i) => (d === null ? null : textOf(types[i]!, d)))),
    );
  }

  #plan(sql: string): ReturnType<typeof planQuery> {
    const statement = parseStatement(sql);
    if (statement.kind !== 'selectStatement') throw new Error(`${sql} is a query`);
    return planQuery(statement.query, {
      catalog: this.#engine.env.catalog,
      names: { database: 'tidemark', searchPath: ['public'] },
      eval: { timeZone: 'UTC', nowMicros: 0n },
      maintained: true,
    });
  }

  /** What the queries that were compared have exercised. */
  async #cover(): Promise<void> {
    for (const q of this.#live) {
      const writes = this.#w.steps.slice(q.createdAt).flat();
      const retracts = writes.some((s) => 'sql' in s) ? [''] : [];
      const nulls = this.#w.steps.flat().some((s) => 'rows' in s && s.rows.some((r) => r.includes('NULL')));
      const nodes = new Set<string>(q.constructs);
      someNode(this.#plan(q.sql).mir, (m: Mir) => {
        nodes.add(m.op);
        return false;
      });
      for (const n of nodes) {
        this.shapes.add(n);
        if (nulls) this.shapes.add(`${n} null`);
        if (retracts.length > 0) this.shapes.add(`${n} retract`);
      }
    }
  }
}

/** SQL errors are answers; a failed assertion is not. */
async function answer(f: () => Promise<readonly TextRow[]>): Promise<Answer> {
  try {
    return { rows: await f() };
  } catch (error) {
    if (error instanceof SqlError) return { error: error.sqlstate, message: error.message };
    const { code, message, stack } = error as { code?: unknown; message?: unknown; stack?: unknown };
    // PostgreSQL's errors have a code of five characters, node's begin with ERR_.
    if (typeof code === 'string' && code.length === 5) return { error: code, message: String(message) };
    return { error: 'XX000', message: String(stack ?? error) };
  }
}

function same(a: Answer, b: Answer, kinds: readonly ColumnKind[]): boolean {
  if ('error' in a || 'error' in b) return 'error' in a && 'error' in b && a.error === b.error;
  if (a.rows.length !== b.rows.length) return false;
  const [x, y] = [sorted(a.rows, kinds), sorted(b.rows, kinds)];
  return x.every((row, i) => row.every((cell, k) => sameCell(cell, y[i]![k]!, kinds[k]!)));
}

/** By what is exact first, then by floats. */
function sorted(rows: readonly TextRow[], kinds: readonly ColumnKind[]): TextRow[] {
  const order = [...kinds.keys()].sort((i, j) => Number(kinds[i] === 'f') - Number(kinds[j] === 'f'));
  return rows
    .map((row) => row.map((cell, k) => canonical(cell, kinds[k]!)))
    .sort((a, b) => {
      for (const k of order) {
        const c = compareCells(a[k]!, b[k]!, kinds[k]!);
        if (c !== 0) return c;
      }
      return 0;
    });
}

function compareCells(a: string | null, b: string | null, kind: ColumnKind): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? -1 : 1;
  if (kind === 'f' && Number(a) !== Number(b))
    return Number(a) < Number(b) || Number.isNaN(Number(b)) ? -1 : 1;
  return a < b ? -1 : 1;
}

/** 1.0 and 1.00 are one value, and so are 0 and -0. */
function canonical(cell: string | null, kind: ColumnKind): string | null {
  if (cell === null) return null;
  if (kind === 'n' && cell.includes('.')) return cell.replace(/\.?0*$/, '');
  return kind === 'f' && cell === '-0' ? '0' : cell;
}

function sameCell(a: string | null, b: string | null, kind: ColumnKind): boolean {
  if (a === b) return true;
  if (a === null || b === null || kind !== 'f') return false;
  const [x, y] = [Number(a), Number(b)];
  return Math.abs(x - y) <= 1e-9 * Math.max(Math.abs(x), Math.abs(y));
}
