/** PostgreSQL (PGlite) as a reference: results as its text, errors with its codes. */
import { PGlite } from '@electric-sql/pglite';
import type { TextResult } from '../../packages/tidemark/src/testkit/engine.ts';

export interface Reference {
  exec(sql: string): Promise<TextResult>;
  arity(sql: string): number;
  close(): Promise<void>;
}

/** Of every built-in type: text stays text. */
const AS_TEXT = Object.fromEntries(Array.from({ length: 5000 }, (_, oid) => [oid, (v: string) => v]));

export async function openReference(): Promise<Reference> {
  const pg = await PGlite.create();
  await pg.exec("SET timezone = 'UTC'; SET datestyle = 'ISO'; SET client_min_messages = 'error'");
  return {
    async exec(sql) {
      const all = await pg.exec(sql, { rowMode: 'array', parsers: AS_TEXT });
      const last = all.at(-1)!;
      const verb = sql.trimStart().split(/\s/)[0]!.toUpperCase();
      const n = last.affectedRows ?? 0;
      return {
        tag: verb === 'INSERT' ? `INSERT 0 ${n}` : `${verb} ${n}`,
        rows: last.rows as unknown as (string | null)[][],
      };
    },
    arity: () => 0,
    close: () => pg.close(),
  };
}
