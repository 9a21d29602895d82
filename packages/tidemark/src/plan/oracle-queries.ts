/**
 * Seeded queries over small tables with NULLs and duplicates, for comparing with PostgreSQL: joins of every kind,
 * subqueries wherever they may stand, grouping, set operations, order and limit. Every query is valid and fails on no
 * row; where a limit cuts, the order is total.
 */
export class Random {
  #state: number;
  constructor(seed: number) {
    this.#state = seed | 0 || 1;
  }
  below(n: number): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return Math.floor(((x >>> 0) / 2 ** 32) * n);
  }
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)];
  }
  chance(percent: number): boolean {
    return this.below(100) < percent;
  }
}

/** Column types: i = int4, t = text, n = numeric, f = float8. */
type Kind = 'i' | 't' | 'n' | 'f';
interface Col {
  readonly ref: string;
  readonly kind: Kind;
}

export const ORACLE_TABLES = {
  t: { ddl: 'a int4, b int4, c text', columns: { a: 'i', b: 'i', c: 't' } },
  u: { ddl: 'a int4, d int4, n numeric', columns: { a: 'i', d: 'i', n: 'n' } },
  v: { ddl: 'b int4, c text, f float8', columns: { b: 'i', c: 't', f: 'f' } },
} as const satisfies Record<string, { ddl: string; columns: Record<string, Kind> }>;
export type OracleTable = keyof typeof ORACLE_TABLES;

const LITERALS: Record<Kind, readonly string[]> = {
  i: ['0', '1', '2', '3', '-1', 'NULL::int4'],
  t: ["'x'", "'y'", "''", 'NULL::text'],
  n: ['1.0::numeric', '1.00::numeric', '2.5::numeric', 'NULL::numeric'],
  f: ['0::float8', "'-0'::float8", '1.5::float8', "'NaN'::float8"],
};

/** Rows of a table as SQL values; the engine and PostgreSQL read the same text. */
export function oracleRows(random: Random, table: OracleTable): string[][] {
  const kinds = Object.values(ORACLE_TABLES[table].columns);
  return Array.from({ length: random.chance(10) ? 0 : 1 + random.below(6) }, () =>
    kinds.map((k) => (random.chance(25) ? `NULL::${TYPE_OF[k]}` : `${random.pick(LITERALS[k])}`)),
  );
}
const TYPE_OF: Record<Kind, string> = { i: 'int4', t: 'text', n: 'numeric', f: 'float8' };

export class QueryGenerator {
  readonly #random: Random;
  #alias = 0;
  /** What the query has, so that a run can tell what it covered. */
  readonly shapes = new Set<string>();

  constructor(random: Random) {
    this.#random = random;
  }

  query(): string {
    return this.#query(2, []).sql;
  }

  #mark(shape: string): void {
    this.shapes.add(shape);
  }

  #query(depth: number, outer: readonly Col[]): { sql: string; kinds: readonly Kind[] } {
    const r = this.#random;
    if (depth > 0 && r.chance(18)) return this.#setOperation(depth, outer);
    const kinds = Array.from({ length: 1 + r.below(3) }, () => r.pick(['i', 'i', 't', 'n', 'f'] as const));
    return { sql: this.#select(depth, outer, kinds, true), kinds };
  }

  #setOperation(depth: number, outer: readonly Col[]): { sql: string; kinds: readonly Kind[] } {
    const r = this.#random;
    const kinds = Array.from({ length: 1 + r.below(2) }, () => r.pick(['i', 't', 'n', 'f'] as const));
    const op = `${r.pick(['UNION', 'INTERSECT', 'EXCEPT'])}${r.chance(50) ? ' ALL' : ''}`;
    this.#mark(op.toLowerCase());
    const side = (): string => this.#select(depth - 1, outer, kinds, false);
    const order = r.chance(30)
      ? ` ORDER BY ${kinds.map((_, i) => i + 1).join(', ')} LIMIT ${1 + r.below(4)}`
      : '';
    return { sql: `(${side()}) ${op} (${side()})${order}`, kinds };
  }

  #select(depth: number, outer: readonly Col[], kinds: readonly Kind[], mayCut: boolean): string {
    const r = this.#random;
    const from = this.#from(depth, outer);
    const inScope = [...from.columns, ...outer];
    const where = r.chance(45) ? ` WHERE ${this.#condition(depth, inScope)}` : '';
    if (r.chance(30)) return this.#grouped(from, kinds, where);
    const distinct = r.chance(20);
    if (distinct) this.#mark('distinct');
    const items = kinds.map((k, i) => `${this.#value(k, depth, inScope)} AS o${i}`);
    let tail = '';
    if (mayCut && r.chance(30)) {
      this.#mark('limit');
      const direction = (): string => r.pick(['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST']);
      tail = ` ORDER BY ${kinds.map((_, i) => `${i + 1}${direction()}`).join(', ')} LIMIT ${r.below(4)}${r.chance(40) ? ` OFFSET ${r.below(3)}` : ''}`;
    }
    return `SELECT ${distinct ? 'DISTINCT ' : ''}${items.join(', ')} FROM ${from.sql}${where}${tail}`;
  }

  #grouped(
    from: { readonly sql: string; readonly columns: readonly Col[] },
    kinds: readonly Kind[],
    where: string,
  ): string {
    const r = this.#random;
    this.#mark('group');
    const own = from.columns;
    const keys = own.length > 0 ? Array.from({ length: r.below(3) }, () => r.pick(own)) : [];
    if (keys.length === 0) this.#mark('global aggregate');
    const items = kinds.map((k, i) => {
      const key = keys.find((c) => c.kind === k);
      return `${key !== undefined && r.chance(50) ? key.ref : this.#aggregate(k, own)} AS o${i}`;
    });
    const group = keys.length === 0 ? '' : ` GROUP BY ${keys.map((k) => k.ref).join(', ')}`;
    const having = r.chance(30)
      ? ` HAVING ${this.#aggregate('i', own)} ${r.pick(['>', '<=', '='])} ${r.below(3)}`
      : '';
    return `SELECT ${items.join(', ')} FROM ${from.sql}${where}${group}${having}`;
  }

  /** A call whose arguments read a column of FROM, so that it belongs to this query. */
  #aggregate(kind: Kind, scope: readonly Col[]): string {
    const r = this.#random;
    const own = scope.filter((c) => c.kind === kind);
    const filter = r.chance(20) && scope.length > 0 ? ` FILTER (WHERE ${this.#comparison(scope)})` : '';
    if (kind === 'i') {
      const any = scope.length > 0 ? r.pick(scope).ref : '1';
      const call = r.pick(['count(*)', `count(${any})`, `count(DISTINCT ${any})`]);
      return `(${call}${filter})::int4`;
    }
    if (own.length === 0) return r.pick(LITERALS[kind]);
    const column = r.pick(own).ref;
    if (kind === 'n') return `${r.pick(['min', 'max', 'sum', 'sum'])}(${column})${filter}`;
    return `${r.pick(['min', 'max'])}(${column})${filter}`;
  }

  // ---- FROM

  #from(depth: number, outer: readonly Col[]): { sql: string; columns: readonly Col[] } {
    const r = this.#random;
    let left = this.#item(depth, outer);
    const joins = r.below(3);
    for (let i = 0; i < joins; i++) left = this.#join(left, depth, outer);
    return left;
  }

  #item(depth: number, outer: readonly Col[]): { sql: string; columns: readonly Col[] } {
    const r = this.#random;
    const alias = `q${this.#alias++}`;
    if (depth > 0 && r.chance(20)) {
      this.#mark('derived');
      const { sql, kinds } = this.#query(depth - 1, []);
      const names = kinds.map((_, i) => `x${i}`);
      return {
        sql: `(${sql}) AS ${alias} (${names.join(', ')})`,
        columns: kinds.map((kind, i) => ({ ref: `${alias}.x${i}`, kind })),
      };
    }
    void outer;
    const table = r.pick(Object.keys(ORACLE_TABLES) as OracleTable[]);
    const columns = Object.entries(ORACLE_TABLES[table].columns) as [string, Kind][];
    return {
      sql: `${table} AS ${alias}`,
      columns: columns.map(([name, kind]) => ({ ref: `${alias}.${name}`, kind })),
    };
  }

  #join(
    left: { readonly sql: string; readonly columns: readonly Col[] },
    depth: number,
    outer: readonly Col[],
  ): { sql: string; columns: readonly Col[] } {
    const r = this.#random;
    if (depth > 0 && r.chance(15)) {
      const kind = r.pick(['CROSS JOIN LATERAL', 'LEFT JOIN LATERAL']);
      this.#mark('lateral');
      const alias = `q${this.#alias++}`;
      const kinds: Kind[] = [r.pick(['i', 't'] as const)];
      const sql = this.#select(depth - 1, [...left.columns, ...outer], kinds, true);
      const on = kind.startsWith('LEFT') ? ' ON true' : '';
      return {
        sql: `${left.sql} ${kind} (${sql}) AS ${alias} (y)${on}`,
        columns: [...left.columns, { ref: `${alias}.y`, kind: kinds[0] }],
      };
    }
    const right = this.#item(depth, outer);
    const columns = [...left.columns, ...right.columns];
    const kind = r.pick(['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN', 'CROSS JOIN']);
    this.#mark(kind.toLowerCase());
    if (kind === 'CROSS JOIN') return { sql: `${left.sql} CROSS JOIN ${right.sql}`, columns };
    const pairs = left.columns.flatMap((a) =>
      right.columns.filter((b) => b.kind === a.kind).map((b) => `${a.ref} = ${b.ref}`),
    );
    const equal = pairs.length > 0 ? r.pick(pairs) : 'true';
    // PostgreSQL takes only equalities under FULL JOIN.
    const rest = kind !== 'FULL JOIN' && r.chance(35) ? ` AND ${this.#comparison(columns)}` : '';
    return { sql: `${left.sql} ${kind} ${right.sql} ON ${equal}${rest}`, columns };
  }

  // ---- Expressions

  #value(kind: Kind, depth: number, scope: readonly Col[]): string {
    const r = this.#random;
    const own = scope.filter((c) => c.kind === kind);
    if (depth > 0 && r.chance(18)) return this.#scalarSubquery(kind, depth, scope);
    if (r.chance(12)) {
      const branch = (): string => this.#value(kind, 0, scope);
      return `CASE WHEN ${this.#comparison(scope)} THEN ${branch()} ELSE ${branch()} END`;
    }
    if (r.chance(10)) return `coalesce(${this.#value(kind, 0, scope)}, ${r.pick(LITERALS[kind])})`;
    if (own.length === 0 || r.chance(10)) return r.pick(LITERALS[kind]);
    const { ref } = r.pick(own);
    return kind === 'i' && r.chance(25) ? `${ref} + ${r.below(3)}` : ref;
  }

  #scalarSubquery(kind: Kind, depth: number, scope: readonly Col[]): string {
    const r = this.#random;
    this.#mark('scalar subquery');
    const from = this.#item(0, []);
    const inner = [...from.columns, ...scope];
    const where = r.chance(70) ? ` WHERE ${this.#condition(depth - 1, inner)}` : '';
    const value = this.#value(kind, depth - 1, inner);
    if (r.chance(50)) return `(SELECT ${value} FROM ${from.sql}${where} ORDER BY 1 LIMIT 1)`;
    return `(SELECT ${kind === 'i' && r.chance(50) ? 'count(*)::int4' : `max(${from.columns.find((c) => c.kind === kind)?.ref ?? r.pick(LITERALS[kind])})`} FROM ${from.sql}${where})`;
  }

  #comparison(scope: readonly Col[]): string {
    const r = this.#random;
    if (scope.length === 0) return r.pick(['true', 'false', 'NULL::bool']);
    const a = r.pick(scope);
    if (r.chance(15)) return `${a.ref} IS ${r.pick(['', 'NOT '])}NULL`;
    const same = scope.filter((c) => c.kind === a.kind);
    const b = r.chance(50) ? r.pick(same).ref : r.pick(LITERALS[a.kind]);
    const op = r.pick(['=', '=', '=', '<>', '<', '>=', 'IS DISTINCT FROM', 'IS NOT DISTINCT FROM']);
    return `${a.ref} ${op} ${b}`;
  }

  #condition(depth: number, scope: readonly Col[]): string {
    const r = this.#random;
    if (depth > 0 && r.chance(35)) return this.#subqueryCondition(depth, scope);
    switch (r.below(6)) {
      case 0:
        return `(${this.#condition(depth - 1, scope)} OR ${this.#condition(depth - 1, scope)})`;
      case 1:
        return `(${this.#condition(depth - 1, scope)} AND ${this.#condition(depth - 1, scope)})`;
      case 2:
        return `NOT (${this.#comparison(scope)})`;
      default:
        return this.#comparison(scope);
    }
  }

  #subqueryCondition(depth: number, scope: readonly Col[]): string {
    const r = this.#random;
    const not = r.chance(40) ? 'NOT ' : '';
    const kinds = ['i', 't', 'n'] as const;
    const kind = r.pick(kinds);
    const subquery = (): string => this.#select(depth - 1, r.chance(70) ? scope : [], [kind], true);
    if (r.chance(40)) {
      this.#mark(`${not}exists`.toLowerCase());
      return `${not}EXISTS (${subquery()})`;
    }
    const left = this.#value(kind, 0, scope);
    if (r.chance(60)) {
      this.#mark(`${not}in`.toLowerCase());
      return `${left} ${not}IN (${subquery()})`;
    }
    const quantifier = r.pick(['ANY', 'ALL']);
    this.#mark(quantifier.toLowerCase());
    return `${left} ${r.pick(['=', '<>', '<', '>'])} ${quantifier} (${subquery()})`;
  }
}
