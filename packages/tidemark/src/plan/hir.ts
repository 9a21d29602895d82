/**
 * HIR: a statement with every name and type bound, subqueries still nested. Columns are unique numbers within one
 * planning, not positions, so that a correlated reference is simply a number that the subquery does not produce:
 * `freeColumns` is the whole notion of correlation.
 */
import type { GlobalId } from '../base/ids.ts';
import type { RowError } from '../expr/scalar.ts';
import type { Datum, SqlType } from '../repr/types.ts';

export type ColumnId = number;

export interface HColumn {
  readonly id: ColumnId;
  readonly type: SqlType;
  readonly nullable: boolean;
}

export type HExpr =
  | { readonly kind: 'column'; readonly id: ColumnId; readonly type: SqlType }
  | { readonly kind: 'literal'; readonly value: Datum; readonly type: SqlType }
  /** A statement parameter; its value is put in by decorrelation. `type` is `unknown` until something decides it. */
  | { readonly kind: 'parameter'; readonly index: number; readonly type: SqlType }
  | { readonly kind: 'call'; readonly func: string; readonly args: readonly HExpr[]; readonly type: SqlType }
  | {
      readonly kind: 'and' | 'or' | 'if' | 'coalesce';
      readonly args: readonly HExpr[];
      readonly type: SqlType;
    }
  | { readonly kind: 'error'; readonly error: RowError; readonly type: SqlType }
  /** The one column of the one row; NULL for none, an error for more. */
  | { readonly kind: 'scalarQuery'; readonly rel: HRel; readonly type: SqlType }
  | { readonly kind: 'existsQuery'; readonly rel: HRel; readonly type: SqlType }
  /** TRUE if `condition` (over the columns of `rel` and those outside) is TRUE for a row, else NULL if NULL for one, else FALSE. */
  | { readonly kind: 'anyQuery'; readonly rel: HRel; readonly condition: HExpr; readonly type: SqlType };

export interface HAggregate {
  readonly id: ColumnId;
  readonly func: string;
  readonly args: readonly HExpr[];
  readonly distinct: boolean;
  readonly filter: HExpr | undefined;
  readonly orderBy: readonly {
    readonly expr: HExpr;
    readonly desc: boolean;
    readonly nullsFirst: boolean;
  }[];
  readonly type: SqlType;
}

export interface HOrder {
  readonly id: ColumnId;
  readonly desc: boolean;
  readonly nullsFirst: boolean;
}

export type HRel =
  /** Rows of expressions that read only what is outside. */
  | {
      readonly kind: 'values';
      readonly columns: readonly HColumn[];
      readonly rows: readonly (readonly HExpr[])[];
    }
  | {
      readonly kind: 'get';
      readonly id: GlobalId;
      readonly columns: readonly HColumn[];
      readonly keys: readonly (readonly number[])[];
    }
  /** A use of a WITH query; `columns` are this use's own. */
  | { readonly kind: 'cte'; readonly cte: number; readonly columns: readonly HColumn[] }
  | {
      readonly kind: 'map';
      readonly input: HRel;
      readonly exprs: readonly { readonly column: HColumn; readonly expr: HExpr }[];
    }
  | { readonly kind: 'filter'; readonly input: HRel; readonly predicate: HExpr }
  /** Exactly these columns, in this order; an id may stand twice only under different ids (see `map`). */
  | { readonly kind: 'project'; readonly input: HRel; readonly columns: readonly HColumn[] }
  /** `right` may read the columns of `left` (LATERAL): for inner and left joins. */
  | {
      readonly kind: 'join';
      readonly type: 'inner' | 'left' | 'right' | 'full';
      readonly left: HRel;
      readonly right: HRel;
      readonly on: HExpr | undefined;
    }
  | {
      readonly kind: 'tableFunction';
      readonly func: string;
      readonly args: readonly HExpr[];
      readonly columns: readonly HColumn[];
      readonly ordinality: HColumn | undefined;
    }
  /** No key and no key list (`global`): one row also for an empty input. */
  | {
      readonly kind: 'reduce';
      readonly input: HRel;
      readonly key: readonly { readonly column: HColumn; readonly expr: HExpr }[];
      readonly aggregates: readonly HAggregate[];
      readonly global: boolean;
    }
  | { readonly kind: 'distinct'; readonly input: HRel }
  | {
      readonly kind: 'topK';
      readonly input: HRel;
      readonly groupKey: readonly ColumnId[];
      readonly orderBy: readonly HOrder[];
      readonly limit: number | null;
      readonly offset: number;
    }
  /** Columns by position; `columns` are new. */
  | {
      readonly kind: 'setOp';
      readonly op: 'union' | 'intersect' | 'except';
      readonly all: boolean;
      readonly left: HRel;
      readonly right: HRel;
      readonly columns: readonly HColumn[];
    };

export interface HCte {
  readonly cte: number;
  readonly rel: HRel;
}

/** Output columns, in order. */
export function relColumns(rel: HRel): readonly HColumn[] {
  switch (rel.kind) {
    case 'values':
    case 'get':
    case 'cte':
    case 'project':
    case 'setOp':
      return rel.columns;
    case 'tableFunction':
      return rel.ordinality === undefined ? rel.columns : [...rel.columns, rel.ordinality];
    case 'map':
      return [...relColumns(rel.input), ...rel.exprs.map((e) => e.column)];
    case 'filter':
    case 'distinct':
    case 'topK':
      return relColumns(rel.input);
    case 'join': {
      const optional = (columns: readonly HColumn[], is: boolean): readonly HColumn[] =>
        is ? columns.map((c) => ({ ...c, nullable: true })) : columns;
      return [
        ...optional(relColumns(rel.left), rel.type === 'right' || rel.type === 'full'),
        ...optional(relColumns(rel.right), rel.type === 'left' || rel.type === 'full'),
      ];
    }
    case 'reduce':
      return [
        ...rel.key.map((k) => k.column),
        ...rel.aggregates.map((a) => ({ id: a.id, type: a.type, nullable: true })),
      ];
  }
}

const inputsOf = (rel: HRel): readonly HRel[] =>
  'input' in rel ? [rel.input] : 'left' in rel ? [rel.left, rel.right] : [];

/** The expressions that stand in the node itself. */
function ownExprs(rel: HRel): readonly HExpr[] {
  switch (rel.kind) {
    case 'values':
      return rel.rows.flat();
    case 'map':
      return rel.exprs.map((e) => e.expr);
    case 'filter':
      return [rel.predicate];
    case 'join':
      return rel.on === undefined ? [] : [rel.on];
    case 'tableFunction':
      return rel.args;
    case 'reduce':
      return [
        ...rel.key.map((k) => k.expr),
        ...rel.aggregates.flatMap((a) => [
          ...a.args,
          ...(a.filter === undefined ? [] : [a.filter]),
          ...a.orderBy.map((o) => o.expr),
        ]),
      ];
    default:
      return [];
  }
}

export const exprArgs = (e: HExpr): readonly HExpr[] => ('args' in e ? e.args : []);

function produced(rel: HRel, into: Set<ColumnId>): void {
  for (const input of inputsOf(rel)) produced(input, into);
  for (const c of relColumns(rel)) into.add(c.id);
}
function referenced(rel: HRel, into: Set<ColumnId>): void {
  for (const input of inputsOf(rel)) referenced(input, into);
  for (const e of ownExprs(rel)) for (const id of exprColumns(e)) into.add(id);
}

const freeCache = new WeakMap<HRel, ReadonlySet<ColumnId>>();
/** Columns that the relation reads from outside. */
export function freeColumns(rel: HRel): ReadonlySet<ColumnId> {
  let free = freeCache.get(rel);
  if (free === undefined) {
    const own = new Set<ColumnId>();
    const refs = new Set<ColumnId>();
    produced(rel, own);
    referenced(rel, refs);
    free = new Set([...refs].filter((id) => !own.has(id)));
    freeCache.set(rel, free);
  }
  return free;
}

/** Columns that the expression reads, those of its subqueries' outside included. */
export function exprColumns(e: HExpr, into: Set<ColumnId> = new Set()): Set<ColumnId> {
  if (e.kind === 'column') into.add(e.id);
  for (const a of exprArgs(e)) exprColumns(a, into);
  if ('rel' in e) {
    for (const id of freeColumns(e.rel)) into.add(id);
    if (e.kind === 'anyQuery') {
      const own = new Set(relColumns(e.rel).map((c) => c.id));
      for (const id of exprColumns(e.condition)) if (!own.has(id)) into.add(id);
    }
  }
  return into;
}

export const hasSubquery = (e: HExpr): boolean => 'rel' in e || exprArgs(e).some(hasSubquery);
