/** The parts of untyped clients that the tests use. */
declare module 'pg-cursor' {
  import type { Submittable } from 'pg';
  export default class Cursor<Row> implements Submittable {
    constructor(text: string, values?: unknown[]);
    read(rows: number): Promise<Row[]>;
    close(): Promise<void>;
    submit(connection: import('pg').Connection): void;
  }
}

declare module 'pg-copy-streams' {
  import type { Readable, Writable } from 'node:stream';
  import type { Submittable } from 'pg';
  export function from(text: string): Writable & Submittable & { readonly rowCount: number };
  export function to(text: string): Readable & Submittable & { readonly rowCount: number };
}
