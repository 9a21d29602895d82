/**
 * Random trees, for property tests: every kind of expression, table and query body, in the form the parser gives (a
 * sign before a number is part of it, a lone subquery is never a list …). One generator a kind, so that a new kind
 * without one does not compile; `drawn` counts what was made, so that a test can refuse a run that left one out.
 */
import type {
  CallExpr,
  Expr,
  FrameBound,
  GroupItem,
  OrderItem,
  Query,
  QueryBody,
  Select,
  Subscript,
  TableAlias,
  TableFunction,
  TableRef,
  TypedColumn,
  TypeName,
  WindowSpec,
} from './ast.ts';
import { EXPRS, FUNCTIONS, INFIX, LEAVES, NUMBERS, PREFIX, RandomChoice } from './random-choice.ts';

const pos = 0;

type Make<T extends { readonly kind: string }> = {
  readonly [K in T['kind']]: () => Extract<T, { readonly kind: K }>;
};

export class RandomAst extends RandomChoice {
  /** Kind -> how many were made. */
  readonly drawn = new Map<string, number>();
  #of<T extends { readonly kind: string }>(makers: Make<T>, kinds: readonly T['kind'][]): T {
    const kind = this.pick(kinds);
    this.drawn.set(kind, (this.drawn.get(kind) ?? 0) + 1);
    this.budget--;
    return (makers[kind] as () => T)();
  }

  // ---- Types

  type(): TypeName {
    const plain = {
      params: [],
      modifiers: [],
      arrayBounds: [],
      intervalFields: undefined,
      setof: false,
      pos,
    };
    const int = (): Expr[] =>
      this.chance(0.5) ? [{ kind: 'number', text: String(this.below(7)), pos }] : [];
    const named = (name: string) => ({ ...plain, name: { parts: [{ name, pos }], pos } });
    const made = this.pick<() => TypeName>([
      () =>
        named(
          this.pick(['int4', 'text', 'bool', 'float8', 'char', 'jsonb', 'json', 'list', 'map', 'double']),
        ),
      () => ({
        ...named(
          this.pick([
            'timestamp',
            'timestamptz',
            'time',
            'timetz',
            'interval',
            'varchar',
            'bpchar',
            'bit',
            'varbit',
          ]),
        ),
        modifiers: int(),
      }),
      () => ({ ...named('numeric'), modifiers: this.many(0, 2, () => this.expr()) }),
      () => ({ ...named('interval'), intervalFields: this.pick(['year', 'year to month', 'day to minute']) }),
      () => ({
        ...named('interval'),
        intervalFields: this.pick(['second', 'day to second']),
        modifiers: int(),
      }),
      () => ({ ...plain, name: this.objectName(), modifiers: this.many(0, 2, () => this.expr()) }),
      () => ({ ...named('list'), params: [this.type()] }),
      () => ({ ...named('map'), params: [this.type(), this.type()] }),
    ])();
    const bounds = this.chance(0.2) ? [this.chance(0.5) ? undefined : this.below(9)] : [];
    return { ...made, arrayBounds: bounds };
  }

  typedColumn(): TypedColumn {
    return { name: this.ident(), type: this.type(), pos };
  }

  // ---- Expressions

  /** An expression of about `size` nodes. */
  exprOf(size: number): Expr {
    this.budget = size;
    return this.expr();
  }

  expr(): Expr {
    const leaf = this.budget <= 0;
    return this.#of<Expr>(this.#exprs, leaf ? LEAVES : EXPRS);
  }

  /** Not a query in parentheses, where those would read as part of the construct. */
  #notQuery(): Expr {
    for (;;) {
      const expr = this.expr();
      if (expr.kind !== 'subquery') return expr;
    }
  }

  /** One or more; alone, not a query. */
  #list(): Expr[] {
    const list = this.many(1, 3, () => this.expr());
    return list.length === 1 && list[0]?.kind === 'subquery' ? [this.#notQuery()] : list;
  }

  #operator(ops: readonly string[]): { op: string; schema: string | undefined } {
    return { op: this.pick(ops), schema: this.chance(0.1) ? this.ident().name : undefined };
  }

  readonly #exprs: Make<Expr> = {
    null: () => ({ kind: 'null', pos }),
    boolean: () => ({ kind: 'boolean', value: this.chance(0.5), pos }),
    number: () => ({ kind: 'number', text: this.pick(NUMBERS), pos }),
    string: () => ({ kind: 'string', value: this.string(), pos }),
    bitString: () => ({ kind: 'bitString', base: this.pick(['b', 'x'] as const), value: '01', pos }),
    parameter: () => ({ kind: 'parameter', index: 1 + this.below(12), pos }),
    default: () => ({ kind: 'default', pos }),
    column: () => ({ kind: 'column', name: this.objectName(), pos }),
    wildcard: () => ({ kind: 'wildcard', qualifier: this.objectName(), pos }),
    field: () => ({ kind: 'field', expr: this.expr(), field: this.ident(), pos }),
    fieldStar: () => ({ kind: 'fieldStar', expr: this.expr(), pos }),
    subscript: () => ({
      kind: 'subscript',
      expr: this.expr(),
      subscripts: this.many(1, 2, () => this.#subscript()),
      pos,
    }),
    unary: () => {
      const op = this.#operator(PREFIX);
      const expr = this.expr();
      const literal = expr.kind === 'number' && op.op === '-' && op.schema === undefined;
      return { kind: 'unary', ...op, expr: literal ? { kind: 'null', pos } : expr, pos };
    },
    binary: () => ({ kind: 'binary', ...this.#operator(INFIX), left: this.expr(), right: this.expr(), pos }),
    and: () => ({ kind: 'and', operands: this.many(2, 3, () => this.expr()), pos }),
    or: () => ({ kind: 'or', operands: this.many(2, 3, () => this.expr()), pos }),
    not: () => ({ kind: 'not', expr: this.expr(), pos }),
    isNull: () => ({ kind: 'isNull', negated: this.chance(0.5), expr: this.expr(), pos }),
    isBoolean: () => ({
      kind: 'isBoolean',
      value: this.pick(['true', 'false', 'unknown'] as const),
      negated: this.chance(0.5),
      expr: this.expr(),
      pos,
    }),
    isDistinct: () => ({
      kind: 'isDistinct',
      negated: this.chance(0.5),
      left: this.expr(),
      right: this.expr(),
      pos,
    }),
    between: () => ({
      kind: 'between',
      negated: this.chance(0.5),
      symmetric: this.chance(0.2),
      expr: this.expr(),
      low: this.expr(),
      high: this.expr(),
      pos,
    }),
    like: () => ({
      kind: 'like',
      op: this.pick(['like', 'ilike', 'similar to'] as const),
      negated: this.chance(0.5),
      expr: this.expr(),
      pattern: this.expr(),
      escape: this.maybe(() => this.expr()),
      pos,
    }),
    inList: () => ({ kind: 'inList', negated: this.chance(0.5), expr: this.expr(), list: this.#list(), pos }),
    inQuery: () => ({
      kind: 'inQuery',
      negated: this.chance(0.5),
      expr: this.expr(),
      query: this.query(),
      pos,
    }),
    quantifiedArray: () => ({
      kind: 'quantifiedArray',
      ...this.#operator(INFIX),
      quantifier: this.pick(['any', 'all'] as const),
      left: this.expr(),
      array: this.#notQuery(),
      pos,
    }),
    quantifiedQuery: () => ({
      kind: 'quantifiedQuery',
      ...this.#operator(INFIX),
      quantifier: this.pick(['any', 'all'] as const),
      left: this.expr(),
      query: this.query(),
      pos,
    }),
    exists: () => ({ kind: 'exists', query: this.query(), pos }),
    subquery: () => ({ kind: 'subquery', query: this.query(), pos }),
    arrayQuery: () => ({
      kind: 'arrayQuery',
      constructorName: this.pick(['array', 'list'] as const),
      query: this.query(),
      pos,
    }),
    array: () => ({ kind: 'array', elements: this.many(0, 3, () => this.expr()), pos }),
    list: () => ({ kind: 'list', elements: this.many(0, 3, () => this.expr()), pos }),
    map: () => ({
      kind: 'map',
      entries: this.many(0, 2, () => ({ key: this.expr(), value: this.expr() })),
      pos,
    }),
    row: () => ({ kind: 'row', elements: this.many(0, 3, () => this.expr()), pos }),
    case: () => ({
      kind: 'case',
      operand: this.maybe(() => this.expr()),
      branches: this.many(1, 2, () => ({ when: this.expr(), result: this.expr(), pos })),
      otherwise: this.maybe(() => this.expr()),
      pos,
    }),
    cast: () => ({ kind: 'cast', expr: this.expr(), type: this.type(), pos }),
    collate: () => ({ kind: 'collate', expr: this.expr(), collation: this.objectName(), pos }),
    namedArg: () => ({ kind: 'namedArg', name: this.ident(), value: this.expr(), pos }),
    call: () => this.#call(),
  };

  #subscript(): Subscript {
    const slice = this.chance(0.4);
    if (!slice) return { slice, lower: this.expr(), upper: undefined, pos };
    return { slice, lower: this.maybe(() => this.expr()), upper: this.maybe(() => this.expr()), pos };
  }

  #plainCall(): CallExpr {
    const name = this.chance(0.8) ? { parts: [{ name: this.pick(FUNCTIONS), pos }], pos } : this.objectName();
    const argument = () => (this.chance(0.1) ? this.#exprs.namedArg() : this.expr());
    return {
      kind: 'call',
      name,
      args: this.many(0, 3, argument),
      star: false,
      distinct: false,
      variadic: false,
      orderBy: [],
      withinGroup: [],
      filter: undefined,
      over: undefined,
      pos,
    };
  }

  #call(): CallExpr {
    const call = this.#plainCall();
    if (this.chance(0.5)) return call;
    if (this.chance(0.1)) return { ...call, args: [], star: true };
    const args = call.args.length > 0;
    const inGroup = this.chance(0.1);
    return {
      ...call,
      distinct: args && !inGroup && this.chance(0.3),
      orderBy: args && !inGroup && this.chance(0.3) ? this.order(1) : [],
      withinGroup: inGroup ? this.order(1) : [],
      filter: this.maybe(() => this.expr()),
      over: this.maybe(() =>
        this.chance(0.4) ? { kind: 'windowName' as const, name: this.ident(), pos } : this.window(),
      ),
    };
  }

  order(least: number): OrderItem[] {
    return this.many(least, 2, () => ({
      expr: this.expr(),
      descending: this.chance(0.3),
      nulls: this.pick(['first', 'last', undefined] as const),
      pos,
    }));
  }

  window(): WindowSpec {
    return {
      kind: 'windowSpec',
      base: this.maybe(() => this.ident()),
      partitionBy: this.many(0, 2, () => this.expr()),
      orderBy: this.order(0),
      frame: this.maybe(() => {
        const [start, end] = this.#bounds();
        const exclude = this.pick(['no others', 'current row', 'group', 'ties'] as const);
        return { units: this.pick(['rows', 'range', 'groups'] as const), start, end, exclude, pos };
      }),
      pos,
    };
  }

  /** In an order a frame may have. */
  #bounds(): [FrameBound, FrameBound] {
    const bounds: FrameBound[] = [
      { kind: 'unboundedPreceding', pos },
      { kind: 'preceding', offset: this.expr(), pos },
      { kind: 'currentRow', pos },
      { kind: 'following', offset: this.expr(), pos },
      { kind: 'unboundedFollowing', pos },
    ];
    const from = this.below(4);
    const to = Math.max(1, from + this.below(5 - from));
    return [bounds[from] as FrameBound, bounds[to] as FrameBound];
  }

  // ---- Queries

  queryOf(size: number): Query {
    this.budget = size;
    return this.query();
  }

  query(): Query {
    // The body first: it spends the budget where the kinds are.
    const body = this.body();
    const orderBy = this.order(0);
    const limit = this.maybe(() => this.expr());
    return {
      kind: 'query',
      with: this.maybe(() => this.#with()),
      body,
      orderBy,
      limit,
      withTies: orderBy.length > 0 && limit !== undefined && this.chance(0.3),
      offset: this.maybe(() => this.expr()),
      locking: this.many(0, 1, () => ({
        strength: this.pick(['update', 'no key update', 'share', 'key share'] as const),
        of: this.many(0, 2, () => this.objectName()),
        wait: this.pick(['nowait', 'skip locked', undefined] as const),
        pos,
      })),
      pos,
    };
  }

  #with(): NonNullable<Query['with']> {
    if (this.chance(0.7)) {
      const ctes = this.many(1, 2, () => ({
        name: this.ident(),
        columns: this.idents(0),
        materialized: this.pick([true, false, undefined]),
        query: this.query(),
        pos,
      }));
      return { kind: 'with', recursive: this.chance(0.3), ctes, pos };
    }
    return {
      kind: 'withMutuallyRecursive',
      limit: this.maybe(() => ({
        count: this.below(99),
        onReached: this.pick(['error', 'return'] as const),
        pos,
      })),
      bindings: this.many(1, 2, () => ({
        name: this.ident(),
        columns: this.many(1, 2, () => this.typedColumn()),
        query: this.query(),
        pos,
      })),
      pos,
    };
  }

  body(): QueryBody {
    return this.#of<QueryBody>(
      this.#bodies,
      this.budget <= 0 ? ['select'] : ['select', 'select', 'values', 'setOperation'],
    );
  }

  readonly #bodies: Make<QueryBody> = {
    select: () => this.#select(),
    values: () => {
      const width = 1 + this.below(2);
      return {
        kind: 'values',
        rows: this.many(1, 2, () => Array.from({ length: width }, () => this.expr())),
        pos,
      };
    },
    setOperation: () => ({
      kind: 'setOperation',
      op: this.pick(['union', 'intersect', 'except'] as const),
      all: this.chance(0.5),
      left: this.#operand(),
      right: this.#operand(),
      pos,
    }),
    query: () => ({ ...this.query(), limit: this.expr() }),
  };

  /** A body, or a query with clauses of its own, which only an operand can be. */
  #operand(): QueryBody {
    return this.chance(0.2) ? this.#of<QueryBody>(this.#bodies, ['query']) : this.body();
  }

  #select(): Select {
    const from = this.many(0, 2, () => this.table());
    const distinct = this.chance(0.2);
    const distinctOn = distinct ? [] : this.many(0, 1, () => this.expr());
    return {
      kind: 'select',
      distinct,
      distinctOn,
      items: this.many(distinct || distinctOn.length > 0 ? 1 : 0, 3, () =>
        this.chance(0.1)
          ? { expr: { kind: 'wildcard', qualifier: undefined, pos }, alias: undefined, pos }
          : { expr: this.expr(), alias: this.maybe(() => this.ident()), pos },
      ),
      from,
      where: this.maybe(() => this.expr()),
      groupBy: this.many(0, 2, () => this.#groupItem(false)),
      having: this.maybe(() => this.expr()),
      windows: this.many(0, 1, () => ({ name: this.ident(), spec: this.window(), pos })),
      pos,
    };
  }

  #groupItem(nested: boolean): GroupItem {
    if (this.chance(0.6)) return this.expr();
    const form = this.pick(['empty', 'rollup', 'cube', 'sets', 'columns'] as const);
    const columns = (): GroupItem => ({
      kind: 'groupingSet',
      form: 'columns',
      items: [this.expr(), this.expr()],
      pos,
    });
    if (form === 'columns') return nested ? columns() : this.expr();
    const item = () => (form === 'sets' ? this.#groupItem(true) : this.chance(0.3) ? columns() : this.expr());
    return { kind: 'groupingSet', form, items: form === 'empty' ? [] : this.many(1, 2, item), pos };
  }

  // ---- FROM

  alias(): TableAlias {
    return { name: this.ident(), columns: this.idents(0), pos };
  }

  table(): TableRef {
    return this.#of<TableRef>(
      this.#tables,
      this.budget <= 0 ? ['table'] : ['table', 'derived', 'function', 'join'],
    );
  }

  readonly #tables: Make<TableRef> = {
    table: () => ({ kind: 'table', name: this.objectName(), alias: this.maybe(() => this.alias()), pos }),
    derived: () => ({
      kind: 'derived',
      lateral: this.chance(0.3),
      query: this.query(),
      alias: this.maybe(() => this.alias()),
      pos,
    }),
    function: () => ({
      kind: 'function',
      lateral: this.chance(0.2),
      functions: this.many(1, 2, () => this.#tableFunction()),
      withOrdinality: this.chance(0.3),
      alias: this.maybe(() => this.alias()),
      pos,
    }),
    join: () => {
      const plain = {
        kind: 'join',
        left: this.table(),
        right: this.table(),
        alias: this.maybe(() => this.alias()),
        pos,
      } as const;
      if (this.chance(0.2))
        return { ...plain, type: 'cross', natural: false, on: undefined, using: undefined };
      const type = this.pick(['inner', 'left', 'right', 'full'] as const);
      if (this.chance(0.2)) return { ...plain, type, natural: true, on: undefined, using: undefined };
      if (this.chance(0.5)) return { ...plain, type, natural: false, on: this.expr(), using: undefined };
      const using = { columns: this.idents(1), alias: this.maybe(() => this.ident()) };
      return { ...plain, type, natural: false, on: undefined, using };
    },
  };

  #tableFunction(): TableFunction {
    return { call: this.#plainCall(), columns: this.many(0, 1, () => this.typedColumn()), pos };
  }
}
