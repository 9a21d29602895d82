/**
 * What one planning shares: the catalog's snapshot, fresh column numbers, the WITH queries that stand on their own,
 * the types of the parameters, and what was read.
 */

import { SqlError } from '../../base/error.ts';
import type { GlobalId } from '../../base/ids.ts';
import type { CatalogReader, NameContext, RelationItem } from '../../catalog/catalog-reader.ts';
import { isRelation } from '../../catalog/catalog-reader.ts';
import type { EvalContext } from '../../expr/functions.ts';
import { type Datum, type SqlType, type } from '../../repr/types.ts';
import type { Expr, ObjectName, Query } from '../../sql/ast.ts';
import type { ColumnId, HCte, HExpr, HOrder, HRel } from '../hir.ts';
import type { CteDef, Scope, ScopeColumn } from './scope.ts';

export interface PlanOptions {
  readonly catalog: CatalogReader;
  readonly names: NameContext;
  /** What constant folding may know. Contextual functions are folded only where it tells their value. */
  readonly eval: EvalContext;
  /** Types that the client stated for `$1` …; undefined: to be inferred. */
  readonly paramTypes?: readonly (SqlType | undefined)[];
  /** Values of `$1` …, of the types that a planning without values inferred. */
  readonly paramValues?: readonly Datum[];
  /** Only types are asked for: parameters without a value stand for NULL, and the plan is not to be run. */
  readonly describe?: boolean;
  /** Whether the result is kept up to date: TopK instead of a finishing, mz_now() as a temporal filter. */
  readonly maintained?: boolean;
  /** Views that the cluster has arranged: they are read through their indexes, all others are their queries. */
  readonly indexedViews?: ((id: GlobalId) => boolean) | undefined;
}

/** Deeper nesting would exhaust the stack before the plan makes sense. */
const MAX_VIEW_DEPTH = 100;

/** What a parameter or an untyped literal is until something decides. */
export const UNKNOWN = type('unknown');
export const isUnknown = (t: SqlType): boolean => t.name === 'unknown';

/** Where an expression stands: its scope and what may stand there. */
export interface ExprEnv {
  readonly context: BindContext;
  readonly scope: Scope;
  /** As error messages call the place: `WHERE`, `JOIN conditions`, `GROUP BY`. */
  readonly clause: string;
  readonly aggregates: boolean;
  readonly setReturning: boolean;
  /** Inside an aggregate's arguments. */
  readonly inAggregate?: boolean;
}

/** A query bound: `rel` may have columns beyond the output's, for the order. Order and limit are not applied yet. */
export interface BoundQuery {
  readonly rel: HRel;
  readonly columns: readonly ScopeColumn[];
  readonly order: readonly HOrder[];
  readonly limit: number | null;
  readonly offset: number;
}
export interface QueryTargets {
  /** Types that the result must have, by assignment casts, where told. */
  readonly types: readonly (SqlType | undefined)[];
  readonly mismatch: (column: number, from: SqlType, to: SqlType, pos: number) => SqlError;
}

/** The two halves of binding, which call each other: given to the context so that no module imports in a circle. */
export interface BindRules {
  readonly expr: (env: ExprEnv, e: Expr) => HExpr;
  readonly query: (
    context: BindContext,
    query: Query,
    parent: Scope | undefined,
    targets?: QueryTargets,
  ) => BoundQuery;
}

export class BindContext {
  readonly options: PlanOptions;
  readonly rules: BindRules;
  readonly ctes: HCte[] = [];
  readonly dependsOn = new Set<GlobalId>();
  /** Names of the contextual functions called. */
  readonly contextual = new Set<string>();
  /** WITH queries whose binding is under way. */
  readonly binding = new Set<CteDef>();
  readonly #paramTypes: (SqlType | undefined)[];
  #nextColumn = 0;
  /** How many views around what is being bound. */
  #depth = 0;

  constructor(options: PlanOptions, rules: BindRules) {
    this.options = options;
    this.rules = rules;
    this.#paramTypes = [...(options.paramTypes ?? [])];
  }

  newColumn(): ColumnId {
    return this.#nextColumn++;
  }

  /** Binds the query of a view: what it reads, the statement itself does not depend on. */
  within<T>(bind: () => T): T {
    if (this.#depth >= MAX_VIEW_DEPTH)
      throw new SqlError('statement_too_complex', `views are nested more than ${MAX_VIEW_DEPTH} deep`);
    this.#depth++;
    try {
      return bind();
    } finally {
      this.#depth--;
    }
  }
  noteRead(id: GlobalId): void {
    if (this.#depth === 0) this.dependsOn.add(id);
  }

  /** The parameter as an expression: of unknown type until a use decides it. */
  parameter(index: number, pos: number): HExpr {
    if (index < 1 || index > 65_535)
      throw new SqlError('undefined_parameter', `there is no parameter $${index}`, { position: pos + 1 });
    while (this.#paramTypes.length < index) this.#paramTypes.push(undefined);
    return { kind: 'parameter', index, type: this.#paramTypes[index - 1] ?? UNKNOWN };
  }

  /** The first use decides; the parameter has that type everywhere. */
  decideParameter(index: number, to: SqlType): SqlType {
    const known = this.#paramTypes[index - 1];
    if (known !== undefined) return known;
    const plain = to.elem === undefined ? type(to.name) : to;
    this.#paramTypes[index - 1] = plain;
    return plain;
  }

  /** Every parameter that stands in the statement; one whose type nothing decided is an error. */
  paramTypes(): readonly SqlType[] {
    return this.#paramTypes.map((t, i) => {
      if (t === undefined)
        throw new SqlError('indeterminate_datatype', `could not determine data type of parameter $${i + 1}`);
      return t;
    });
  }

  /** The relation of that name, noted as read. */
  relation(name: ObjectName): RelationItem {
    const parts = name.parts.map((p) => p.name);
    const position = name.pos + 1;
    if (parts.length > 3)
      throw new SqlError(
        'syntax_error',
        `improper qualified name (too many dotted names): ${parts.join('.')}`,
        { position },
      );
    const item = this.options.catalog.resolve(parts, this.options.names);
    if (item === undefined) throw missingRelation(parts, position);
    if (!isRelation(item))
      throw new SqlError('wrong_object_type', `cannot open relation "${item.name.item}"`, {
        position,
        detail: `This operation is not supported for ${item.kind === 'index' ? 'indexes' : 'sinks'}.`,
      });
    refuseReplacement(item, position);
    return item;
  }
}

/** What is to take another view's place writes nothing before it does. */
export function refuseReplacement(item: RelationItem, position: number | undefined): void {
  if (item.replaces === undefined) return;
  const { item: name } = item.name;
  throw new SqlError(
    'object_not_in_prerequisite_state',
    `"${name}" is a replacement, and has no rows of its own`,
    {
      position,
      hint: `apply it with ALTER MATERIALIZED VIEW … APPLY REPLACEMENT "${name}"`,
    },
  );
}

export function missingRelation(parts: readonly string[], position: number | undefined): SqlError {
  return new SqlError('undefined_table', `relation "${parts.join('.')}" does not exist`, { position });
}

export function notAllowed(what: string, env: ExprEnv, pos: number): SqlError {
  const code =
    what === 'aggregate functions'
      ? 'grouping_error'
      : what === 'window functions'
        ? 'windowing_error'
        : 'feature_not_supported';
  return new SqlError(code, `${what} are not allowed in ${env.clause}`, { position: pos + 1 });
}

/** A query as a relation of exactly its output columns, cut by its LIMIT. */
export function asRelation(bound: BoundQuery): HRel {
  const { rel, columns, order, limit, offset } = bound;
  const cut: HRel =
    limit === null && offset === 0
      ? rel
      : { kind: 'topK', input: rel, groupKey: [], orderBy: order, limit, offset };
  return { kind: 'project', input: cut, columns };
}
