/** A client that creates and drops objects, one statement at a time: after a crash each statement was carried out whole or not at all. */
import assert from 'node:assert/strict';
import type { Random } from './random.ts';
import { type Client, isAnswer } from './server-process.ts';
import { COLUMNS } from './writer.ts';

/** Name -> kind, as mz_objects has them. */
export type Objects = ReadonlyMap<string, string>;

interface Step {
  readonly sql: string;
  readonly after: Objects;
}

export class DdlWriter {
  /** What this client made; objects of others are not its business. */
  objects: Objects = new Map();
  pending: Objects | null = null;
  acknowledged = 0;
  readonly #random: Random;
  readonly #csv: string;
  #next = 1;

  constructor(random: Random, files: { readonly csv: string }) {
    this.#random = random;
    this.#csv = files.csv;
  }

  async run(client: Client, enough: () => boolean): Promise<void> {
    try {
      while (!enough()) await this.step(client);
    } catch (e) {
      if (isAnswer(e) && !e.code!.startsWith('57')) throw e;
    }
  }

  async step(client: Client, wanted?: string): Promise<void> {
    const { sql, after } = this.#choose(wanted);
    this.pending = after;
    await client.query(sql);
    this.objects = after;
    this.pending = null;
    this.acknowledged++;
  }

  #choose(wanted: string | undefined): Step {
    const r = this.#random;
    if (wanted === undefined && this.objects.size > 6) return this.#drop();
    const dice =
      wanted ?? r.pick(['table', 'view', 'materialized-view', 'index', 'source', 'family', 'drop']);
    const name = `x${this.#next++}`;
    const plus = (...names: (readonly [string, string])[]): Objects => new Map([...this.objects, ...names]);
    const cluster = r.pick(['two', 'quickstart']);
    const [table] = [...this.objects].find(([, kind]) => kind === 'table') ?? [];
    switch (dice) {
      case 'view':
        return {
          sql: `CREATE VIEW ${name} AS SELECT id, n FROM a WHERE v > 10`,
          after: plus([name, 'view']),
        };
      case 'materialized-view':
        return {
          sql: `CREATE MATERIALIZED VIEW ${name} IN CLUSTER ${cluster} AS SELECT v, count(*) AS n FROM a GROUP BY v`,
          after: plus([name, 'materialized-view']),
        };
      case 'index':
        return { sql: `CREATE INDEX ${name} IN CLUSTER ${cluster} ON b (v)`, after: plus([name, 'index']) };
      case 'source':
        return { sql: `CREATE SOURCE ${name} FROM FILE '${this.#csv}'`, after: plus([name, 'source']) };
      case 'family':
        if (table === undefined) break;
        return {
          sql: `CREATE MATERIALIZED VIEW ${name} IN CLUSTER ${cluster} AS SELECT count(*) AS n FROM ${table}`,
          after: plus([`${name}`, `materialized-view of ${table}`]),
        };
      case 'drop':
        if (this.objects.size > 0) return this.#drop();
    }
    return { sql: `CREATE TABLE ${name} (${COLUMNS})`, after: plus([name, 'table']) };
  }

  /** With everything that was made over it. */
  #drop(): Step {
    const [name, kind] = this.#random.pick([...this.objects]);
    const [word] = kind.split(' ');
    const left = [...this.objects].filter(([n, k]) => n !== name && k !== `materialized-view of ${name}`);
    return { sql: `DROP ${word!.replace('-', ' ').toUpperCase()} ${name} CASCADE`, after: new Map(left) };
  }

  reconcile(found: ReadonlyMap<string, string>): void {
    const mine = new Map([...found].filter(([name]) => /^x\d+$/.test(name)));
    const kinds = (o: Objects) => [...o].map(([n, k]) => `${n} ${k.split(' ')[0]}`).sort();
    const actual = kinds(mine);
    if (this.pending !== null && String(kinds(this.pending)) === String(actual)) {
      this.objects = this.pending;
      this.acknowledged++;
    } else assert.deepEqual(actual, kinds(this.objects), 'objects are those whose creation was acknowledged');
    this.pending = null;
  }

  /** Statements that read what it made: each must answer. */
  get reads(): string[] {
    return [...this.objects].flatMap(([n, k]) => (k === 'index' ? [] : [`SELECT count(*) FROM ${n}`]));
  }
}
