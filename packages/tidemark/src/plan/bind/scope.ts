/**
 * What names mean at a place of a query: the tables of FROM, the columns that stand without a qualifier (USING columns
 * merged), the WITH queries, and the queries around. Lookup is PostgreSQL's, its errors included.
 */
import { SqlError } from '../../base/error.ts';
import type { SqlType } from '../../repr/types.ts';
import type { ObjectName, Query } from '../../sql/ast.ts';
import type { ColumnId, HAggregate, HExpr, HRel } from '../hir.ts';

export interface ScopeColumn {
  readonly name: string;
  readonly id: ColumnId;
  readonly type: SqlType;
  readonly nullable: boolean;
}
export interface ScopeTable {
  readonly alias: string;
  readonly schema: string | undefined;
  readonly columns: readonly ScopeColumn[];
  /** Of a join's far side under RIGHT or FULL: visible to error messages alone. */
  readonly unreachable?: string;
}
/** A part of FROM: the relation, its tables and the columns of `*` and of plain names. */
export interface FromItem {
  readonly rel: HRel;
  readonly tables: readonly ScopeTable[];
  readonly visible: readonly ScopeColumn[];
}

export interface CteDef {
  readonly name: string;
  readonly query: Query;
  readonly columns: readonly string[];
  /** Where its own names are looked up. */
  readonly scope: Scope;
  /** Bound once if it stands alone; a correlated one is bound again at each use. */
  shared?: { readonly cte: number; readonly columns: readonly ScopeColumn[] };
}

/** A set-returning call of the select list, computed beside the rows after grouping. */
export interface SetReturningCall {
  readonly func: string;
  readonly args: readonly HExpr[];
  readonly column: { readonly id: ColumnId; readonly type: SqlType; readonly nullable: boolean };
}

interface WrittenColumn {
  readonly text: string;
  readonly pos: number;
}

export class Scope {
  readonly parent: Scope | undefined;
  readonly ctes = new Map<string, CteDef>();
  tables: readonly ScopeTable[] = [];
  visible: readonly ScopeColumn[] = [];
  /** There, and out of reach. */
  hidden: readonly ScopeTable[] = [];
  /** Calls that belong to this query, in the order of their binding. */
  readonly aggregates: HAggregate[] = [];
  readonly aggregateKeys = new Map<string, ColumnId>();
  readonly setReturning: SetReturningCall[] = [];
  /** Where a column was first read outside of aggregates, and where by a subquery: for errors about grouping. */
  readonly written = new Map<ColumnId, WrittenColumn>();
  readonly writtenInside = new Map<ColumnId, WrittenColumn>();

  constructor(parent: Scope | undefined) {
    this.parent = parent;
  }

  /** The columns that FROM yields. */
  ownColumns(): ReadonlySet<ColumnId> {
    return new Set([...this.visible, ...this.tables.flatMap((t) => t.columns)].map((c) => c.id));
  }

  noteWritten(column: ScopeColumn, pos: number, inside = false): void {
    const into = inside ? this.writtenInside : this.written;
    if (into.has(column.id)) return;
    const table = this.tables.find((t) => t.columns.some((c) => c.id === column.id));
    into.set(column.id, { text: table === undefined ? column.name : `${table.alias}.${column.name}`, pos });
  }

  cte(name: string): CteDef | undefined {
    return this.ctes.get(name) ?? this.parent?.cte(name);
  }

  setFrom(item: { readonly tables: readonly ScopeTable[]; readonly visible: readonly ScopeColumn[] }): void {
    this.tables = item.tables;
    this.visible = item.visible;
  }
}

export type Found =
  | { readonly kind: 'column'; readonly column: ScopeColumn; readonly scope: Scope }
  | { readonly kind: 'table'; readonly table: ScopeTable; readonly scope: Scope };

/** A column, or a whole row for a lone table name. */
export function lookup(scope: Scope, name: ObjectName): Found {
  const parts = name.parts.map((p) => p.name);
  return parts.length === 1 ? unqualified(scope, parts[0], name.pos) : qualified(scope, parts, name.pos);
}

function unqualified(start: Scope, name: string, pos: number): Found {
  for (let scope: Scope | undefined = start; scope !== undefined; scope = scope.parent) {
    const found = scope.visible.filter((c) => c.name === name);
    if (found.length > 1)
      throw new SqlError('ambiguous_column', `column reference "${name}" is ambiguous`, {
        position: pos + 1,
      });
    if (found.length === 1) return { kind: 'column', column: found[0], scope };
  }
  for (let scope: Scope | undefined = start; scope !== undefined; scope = scope.parent) {
    const table = scope.tables.find((t) => t.alias === name);
    if (table !== undefined) return { kind: 'table', table, scope };
  }
  throw new SqlError('undefined_column', `column "${name}" does not exist`, {
    position: pos + 1,
    hint: similarColumn(start, name),
  });
}

function qualified(start: Scope, parts: readonly string[], pos: number): Found {
  const name = parts[parts.length - 1];
  const { table, scope } = findTable(start, parts.slice(0, -1), pos);
  const found = table.columns.filter((c) => c.name === name);
  if (found.length > 1)
    throw new SqlError('ambiguous_column', `column reference "${name}" is ambiguous`, { position: pos + 1 });
  if (found.length === 0)
    throw new SqlError('undefined_column', `column ${parts.join('.')} does not exist`, {
      position: pos + 1,
      hint: similarColumn(start, name, table),
    });
  return { kind: 'column', column: found[0], scope };
}

/** A table of FROM by its alias, also in the queries around. */
export function findTable(
  start: Scope,
  parts: readonly string[],
  pos: number,
): { readonly table: ScopeTable; readonly scope: Scope } {
  const alias = parts[parts.length - 1];
  const schema = parts.length > 1 ? parts[parts.length - 2] : undefined;
  for (let scope: Scope | undefined = start; scope !== undefined; scope = scope.parent) {
    const found = scope.tables.filter(
      (t) => t.alias === alias && (schema === undefined || t.schema === schema),
    );
    if (found.length > 1)
      throw new SqlError('ambiguous_alias', `table reference "${alias}" is ambiguous`, { position: pos + 1 });
    if (found.length === 1) {
      if (found[0].unreachable !== undefined)
        throw new SqlError(
          'invalid_column_reference',
          `invalid reference to FROM-clause entry for table "${alias}"`,
          {
            position: pos + 1,
            detail: found[0].unreachable,
          },
        );
      return { table: found[0], scope };
    }
  }
  for (let scope: Scope | undefined = start; scope !== undefined; scope = scope.parent)
    if (scope.hidden.some((t) => t.alias === alias))
      throw new SqlError('undefined_table', `invalid reference to FROM-clause entry for table "${alias}"`, {
        position: pos + 1,
        detail: `There is an entry for table "${alias}", but it cannot be referenced from this part of the query.`,
        hint: 'To reference that table, you must mark this subquery with LATERAL.',
      });
  throw new SqlError('undefined_table', `missing FROM-clause entry for table "${alias}"`, {
    position: pos + 1,
  });
}

/** The nearest name within PostgreSQL's distance, as its hint says it. */
function similarColumn(start: Scope, name: string, only?: ScopeTable): string | undefined {
  let best: { text: string; distance: number } | undefined;
  let tie = false;
  for (let scope: Scope | undefined = start; scope !== undefined; scope = scope.parent)
    for (const table of only === undefined ? scope.tables : [only])
      for (const c of table.columns) {
        const distance = editDistance(name, c.name);
        if (distance > Math.min(3, name.length / 2) || distance > c.name.length / 2) continue;
        const text = `"${table.alias}.${c.name}"`;
        if (best === undefined || distance < best.distance) {
          best = { text, distance };
          tie = false;
        } else if (distance === best.distance && text !== best.text) tie = true;
      }
  return best === undefined || tie ? undefined : `Perhaps you meant to reference the column ${best.text}.`;
}

/** Levenshtein, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length];
}
