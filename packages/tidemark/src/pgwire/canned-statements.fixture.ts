/** The statements that the canned backend knows, each by a pattern of its text. */
import { SqlError } from '../base/error.ts';
import type { Client, TransactionStatus } from './backend.ts';

export type TypeName = 'bool' | 'int2' | 'int4' | 'int8' | 'float8' | 'text' | 'bytea';
export const TYPES: Record<TypeName, { readonly oid: number; readonly typlen: number }> = {
  bool: { oid: 16, typlen: 1 },
  bytea: { oid: 17, typlen: -1 },
  int8: { oid: 20, typlen: 8 },
  int2: { oid: 21, typlen: 2 },
  int4: { oid: 23, typlen: 4 },
  text: { oid: 25, typlen: -1 },
  float8: { oid: 701, typlen: 8 },
};
export type Value = null | boolean | number | bigint | string | Uint8Array;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The session, as its statements see it. */
export interface StatementContext {
  readonly client: Client;
  transactionStatus: TransactionStatus;
  /** Rejects when the running statement is cancelled or the session closed. */
  readonly stopped: Promise<never>;
  readonly backend: { copyChunks: number; readonly copied: string[] };
}

export interface Statement {
  readonly columns: readonly (readonly [name: string, type: TypeName])[] | null;
  readonly paramOids?: readonly number[];
  run(args: readonly (string | null)[], session: StatementContext): Source | Promise<Source>;
}
type Source =
  | string
  | { readonly rows: Iterable<readonly Value[]> | AsyncIterable<readonly Value[]>; readonly verb?: string }
  | { readonly copyOut: AsyncIterable<Uint8Array> }
  | { readonly copyIn: (data: AsyncIterable<Uint8Array>, session: StatementContext) => Promise<string> };

function* countRows(n: number): Iterable<readonly Value[]> {
  for (let i = 1; i <= n; i++) yield [i, `row ${i}`];
}

export const STATEMENTS: readonly (readonly [RegExp, (match: RegExpExecArray) => Statement])[] = [
  [/^select (\d+)$/i, ([, n]) => ({ columns: [['?column?', 'int4']], run: () => ({ rows: [[Number(n)]] }) })],
  [
    /^echo \$1(?:, \$2)?$/i,
    ([text]) => {
      const names = text.includes('$2') ? ['a', 'b'] : ['a'];
      return {
        columns: names.map((name) => [name, 'text'] as const),
        paramOids: names.map(() => 25),
        run: (args) => ({ rows: [args] }),
      };
    },
  ],
  [
    /^rows (\d+)$/i,
    ([, n]) => ({
      columns: [
        ['n', 'int4'],
        ['label', 'text'],
      ],
      run: () => ({ rows: countRows(Number(n)) }),
    }),
  ],
  [
    /^types$/i,
    () => ({
      columns: [
        ['b', 'bool'],
        ['s', 'int2'],
        ['i', 'int4'],
        ['l', 'int8'],
        ['d', 'float8'],
        ['t', 'text'],
        ['y', 'bytea'],
        ['z', 'text'],
      ],
      run: () => ({
        rows: [[true, -2, 70000, -9007199254740993n, 1.5, 'grüße 🌊', new Uint8Array([0, 255]), null]],
      }),
    }),
  ],
  [
    /^endless$/i,
    () => ({
      columns: [
        ['n', 'int4'],
        ['label', 'text'],
      ],
      run: () => ({ rows: countRows(Number.POSITIVE_INFINITY) }),
    }),
  ],
  [/^wait$/i, () => ({ columns: [['n', 'int4']], run: (_, session) => session.stopped })],
  [
    /^fail$/i,
    () => ({
      columns: [['n', 'int4']],
      run: () => {
        throw new SqlError('unique_violation', 'duplicate key', {
          detail: 'the detail',
          hint: 'the hint',
          position: 3,
          schema: 'public',
          table: 't',
          column: 'c',
          constraint: 't_pk',
        });
      },
    }),
  ],
  [
    /^(bad cell|two cells)$/i,
    ([text]) => ({
      columns: [
        ['n', 'int4'],
        ['label', 'text'],
      ],
      run: () => ({
        rows: [
          [1, 'good'],
          [2, text],
        ],
      }),
    }),
  ],
  [
    /^fail after (\d+)$/i,
    ([, n]) => ({
      columns: [
        ['n', 'int4'],
        ['label', 'text'],
      ],
      run: () => ({ rows: failAfter(Number(n)) }),
    }),
  ],
  [
    /^crash$/i,
    () => ({
      columns: null,
      run: () => {
        throw new TypeError('x is not a function');
      },
    }),
  ],
  [
    /^notice$/i,
    () => ({
      columns: null,
      run: (_, session) => {
        session.client.notice({
          severity: 'NOTICE',
          code: 'warning',
          message: 'mind the gap',
          hint: 'step over',
        });
        return 'NOTICE';
      },
    }),
  ],
  [
    /^set (\w+) (\w+)$/i,
    ([, name, value]) => ({
      columns: null,
      run: (_, session) => {
        session.client.parameterStatus(name, value);
        return 'SET';
      },
    }),
  ],
  [
    /^(begin|commit|rollback)(?: work| transaction)?$/i,
    ([, verb]) => ({
      columns: null,
      run: (_, session) => {
        const failed = session.transactionStatus === 'E';
        session.transactionStatus = /begin/i.test(verb) ? 'T' : 'I';
        return failed && /commit/i.test(verb) ? 'ROLLBACK' : verb.toUpperCase();
      },
    }),
  ],
  [/^insert (\d+)$/i, ([, n]) => ({ columns: null, run: () => `INSERT 0 ${n}` })],
  [/^copy t from stdin/i, () => ({ columns: null, run: () => ({ copyIn: collectCopy }) })],
  [/^copy broken from stdin/i, () => ({ columns: null, run: () => ({ copyIn: rejectCopy }) })],
  [/^copy patient from stdin/i, () => ({ columns: null, run: () => ({ copyIn: patientCopy }) })],
  [/^copy lazy from stdin/i, () => ({ columns: null, run: () => ({ copyIn: async () => 'COPY 0' }) })],
  [/^copy (\d+) to stdout/i, ([, n]) => ({ columns: null, run: () => ({ copyOut: copyLines(Number(n)) }) })],
  [
    /^copy changes to stdout/i,
    () => ({ columns: null, run: (_, session) => ({ copyOut: copyChanges(session) }) }),
  ],
];

async function* failAfter(n: number): AsyncIterable<readonly Value[]> {
  yield* countRows(n);
  throw new SqlError('division_by_zero', 'division by zero');
}

async function* copyLines(n: number): AsyncIterable<Uint8Array> {
  for (let i = 1; i <= n; i++) yield encoder.encode(`${i}\trow ${i}\n`);
}

/** One line at once, the next when somebody cancels or leaves: a subscription without news. */
async function* copyChanges(session: StatementContext): AsyncIterable<Uint8Array> {
  yield encoder.encode('1\tfirst\n');
  await session.stopped;
}

async function collectCopy(data: AsyncIterable<Uint8Array>, session: StatementContext): Promise<string> {
  let text = '';
  for await (const chunk of data) {
    text += decoder.decode(chunk, { stream: true });
    session.backend.copyChunks++;
  }
  // psql before 18 sends its end mark as data.
  text = text.replace(/\\\.\n$/, '');
  session.backend.copied.push(text);
  return `COPY ${text.split('\n').length - 1}`;
}

/** Waits for data or a cancel, whichever comes first. */
async function patientCopy(data: AsyncIterable<Uint8Array>, session: StatementContext): Promise<string> {
  return Promise.race([collectCopy(data, session), session.stopped]);
}

async function rejectCopy(data: AsyncIterable<Uint8Array>): Promise<string> {
  for await (const _ of data) throw new SqlError('bad_copy_file_format', 'missing data for column "b"');
  return 'COPY 0';
}
