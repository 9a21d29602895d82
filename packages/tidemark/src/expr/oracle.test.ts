/**
 * PostgreSQL as the oracle of the function tables: every overload that PostgreSQL has too is called with edge values
 * drawn by a seed, and must give the same text or the same SQLSTATE.
 *
 * Cannot see: our own types (uint, list, mz_timestamp), functions of the session, evaluation over columns
 * (eval.test.ts does), and the differences that `EXPECTED` lists with their reasons.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PGlite } from '@electric-sql/pglite';
import { type ErrorCode, SQLSTATE, SqlError } from '../base/error.ts';
import { parseText, textOf } from '../repr/format.ts';
import { type Datum, type SqlType, type TypeName, typeToString } from '../repr/types.ts';
import { evalConstant } from './eval.ts';
import { isEvalError } from './eval-error.ts';
import { type AggregateDef, type FunctionDef, isOperatorName, type Pattern } from './functions.ts';
import { aggregateRows } from './naive-aggregate.ts';
import { CALLS, EDGES, valuesFor } from './oracle-cases.ts';
import { aggregatesByName, allFunctions, functionsByName } from './registry.ts';
import { patternType, resolveFunction, tryResolve } from './resolve.ts';
import type { Literal, ScalarExpr } from './scalar.ts';

const SEED = Number(process.env['SEED'] ?? 1);
const RUNS = Number(process.env['RUNS'] ?? 24);
const CONTEXT = { timeZone: 'America/New_York', nowMicros: 0n };

function xorshift(seed: number): () => number {
  let s = (seed * 2654435761) >>> 0 || 1;
  return () => {
    s ^= s << 13;
    s ^= s >>> 17;
    s ^= s << 5;
    s >>>= 0;
    return s / 4294967296;
  };
}

let db: PGlite;
before(async () => {
  db = new PGlite();
  await db.exec(`set timezone = '${CONTEXT.timeZone}'; set extra_float_digits = 1;
    create function ev(sql text) returns text language plpgsql as $$
    declare r text;
    begin
      execute 'select (' || sql || ')::text' into r;
      return 'v' || coalesce(r, '<null>');
    exception when others then return 'e' || sqlstate || ' ' || sqlerrm;
    end $$;`);
});
after(async () => {
  await db.close();
});

/** What PostgreSQL says to each expression. */
async function oracle(sql: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ r: string }>(
    'select ev(s) as r from unnest($1::text[]) with ordinality as t(s, n) order by n',
    [sql],
  );
  return rows.map((x) => x.r);
}

const quote = (s: string): string => `'${s.replaceAll("'", "''")}'`;
const sqlLiteral = (text: string | null, t: SqlType): string =>
  text === null
    ? `null::${pgName(t)}`
    : `${text.includes('\\') ? 'E' : ''}${quote(text.replaceAll('\\', '\\\\'))}::${pgName(t)}`;
const pgName = (t: SqlType): string => (t.name === 'bpchar' ? 'bpchar' : typeToString(t));

function sqlCall(def: FunctionDef, args: readonly string[], out: SqlType): string {
  if (def.id.startsWith('cast_')) return `cast(${args[0]} as ${pgName(out)})`;
  const name = def.name!;
  if (isOperatorName(name))
    return args.length === 1 ? `${name} (${args[0]})` : `(${args[0]}) ${name} (${args[1]})`;
  // Quoted, so that the grammar does not take `extract` or `position` for its own forms.
  return `"${name}"(${args.join(', ')})`;
}

interface Case {
  readonly sql: string;
  readonly expr: ScalarExpr;
  readonly out: SqlType;
  readonly func: string;
}

function ourAnswer(c: Case): string {
  const v = evalConstant(c.expr, CONTEXT);
  if (isEvalError(v)) return `e${SQLSTATE[v.error.code as ErrorCode]} ${v.error.message}`;
  return `v${v === null ? '<null>' : show(c.out, v)}`;
}

/** `::text` prints a boolean in full and a bpchar without its padding. */
function show(t: SqlType, v: Datum): string {
  if (t.name === 'bool') return v ? 'true' : 'false';
  if (t.name === 'bpchar') return (v as string).trimEnd();
  return textOf(t, v, { timeZone: zone, nowMicros: 0 });
}
const { timeZone: zone } = await import('./context.ts').then((m) => m.formatContext(CONTEXT));

const skipped = (def: FunctionDef): boolean =>
  def.volatility === 'contextual' ||
  def.volatility === 'catalog' ||
  def.variadic !== undefined ||
  (def.name === null && !def.id.startsWith('cast_')) ||
  (def.name !== null && (/ /.test(def.name) || OURS.has(def.name))) ||
  /privilege|pg_has_role|_in_recovery|temp_schema/.test(def.id) ||
  typeof def.returns === 'function' ||
  [...def.args, def.returns as Pattern].some((p) => UNKNOWN_TO_PG.test(p));

/** Types of our own, and those whose text needs the catalog. */
const UNKNOWN_TO_PG = /^(u?int[248]?$)?(uint|mz_|list|any|reg|void|unknown|record|char$)/;
const OURS = new Set([
  'not',
  'is_null',
  'is_true',
  'is_false',
  'is_distinct',
  'mz_error_if_null',
  'pg_column_size',
  'isfinite',
  'format_type',
  'pg_encoding_to_char',
]);

const lit = (text: string | null, t: SqlType): Literal => ({
  kind: 'literal',
  value: text === null ? null : parseText(t, text, { timeZone: zone, nowMicros: 0 }),
  type: t,
});

function casesOf(def: FunctionDef, random: () => number): Case[] {
  const types = def.args.map((p) => patternType(p));
  const out = patternType(def.returns as Pattern);
  const pools = def.args.map((p, k) => valuesFor(def, k, p));
  if (pools.some((p) => p === undefined) || types.length === 0) return [];
  const seen = new Map<string, Case>();
  for (let i = 0; i < RUNS; i++) {
    const texts = pools.map((p) => (random() < 0.04 ? null : p![Math.floor(random() * p!.length)]!));
    const sql = sqlCall(
      def,
      texts.map((t, k) => sqlLiteral(t, types[k]!)),
      out,
    );
    seen.set(sql, {
      sql,
      func: def.id,
      out,
      expr: { kind: 'call', func: def.id, args: texts.map((t, k) => lit(t, types[k]!)), type: out },
    });
  }
  return [...seen.values()];
}

/** Differences that are decided, each with its reason. */
const EXPECTED: readonly {
  readonly why: string;
  readonly holds: (c: Case, pg: string, ours: string) => boolean;
}[] = [
  {
    why: 'numeric holds 39 digits; PostgreSQL holds 131072',
    holds: (c, pg, ours) =>
      (ours.startsWith('e22003') || ours.startsWith('v')) &&
      pg.startsWith('v') &&
      /numeric|sum|pow|exp/.test(c.func) &&
      pg.replace(/[^0-9]/g, '').replace(/^0+/, '').length > 39,
  },
  {
    why: 'infinite intervals are refused',
    holds: (_, pg, ours) => /^e(0A000|22008|22023)/.test(ours) && /infinity|e22008|e22003/.test(pg),
  },
  {
    why: 'the time of an interval is a safe integer of microseconds',
    holds: (c, _, ours) => c.out.name === 'interval' && ours === 'e22008 interval out of range',
  },
  {
    why: 'to_char refuses numbers that are not finite, and those whose digits a double does not give',
    holds: (c, _, ours) => c.func.startsWith('to_char_') && ours.startsWith('e0A000 to_char of a number'),
  },
  {
    why: 'a whole day counts its Julian fraction with other zeros',
    holds: (c, pg, ours) => /julian/.test(c.sql) && pg.replace(/\.0+$/, '') === ours.replace(/\.0+$/, ''),
  },
  {
    why: 'a sum of reals is rounded once, not at each step',
    holds: (c, pg, ours) =>
      c.func === 'sum_float4' &&
      Math.abs(Number(pg.slice(1)) - Number(ours.slice(1))) < 1e-6 * Math.abs(Number(pg.slice(1))),
  },
  { why: 'numeric keeps 240 decimals', holds: (c, pg) => c.out.name === 'numeric' && pg.length > 240 },
  {
    why: 'text that is no time at all is a syntax error, also where PostgreSQL takes a word for a zone',
    holds: (_, pg, ours) => pg.startsWith('e22023 time zone') && ours.startsWith('e22007'),
  },
  {
    why: 'elementary functions differ in the last digits',
    holds: (c, pg, ours) => c.out.name === 'float8' && nearly(pg, ours),
  },
];

function nearly(pg: string, ours: string): boolean {
  const a = Number(pg.slice(1));
  const b = Number(ours.slice(1));
  return pg[0] === 'v' && ours[0] === 'v' && Math.abs(a - b) <= 4e-15 * Math.max(Math.abs(a), Math.abs(b));
}

/** Same value, or the same SQLSTATE. */
const agrees = (pg: string, ours: string): boolean =>
  pg[0] === 'e' ? pg.slice(0, 6) === ours.slice(0, 6) : pg === ours;

async function compare(cases: readonly Case[], minimum: number): Promise<void> {
  const answers = await oracle(cases.map((c) => c.sql));
  const bad: string[] = [];
  let values = 0;
  cases.forEach((c, i) => {
    const pg = answers[i]!;
    if (pg[0] === 'v') values++;
    const ours = ourAnswer(c);
    if (!agrees(pg, ours) && !EXPECTED.some((x) => x.holds(c, pg, ours)))
      bad.push(`${c.func}: ${c.sql}\n    postgres ${pg}\n    ours     ${ours}`);
  });
  assert.ok(values >= minimum, `the oracle gave ${values} values, at least ${minimum} were expected`);
  assert.deepEqual(
    bad.slice(0, 30),
    [],
    `SEED=${SEED} RUNS=${RUNS}: ${bad.length} of ${cases.length} differ`,
  );
}

const byFamily = (pick: (d: FunctionDef) => boolean): Case[] => {
  const random = xorshift(SEED);
  return allFunctions()
    .filter((d) => !skipped(d) && pick(d))
    .flatMap((d) => casesOf(d, random));
};
const isCast = (d: FunctionDef): boolean => d.id.startsWith('cast_');
const isComparison = (d: FunctionDef): boolean => /^(eq|ne|lt|le|gt|ge)_/.test(d.id);
const takes = (d: FunctionDef, ...names: string[]): boolean => d.args.some((p) => names.includes(p));

test('casts agree with PostgreSQL', () => compare(byFamily(isCast), 1000));
test('comparisons agree with PostgreSQL', () => compare(byFamily(isComparison), 1000));
test('dates and times agree with PostgreSQL', () =>
  compare(
    byFamily(
      (d) =>
        !isCast(d) && !isComparison(d) && takes(d, 'date', 'time', 'timestamp', 'timestamptz', 'interval'),
    ),
    400,
  ));
test('jsonb agrees with PostgreSQL', () =>
  compare(
    byFamily((d) => !isCast(d) && !isComparison(d) && takes(d, 'jsonb')),
    200,
  ));
test('text agrees with PostgreSQL', () =>
  compare(
    byFamily(
      (d) =>
        !isCast(d) &&
        !isComparison(d) &&
        takes(d, 'text', 'bytea') &&
        !takes(d, 'jsonb', 'timestamp', 'timestamptz', 'date', 'time', 'interval'),
    ),
    400,
  ));
test('numbers agree with PostgreSQL', () =>
  compare(
    byFamily(
      (d) =>
        !isCast(d) &&
        !isComparison(d) &&
        d.args.every((p) => ['int2', 'int4', 'int8', 'float4', 'float8', 'numeric', 'oid'].includes(p)),
    ),
    1000,
  ));

test('polymorphic and variadic functions agree with PostgreSQL', async () => {
  const cases = CALLS.map(([name, ...args]): Case => {
    const r = resolveFunction(
      name,
      functionsByName(name),
      args.map(([, t]) => t),
    );
    const exprs = args.map(([text, t], k): ScalarExpr => {
      const to = r.casts[k];
      const e = lit(text, t);
      return to === null || to === undefined
        ? e
        : { kind: 'call', func: `cast_${t.name}_${to.name}`, args: [e], type: to };
    });
    const sql = args.map(([text, t]) => sqlLiteral(text, t));
    return {
      func: r.def.id,
      out: r.returns,
      sql: isOperatorName(name) ? `(${sql[0]}) ${name} (${sql[1]})` : `${name}(${sql.join(', ')})`,
      expr: { kind: 'call', func: r.def.id, args: exprs, type: r.returns },
    };
  });
  await compare(cases, 200);
});

/** PostgreSQL has these operators for json, ranges, geometry and bytea as well, and asks which is meant. */
const OTHER_TYPES = /null (->|@>) null|bytea ~~|~~ null::bytea/;

test('resolution picks the type that PostgreSQL picks, or fails as it does', async () => {
  const names: TypeName[] = [
    'bool',
    'int2',
    'int4',
    'int8',
    'float4',
    'float8',
    'numeric',
    'text',
    'varchar',
    'bpchar',
    'date',
    'time',
    'timestamp',
    'timestamptz',
    'interval',
    'jsonb',
    'uuid',
    'bytea',
    'unknown',
  ];
  const sample = (n: TypeName): string => (n === 'unknown' ? 'null' : `null::${pgName({ name: n })}`);
  const sql: string[] = [];
  const ours: string[] = [];
  for (const op of ['+', '-', '*', '/', '%', '||', '=', '<', '~~', '->', '@>'])
    for (const l of names)
      for (const r of names) {
        sql.push(`pg_typeof(${sample(l)} ${op} ${sample(r)})`);
        let answer: string;
        try {
          answer = `v${pgName(resolveFunction(op, functionsByName(op), [{ name: l }, { name: r }]).returns)}`;
        } catch (e) {
          if (!(e instanceof SqlError)) throw e;
          answer = `e${e.sqlstate} ${e.message}`;
        }
        ours.push(answer);
      }
  const answers = await oracle(sql);
  const bad: string[] = [];
  answers.forEach((pg, i) => {
    const same =
      pg[0] === 'e'
        ? pg.slice(0, 6) === ours[i]!.slice(0, 6)
        : pg === ours[i]!.replace(/^vbpchar$/, 'vcharacter');
    if (!same && !OTHER_TYPES.test(sql[i]!)) bad.push(`${sql[i]}: postgres ${pg}, ours ${ours[i]}`);
  });
  assert.deepEqual(bad.slice(0, 40), [], `${bad.length} of ${sql.length} differ`);
});

/** Groups that every aggregate sees, from the edge values. */
function groupsOf(t: SqlType, random: () => number): (string | null)[][] {
  const pool = EDGES[t.name]!.filter((s) => !/infinity|nan/i.test(s) && !/e30?8|e38|e-/.test(s));
  const pick = (n: number): (string | null)[] =>
    Array.from({ length: n }, () => (random() < 0.2 ? null : pool[Math.floor(random() * pool.length)]!));
  return [[], [null], [pool[1]!], [pool[1]!, pool[1]!], pick(3), pick(5), pick(9)];
}

test('aggregates agree with PostgreSQL', async () => {
  const random = xorshift(SEED);
  const sql: string[] = [];
  const ours: { readonly func: string; readonly answer: string; readonly out: SqlType }[] = [];
  for (const name of AGGREGATE_NAMES)
    for (const n of Object.keys(EDGES) as TypeName[]) {
      const t: SqlType = { name: n };
      const r = tryResolve(name, aggregatesByName(name), [t]);
      if (r === undefined || r.casts[0] !== null || n === 'name' || n === 'bpchar') continue;
      for (const group of groupsOf(t, random)) {
        const list = group.map((g) => sqlLiteral(g, t)).join(', ');
        sql.push(
          `(select ${name}(x) from unnest(array[${list}]::${pgName(t)}[]) with ordinality as u(x, n))`,
        );
        ours.push({
          func: r.def.id,
          answer: aggregateAnswer(
            r.def,
            group.map((g) => lit(g, t).value),
            t,
            r.returns,
          ),
          out: r.returns,
        });
      }
    }
  const answers = await oracle(sql);
  const bad: string[] = [];
  answers.forEach((pg, i) => {
    const { func, answer, out } = ours[i]!;
    const c: Case = { sql: sql[i]!, func, out, expr: lit(null, out) };
    // min and max are there for every ordered type.
    const more = /^(min|max)_(bool|uuid|bytea)$/.test(func) && pg.startsWith('e42883');
    // Aggregates of maintained views print instants in UTC; sums of squares of bigints may pass 39 digits.
    const utc = func === 'jsonb_agg' && /with time zone/.test(sql[i]!);
    const wide = /^(var|stddev).*_int8$/.test(func) && answer.startsWith('e22003');
    if (more || utc || wide || agrees(pg, answer) || EXPECTED.some((x) => x.holds(c, pg, answer))) return;
    if (!closeDeviation(func, pg, answer))
      bad.push(`${func}: ${sql[i]}\n    postgres ${pg}\n    ours     ${answer}`);
  });
  assert.ok(sql.length > 500, `${sql.length} groups`);
  assert.deepEqual(bad.slice(0, 20), [], `SEED=${SEED}: ${bad.length} of ${sql.length} differ`);
});

const AGGREGATE_NAMES =
  'count sum avg min max bool_and bool_or every array_agg jsonb_agg variance var_samp var_pop stddev stddev_samp stddev_pop'.split(
    ' ',
  );

function aggregateAnswer(def: AggregateDef, values: readonly Datum[], t: SqlType, out: SqlType): string {
  try {
    const v = aggregateRows(
      def,
      values.map((x) => [x]),
      [t],
      out,
      { ...CONTEXT, timeZone: 'UTC' },
    );
    return `v${v === null ? '<null>' : show(out, v)}`;
  } catch (e) {
    if (!(e instanceof SqlError)) throw e;
    return `e${e.sqlstate} ${e.message}`;
  }
}

/** Deviations of numeric carry a few digits more or fewer; of floats, sums of squares lose some. */
function closeDeviation(func: string, pg: string, ours: string): boolean {
  if (!/^(var|stddev)/.test(func) || pg[0] !== 'v' || ours[0] !== 'v') return false;
  const a = Number(pg.slice(1));
  const b = Number(ours.slice(1));
  return Math.abs(a - b) <= 1e-12 * Math.max(Math.abs(a), Math.abs(b));
}
