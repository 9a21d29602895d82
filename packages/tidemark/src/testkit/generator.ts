/**
 * Random SQL from a seed: queries over given relations, of every kind that the engine maintains. Every query is valid.
 * Where a limit cuts, the order is total. Rows fail only where the query is asked to be fallible, and then in the
 * outermost list of a query without a limit, which PostgreSQL evaluates for the same rows as we do.
 */
import type { SeededRandom } from './random.ts';

/** int4, int8, text, bool, numeric, float8, date, timestamptz, interval, int4[], jsonb. */
export type ColumnKind = 'i' | 'l' | 't' | 'b' | 'n' | 'f' | 'd' | 'z' | 'v' | 'a' | 'j';

export const KINDS: Readonly<
  Record<ColumnKind, { readonly type: string; readonly values: readonly string[] }>
> = {
  i: { type: 'int4', values: ['-1', '0', '1', '2', '3', '7'] },
  l: { type: 'int8', values: ['0', '1', '2', '-5000000000', '9000000000000000000'] },
  t: { type: 'text', values: ["''", "'a'", "'b'", "'ab'", "'zz'"] },
  b: { type: 'bool', values: ['true', 'false'] },
  n: { type: 'numeric', values: ['0', '1', '1.0', '2.50', '-3.25', '1e20'] },
  f: { type: 'float8', values: ['0', "'-0'", '1.5', '-2.25', '3', "'NaN'"] },
  d: { type: 'date', values: ["'2024-02-28'", "'2024-03-01'", "'1999-12-31'"] },
  z: {
    type: 'timestamptz',
    values: ["'2024-02-29 12:00:00+00'", "'2024-03-01 00:00:00+00'", "'1999-12-31 23:59:59.5+00'"],
  },
  // No two that are equal: a group may show either.
  v: { type: 'interval', values: ["'1 day'", "'1 mon'", "'-02:00:00'"] },
  a: { type: 'int4[]', values: ["'{}'", "'{1,2}'", "'{1,NULL}'", "'{3}'"] },
  j: { type: 'jsonb', values: ["'1'", `'"x"'`, `'{"a": 1}'`, "'[1, 2]'", "'null'"] },
};
const ALL_KINDS = Object.keys(KINDS) as ColumnKind[];

export interface Relation {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly kind: ColumnKind }[];
}

interface Col {
  readonly ref: string;
  readonly kind: ColumnKind;
}
interface From {
  readonly sql: string;
  readonly columns: readonly Col[];
}

export interface GeneratedQuery {
  readonly sql: string;
  readonly kinds: readonly ColumnKind[];
  /** Constructs that it holds. */
  readonly constructs: ReadonlySet<string>;
}

/** A value, NULL at times. */
export function randomValue(random: SeededRandom, kind: ColumnKind, nullPercent: number): string {
  return random.chance(nullPercent) ? 'NULL' : random.pick(KINDS[kind].values);
}

export function generateQuery(random: SeededRandom, relations: readonly Relation[]): GeneratedQuery {
  return new QueryGenerator(random, relations).generate();
}

class QueryGenerator {
  readonly #random: SeededRandom;
  readonly #relations: readonly Relation[];
  readonly #constructs = new Set<string>();
  #alias = 0;

  constructor(random: SeededRandom, relations: readonly Relation[]) {
    this.#random = random;
    this.#relations = relations;
  }

  generate(): GeneratedQuery {
    const r = this.#random;
    const kinds = Array.from({ length: 1 + r.below(3) }, () => r.pick(ALL_KINDS));
    const sql = r.chance(20) ? this.#with(kinds) : this.#query(2, kinds);
    return { sql, kinds, constructs: this.#constructs };
  }

  #mark(construct: string): void {
    this.#constructs.add(construct);
  }

  #kinds(n: number): ColumnKind[] {
    return Array.from({ length: n }, () => this.#random.pick(ALL_KINDS));
  }

  /** A common table expression that is read twice. */
  #with(kinds: readonly ColumnKind[]): string {
    const r = this.#random;
    this.#mark('with');
    const own = this.#kinds(2);
    const names = own.map((_, i) => `w${i}`);
    const cte: Relation = { name: 'w', columns: names.map((name, i) => ({ name, kind: own[i]! })) };
    const body = this.#query(1, own);
    const inner = new QueryGenerator(r, [cte, cte, ...this.#relations]);
    const sql = inner.#select(1, [], kinds, true);
    for (const c of inner.#constructs) this.#mark(c);
    return `WITH w (${names.join(', ')}) AS (${body}) ${sql}`;
  }

  #query(depth: number, kinds: readonly ColumnKind[]): string {
    const r = this.#random;
    if (depth === 0 || r.chance(75)) return this.#select(depth, [], kinds, true);
    const op = r.pick(['UNION', 'UNION ALL', 'EXCEPT', 'EXCEPT ALL', 'INTERSECT', 'INTERSECT ALL']);
    this.#mark(op.toLowerCase());
    const side = (): string => this.#select(depth - 1, [], kinds, false);
    const cut = r.chance(20) ? ` ${this.#order(kinds)} LIMIT ${1 + r.below(4)}` : '';
    return `(${side()}) ${op} (${side()})${cut}`;
  }

  /** Over every output column, so that nothing is left to chance. */
  #order(kinds: readonly ColumnKind[]): string {
    const r = this.#random;
    const keys = kinds.map((_, i) => `${i + 1}${r.pick(['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST'])}`);
    return `ORDER BY ${r.shuffled(keys).join(', ')}`;
  }

  #select(depth: number, outer: readonly Col[], kinds: readonly ColumnKind[], mayCut: boolean): string {
    const r = this.#random;
    const from = this.#from(depth, outer);
    const scope = [...from.columns, ...outer];
    const where = r.chance(45) ? ` WHERE ${this.#condition(depth, scope)}` : '';
    if (r.chance(35)) return this.#grouped(from, kinds, where);
    const distinct = r.chance(15);
    if (distinct) this.#mark('distinct');
    const fallible = mayCut && depth === 2 && !distinct && r.chance(8);
    if (fallible) this.#mark('fallible');
    const items = kinds.map((k, i) => {
      const value = fallible && i === 0 ? this.#fallible(k, scope) : this.#value(k, depth, scope);
      return `${value} AS o${i}`;
    });
    let tail = '';
    if (mayCut && !fallible && r.chance(25)) {
      this.#mark('limit');
      tail = ` ${this.#order(kinds)} LIMIT ${r.below(5)}${r.chance(40) ? ` OFFSET ${r.below(3)}` : ''}`;
    }
    const sql = `SELECT ${distinct ? 'DISTINCT ' : ''}${items.join(', ')} FROM ${from.sql}${where}${tail}`;
    return mayCut && !fallible && r.chance(8) ? this.#distinctOn(sql, kinds) : sql;
  }

  /** The first row of each group of the first column. */
  #distinctOn(sql: string, kinds: readonly ColumnKind[]): string {
    const r = this.#random;
    this.#mark('distinct on');
    const rest = kinds.slice(1).map((_, i) => `o${i + 1}${r.pick(['', ' DESC', ' NULLS FIRST'])}`);
    return `SELECT DISTINCT ON (o0) * FROM (${sql}) AS o ORDER BY ${['o0', ...r.shuffled(rest)].join(', ')}`;
  }

  /** Fails on some rows. */
  #fallible(kind: ColumnKind, scope: readonly Col[]): string {
    const ints = scope.filter((c) => c.kind === 'i');
    const divisor = ints.length > 0 ? this.#random.pick(ints).ref : '1';
    const value = this.#random.pick(KINDS[kind].values);
    return `CASE WHEN 6 / ${divisor} > 2 THEN ${value}::${KINDS[kind].type} END`;
  }

  // ---- Grouping

  #grouped(from: From, kinds: readonly ColumnKind[], where: string): string {
    const r = this.#random;
    const own = from.columns;
    const keys = Array.from({ length: r.below(3) }, () => r.pick(own));
    this.#mark(keys.length === 0 ? 'global aggregate' : 'group by');
    const items = kinds.map((k, i) => {
      const key = keys.find((c) => c.kind === k);
      return `${key !== undefined && r.chance(50) ? key.ref : this.#aggregate(k, own)} AS o${i}`;
    });
    const group = keys.length === 0 ? '' : ` GROUP BY ${keys.map((k) => k.ref).join(', ')}`;
    let having = '';
    if (r.chance(25)) {
      this.#mark('having');
      having = ` HAVING ${this.#aggregate('l', own)} ${r.pick(['>', '<=', '=', '>='])} ${r.below(3)}`;
    }
    return `SELECT ${items.join(', ')} FROM ${from.sql}${where}${group}${having}`;
  }

  /** Its arguments read FROM alone, so that it belongs to this query. */
  #aggregate(kind: ColumnKind, scope: readonly Col[]): string {
    const r = this.#random;
    const of = (k: ColumnKind): string => {
      const own = scope.filter((c) => c.kind === k);
      return own.length > 0 ? r.pick(own).ref : typed(r.pick(KINDS[k].values), KINDS[k].type);
    };
    const any = r.pick(scope).ref;
    const distinct = r.chance(25) ? 'DISTINCT ' : '';
    const choices: Readonly<Record<ColumnKind, () => readonly string[]>> = {
      i: () => [`min(${of('i')})`, `max(${of('i')})`],
      l: () => [
        'count(*)',
        `count(${any})`,
        `count(DISTINCT ${any})`,
        `sum(${distinct}${of('i')})`,
        `max(${of('l')})`,
      ],
      t: () => {
        const [x, y] = [of('t'), of('i')];
        return [
          `min(${of('t')})`,
          `max(${of('t')})`,
          `string_agg(${distinct}${x}, ',' ORDER BY ${x})`,
          `array_agg(${distinct}${y} ORDER BY ${y})`,
          `jsonb_agg(${y} ORDER BY ${y} DESC)`,
        ];
      },
      b: () => [`bool_and(${of('b')})`, `bool_or(${of('b')})`],
      n: () => [
        `sum(${distinct}${of('n')})`,
        `avg(${distinct}${of('i')})`,
        `sum(${of('l')})`,
        `min(${of('n')})`,
        `max(${of('n')})`,
      ],
      f: () => [`sum(${distinct}${of('f')})`, `avg(${of('f')})`, `min(${of('f')})`, `max(${of('f')})`],
      d: () => [`min(${of('d')})`, `max(${of('d')})`],
      z: () => [`min(${of('z')})`, `max(${of('z')})`],
      v: () => [`min(${of('v')})`, `max(${of('v')})`],
      a: () => {
        const x = of('i');
        return [`min(${of('a')})`, `max(${of('a')})`, `array_agg(${distinct}${x} ORDER BY ${x} DESC)`];
      },
      j: () => {
        const x = of('t');
        return [`jsonb_agg(${distinct}${x} ORDER BY ${x})`];
      },
    };
    const call = r.pick(choices[kind]());
    if (call.includes('DISTINCT')) this.#mark('aggregate distinct');
    const filter = r.chance(25) ? ` FILTER (WHERE ${this.#comparison(scope)})` : '';
    if (filter !== '') this.#mark('aggregate filter');
    return kind === 't' ? `(${call}${filter})::text` : `${call}${filter}`;
  }

  // ---- FROM

  #from(depth: number, outer: readonly Col[]): From {
    const r = this.#random;
    let left = this.#item(depth);
    const joins = r.below(depth === 2 ? 4 : 2);
    for (let i = 0; i < joins; i++) left = this.#join(left, depth, outer);
    return left;
  }

  #item(depth: number): From {
    const r = this.#random;
    const alias = `q${this.#alias++}`;
    if (depth > 0 && r.chance(15)) {
      this.#mark('derived');
      const kinds = this.#kinds(2);
      const names = kinds.map((_, i) => `x${i}`);
      return {
        sql: `(${this.#query(depth - 1, kinds)}) AS ${alias} (${names.join(', ')})`,
        columns: kinds.map((kind, i) => ({ ref: `${alias}.x${i}`, kind })),
      };
    }
    const relation = r.pick(this.#relations);
    return {
      sql: `${relation.name} AS ${alias}`,
      columns: relation.columns.map((c) => ({ ref: `${alias}.${c.name}`, kind: c.kind })),
    };
  }

  #join(left: From, depth: number, outer: readonly Col[]): From {
    const r = this.#random;
    if (depth > 0 && r.chance(15)) return this.#lateral(left, depth, outer);
    const right = this.#item(depth);
    const columns = [...left.columns, ...right.columns];
    const kind = r.pick(['JOIN', 'JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN', 'CROSS JOIN']);
    this.#mark(kind.toLowerCase());
    if (kind === 'CROSS JOIN') return { sql: `${left.sql} CROSS JOIN ${right.sql}`, columns };
    const pairs = left.columns.flatMap((a) =>
      right.columns.filter((b) => b.kind === a.kind).map((b) => `${a.ref} = ${b.ref}`),
    );
    // PostgreSQL takes nothing but equalities under FULL JOIN.
    const on = pairs.length > 0 ? [r.pick(pairs)] : ['true'];
    if (pairs.length > 0 && r.chance(25)) on.push(r.pick(pairs));
    if (kind !== 'FULL JOIN' && r.chance(30)) on.push(this.#comparison(columns));
    return { sql: `${left.sql} ${kind} ${right.sql} ON ${on.join(' AND ')}`, columns };
  }

  #lateral(left: From, depth: number, outer: readonly Col[]): From {
    const r = this.#random;
    this.#mark('lateral');
    const alias = `q${this.#alias++}`;
    const [how, on] = r.chance(50) ? ['CROSS JOIN LATERAL', ''] : ['LEFT JOIN LATERAL', ' ON true'];
    if (r.chance(25)) {
      this.#mark('table function');
      const ints = left.columns.filter((c) => c.kind === 'i');
      const to = ints.length > 0 ? r.pick(ints).ref : '2';
      return {
        sql: `${left.sql} ${how} generate_series(1, ${to}) AS ${alias} (y)${on}`,
        columns: [...left.columns, { ref: `${alias}.y`, kind: 'i' }],
      };
    }
    const kind = r.pick(ALL_KINDS);
    const sql = this.#select(depth - 1, [...left.columns, ...outer], [kind], true);
    return {
      sql: `${left.sql} ${how} (${sql}) AS ${alias} (y)${on}`,
      columns: [...left.columns, { ref: `${alias}.y`, kind }],
    };
  }

  // ---- Expressions that fail on no row

  #literal(kind: ColumnKind): string {
    return typed(randomValue(this.#random, kind, 15), KINDS[kind].type);
  }

  #column(kind: ColumnKind, scope: readonly Col[]): string {
    const own = scope.filter((c) => c.kind === kind);
    return own.length > 0 ? this.#random.pick(own).ref : this.#literal(kind);
  }

  #value(kind: ColumnKind, depth: number, scope: readonly Col[]): string {
    const r = this.#random;
    if (depth > 0 && r.chance(12)) return this.#scalarSubquery(kind, depth, scope);
    if (r.chance(50)) return this.#column(kind, scope);
    const c = (k: ColumnKind): string => this.#column(k, scope);
    if (r.chance(25)) return this.#choice(kind, scope);
    const calls: Readonly<Record<ColumnKind, readonly string[]>> = {
      i: [
        `${c('i')} + 1`,
        `${c('i')} * 2`,
        `length(${c('t')})`,
        `${c('i')} % 3`,
        `cardinality(${c('a')})`,
        `(${c('a')})[1]`,
        `extract(year FROM ${c('d')})::int4`,
      ],
      l: [`${c('i')}::int8`, `${c('i')}::int8 + ${c('i')}`, `-(${c('l')})`],
      t: [
        `${c('t')} || 'x'`,
        `${c('i')}::text`,
        `upper(${c('t')})`,
        `${c('b')}::text`,
        `${c('d')}::text`,
        `${c('j')} ->> 'a'`,
        `${c('a')}::text`,
      ],
      b: [
        this.#comparison(scope),
        `NOT ${c('b')}`,
        `${c('t')} LIKE 'a%'`,
        `${c('i')} = ANY (ARRAY[1, NULL, 3])`,
        `${c('i')} = ANY (${c('a')})`,
        `${c('j')} @> '{"a": 1}'`,
      ],
      n: [
        `${c('n')} + ${c('i')}`,
        `${c('n')} * 2`,
        `${c('l')}::numeric`,
        `round(${c('n')}, 1)`,
        `abs(${c('n')})`,
      ],
      f: [`${c('f')} * 2`, `${c('i')}::float8`, `${c('f')} + ${c('i')}`, `-(${c('f')})`],
      d: [`${c('d')} + 1`, `${c('z')}::date`],
      z: [
        `${c('z')} + interval '1 day'`,
        `date_trunc('month', ${c('z')})`,
        `${c('d')}::timestamptz`,
        `${c('z')} + ${c('v')}`,
      ],
      v: [`${c('v')} * 2`, `-(${c('v')})`],
      a: [`${c('a')} || ${c('i')}`, `ARRAY[${c('i')}, ${c('i')}]`],
      j: [`to_jsonb(${c('i')})`, `${c('j')} -> 'a'`, `jsonb_build_object('k', ${c('i')})`],
    };
    return r.pick(calls[kind]);
  }

  #choice(kind: ColumnKind, scope: readonly Col[]): string {
    const r = this.#random;
    const branch = (): string => this.#column(kind, scope);
    switch (r.below(4)) {
      case 0:
        return `coalesce(${branch()}, ${this.#literal(kind)})`;
      case 1:
        return `nullif(${branch()}, ${this.#literal(kind)})`;
      case 2:
        return kind === 'b' ? branch() : `${r.pick(['greatest', 'least'])}(${branch()}, ${branch()})`;
      default:
        return `CASE WHEN ${this.#comparison(scope)} THEN ${branch()} ELSE ${branch()} END`;
    }
  }

  #scalarSubquery(kind: ColumnKind, depth: number, scope: readonly Col[]): string {
    const r = this.#random;
    this.#mark('scalar subquery');
    const from = this.#item(0);
    const inner = [...from.columns, ...scope];
    const where = r.chance(70) ? ` WHERE ${this.#condition(depth - 1, inner)}` : '';
    if (r.chance(50))
      return `(SELECT ${this.#value(kind, depth - 1, inner)} FROM ${from.sql}${where} ORDER BY 1 LIMIT 1)`;
    return `(SELECT ${this.#aggregate(kind, from.columns)} FROM ${from.sql}${where})`;
  }

  #comparison(scope: readonly Col[]): string {
    const r = this.#random;
    const a = r.pick(scope);
    if (r.chance(15)) return `${a.ref} IS ${r.pick(['', 'NOT '])}NULL`;
    const b = r.chance(50) ? this.#column(a.kind, scope) : this.#literal(a.kind);
    const op = r.pick(['=', '=', '<>', '<', '>=', 'IS DISTINCT FROM', 'IS NOT DISTINCT FROM']);
    return `${a.ref} ${op} ${b}`;
  }

  #condition(depth: number, scope: readonly Col[]): string {
    const r = this.#random;
    if (depth > 0 && r.chance(30)) return this.#subqueryCondition(depth, scope);
    switch (r.below(7)) {
      case 0:
        return `(${this.#condition(depth - 1, scope)} OR ${this.#condition(depth - 1, scope)})`;
      case 1:
        return `(${this.#condition(depth - 1, scope)} AND ${this.#condition(depth - 1, scope)})`;
      case 2:
        return `NOT (${this.#comparison(scope)})`;
      case 3:
        return this.#column('b', scope);
      default:
        return this.#comparison(scope);
    }
  }

  #subqueryCondition(depth: number, scope: readonly Col[]): string {
    const r = this.#random;
    const not = r.chance(40) ? 'NOT ' : '';
    const kind = r.pick(ALL_KINDS);
    const subquery = (): string => this.#select(depth - 1, r.chance(70) ? scope : [], [kind], true);
    if (r.chance(40)) {
      this.#mark(`${not}exists`.toLowerCase());
      return `${not}EXISTS (${subquery()})`;
    }
    const left = this.#value(kind, 0, scope);
    if (r.chance(60)) {
      this.#mark(`${not}in`.toLowerCase());
      return `(${left}) ${not}IN (${subquery()})`;
    }
    const quantifier = r.pick(['ANY', 'ALL']);
    this.#mark(quantifier.toLowerCase());
    return `(${left}) ${r.pick(['=', '<>', '<', '>'])} ${quantifier} (${subquery()})`;
  }
}

/** Not `-1::int4`, which a cast after it would take apart: `::` binds tighter than the minus. */
function typed(value: string, type: string): string {
  return `CAST(${value} AS ${type})`;
}
