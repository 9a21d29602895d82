/**
 * Runs `.slt` files in three modes. `batch`: data first, views after. `incremental`: views and indexes first, then the
 * data in random order and batches, among rows that go again. `reference`: PostgreSQL, direct reads alone.
 *
 * A query is read directly, through a view, a materialized view and an index, and all must give what the file expects.
 * While data comes in, the four must agree with each other: that sees faults of maintenance, not of functions, which
 * they share.
 */
import { SqlError } from '../base/error.ts';
import type { TextResult } from './engine.ts';
import { SeededRandom } from './random.ts';
import { rowText, type SltFile, type SltRun, type SltSection, type SltTable } from './slt-file.ts';

export type SltMode = 'batch' | 'incremental' | 'reference';

/** What runs SQL; an error is a `SqlError` or has PostgreSQL's `code` and `message`. */
export interface SltTarget {
  exec(sql: string): Promise<TextResult>;
  /** Of a query's result, before it runs. Not asked of a reference. */
  arity(sql: string): number;
}

export interface SltFailure {
  readonly line: number;
  readonly message: string;
}

export interface SltOptions {
  readonly mode: SltMode;
  readonly seed: number;
  /** Records that are compared; the others still run. */
  readonly only?: (record: SltRun) => boolean;
}

export interface SltOutcome {
  readonly failures: readonly SltFailure[];
  /** Comparisons made. */
  readonly compared: number;
  /** What each record gave when read directly: what `--rewrite` writes. */
  readonly answers: ReadonlyMap<SltRun, readonly string[]>;
}

/** How a query can be read, by the name of what is read. */
const WAYS = ['view', 'materialized', 'indexed'] as const;
type Way = (typeof WAYS)[number];

export async function runSlt(file: SltFile, target: SltTarget, options: SltOptions): Promise<SltOutcome> {
  const run = new SltRunner(target, options);
  for (const s of file.sections) await run.section(s);
  return run;
}

class SltRunner implements SltOutcome {
  readonly failures: SltFailure[] = [];
  readonly answers: Map<SltRun, readonly string[]> = new Map();
  compared = 0;
  readonly #target: SltTarget;
  readonly #options: SltOptions;
  readonly #random: SeededRandom;
  /** Of this section: what each query's views are called, or why one could not be made. */
  #views = new Map<SltRun, Record<Way, string | readonly string[]>>();
  #nextView = 0;

  constructor(target: SltTarget, options: SltOptions) {
    this.#target = target;
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
  }

  async section(section: SltSection): Promise<void> {
    const tables = section.records.filter((r) => r.kind === 'table');
    const queries = section.records.filter((r): r is SltRun => r.kind === 'query');
    const { mode } = this.#options;
    this.#views = new Map();
    for (const t of tables)
      await this.#target.exec(
        `CREATE TABLE ${t.name} (${t.columns.map((c) => `${c.name} ${c.type}`).join(', ')})`,
      );
    if (mode === 'incremental') {
      for (const q of queries) await this.#createViews(q);
      await this.#fillByAndBy(tables, queries);
    } else for (const t of tables) if (t.rows.length > 0) await this.#target.exec(insert(t, t.rows));
    for (const r of section.records) {
      if (r.kind === 'table' || (mode === 'reference' && r.words.includes('ours'))) continue;
      if (r.kind === 'statement') await this.#statement(r);
      else await this.#query(r);
    }
    for (const t of tables) await this.#target.exec(`DROP TABLE ${t.name} CASCADE`);
  }

  async #statement(r: SltRun): Promise<void> {
    const result = await this.#outcome(async () => {
      const { tag, rows } = await this.#target.exec(r.sql);
      return rows.length > 0 ? rows.map(rowText).sort() : [tag];
    });
    this.answers.set(r, result);
    this.#compare(r, this.#options.mode, result, r.expected);
  }

  async #query(r: SltRun): Promise<void> {
    const { mode, only } = this.#options;
    const ordered = r.words.includes('ordered');
    const direct = await this.#read(r.sql, ordered);
    this.answers.set(r, direct);
    this.#compare(r, `${mode}, direct`, direct, r.expected);
    if (mode === 'reference' || r.words.includes('direct') || only?.(r) === false) return;
    if (mode === 'batch') await this.#createViews(r);
    const expected = ordered ? [...r.expected].sort() : r.expected;
    for (const [way, rows] of await this.#readViews(r)) this.#compare(r, `${mode}, ${way}`, rows, expected);
  }

  #compare(r: SltRun, how: string, actual: readonly string[], expected: readonly string[]): void {
    if (this.#options.only?.(r) === false) return;
    this.compared++;
    if (actual.length === expected.length && actual.every((row, i) => row === expected[i])) return;
    const list = (rows: readonly string[]): string => rows.map((row) => `    ${row}\n`).join('');
    this.failures.push({
      line: r.line,
      message: `${how}\n${r.sql}\n  expected\n${list(expected)}  got\n${list(actual)}`,
    });
  }

  // ---- Views

  async #createViews(r: SltRun): Promise<void> {
    if (r.words.includes('direct')) return;
    const n = this.#nextView++;
    const made = {} as Record<Way, string | readonly string[]>;
    for (const way of WAYS) {
      const name = `${way}_${n}`;
      const error = await this.#outcome(async () => {
        const columns = Array.from({ length: this.#target.arity(r.sql) }, (_, i) => `c${i}`).join(', ');
        const kind = way === 'materialized' ? 'MATERIALIZED VIEW' : 'VIEW';
        await this.#target.exec(`CREATE ${kind} ${name} (${columns}) AS ${r.sql}`);
        if (way === 'indexed') await this.#target.exec(`CREATE DEFAULT INDEX ON ${name}`);
        return [];
      });
      made[way] = error.length === 0 ? name : error;
    }
    this.#views.set(r, made);
  }

  async #readViews(r: SltRun): Promise<[Way, readonly string[]][]> {
    const out: [Way, readonly string[]][] = [];
    for (const [way, made] of Object.entries(this.#views.get(r)!) as [Way, string | readonly string[]][])
      out.push([way, typeof made === 'string' ? await this.#read(`SELECT * FROM ${made}`, false) : made]);
    return out;
  }

  async #read(sql: string, ordered: boolean): Promise<readonly string[]> {
    return this.#outcome(async () => {
      const rows = (await this.#target.exec(sql)).rows.map(rowText);
      return ordered ? rows : rows.sort();
    });
  }

  /** An error a user may see is an outcome like rows. */
  async #outcome(f: () => Promise<readonly string[]>): Promise<readonly string[]> {
    try {
      return await f();
    } catch (error) {
      return [errorLine(error)];
    }
  }

  // ---- Data by and by

  /** Rows in random order and batches; some come twice, and some that do not belong come too; all of these go again. */
  async #fillByAndBy(tables: readonly SltTable[], queries: readonly SltRun[]): Promise<void> {
    const random = this.#random;
    const todo: (() => Promise<void>)[] = [];
    for (const t of tables) {
      const rows = random.shuffled(t.rows);
      while (rows.length > 0) {
        const batch = rows.splice(0, 1 + random.below(4));
        todo.push(() => this.#comeAndGo(t, batch));
      }
    }
    for (const step of random.shuffled(todo)) {
      await step();
      if (random.chance(25)) await this.#agree(random.pick(queries));
    }
  }

  /** A batch, then perhaps a row (of the batch, or mixed from several) that goes and is there again as often as before. */
  async #comeAndGo(t: SltTable, batch: readonly string[]): Promise<void> {
    const random = this.#random;
    const exec = (sql: string): Promise<TextResult> => this.#target.exec(sql);
    await exec(insert(t, batch));
    if (random.chance(50)) return;
    const row = t.columns.map((_, i) => splitValues(random.pick(t.rows))[i]!).join(', ');
    const counted = await exec(`SELECT count(*) FROM ${t.name} WHERE ${same(t, row)}`);
    const copies = (n: number): string[] => new Array<string>(n).fill(row);
    await exec(insert(t, copies(1 + random.below(2))));
    await exec(`DELETE FROM ${t.name} WHERE ${same(t, row)}`);
    const before = Number(counted.rows[0]![0]);
    if (before > 0) await exec(insert(t, copies(before)));
  }

  async #agree(r: SltRun): Promise<void> {
    if (r.words.includes('direct') || this.#options.only?.(r) === false) return;
    const direct = await this.#read(r.sql, false);
    for (const [way, rows] of await this.#readViews(r))
      this.#compare(r, `while data comes in, ${way} against direct`, rows, direct);
  }
}

const insert = (t: SltTable, rows: readonly string[]): string =>
  `INSERT INTO ${t.name} VALUES ${rows.map((r) => `(${r})`).join(', ')}`;

/** True of rows that are written the same: 1.0 is not 1.00, and NULL is NULL. */
function same(t: SltTable, row: string): string {
  const names = t.columns.map((_, i) => `x${i}`).join(', ');
  const equal = t.columns.map(
    (c, i) => `(r.x${i}::${c.type})::text IS NOT DISTINCT FROM ${t.name}.${c.name}::text`,
  );
  return `EXISTS (SELECT 1 FROM (VALUES (${row})) AS r (${names}) WHERE ${equal.join(' AND ')})`;
}

/** The values of a row; commas within quotes and brackets part nothing. */
function splitValues(row: string): string[] {
  const out = [''];
  let depth = 0;
  let quoted = false;
  for (const c of row) {
    if (c === "'") quoted = !quoted;
    else if (!quoted && '([{'.includes(c)) depth++;
    else if (!quoted && ')]}'.includes(c)) depth--;
    if (c === ',' && !quoted && depth === 0) out.push('');
    else out[out.length - 1] += c;
  }
  return out.map((v) => v.trim());
}

function errorLine(error: unknown): string {
  if (error instanceof SqlError) return `error ${error.sqlstate}: ${error.message}`;
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code !== 'string') throw error;
  return `error ${code}: ${String(message)}`;
}
