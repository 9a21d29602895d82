/**
 * Definitions with every name written out, so that they mean the same under any search path. Walks the tree as data:
 * a node of kind `table` is a relation's name, unless a WITH query in scope has it.
 */
import {
  type CatalogReader,
  isRelation,
  type NameContext,
  type QualifiedName,
} from '../../catalog/catalog-reader.ts';
import type { Cte, Ident, NamedTable, ObjectName, Query } from '../../sql/ast.ts';

export function qualifiedIdents(name: QualifiedName, pos: number): ObjectName {
  const parts = [name.database, name.schema, name.item].filter((p) => p !== null);
  return { parts: parts.map((p): Ident => ({ name: p, pos })), pos };
}

export function normalizeQuery(query: Query, catalog: CatalogReader, names: NameContext): Query {
  return new Normalizer(catalog, names).query(query, new Set());
}

class Normalizer {
  readonly #catalog: CatalogReader;
  readonly #names: NameContext;

  constructor(catalog: CatalogReader, names: NameContext) {
    this.#catalog = catalog;
    this.#names = names;
  }

  query(q: Query, outer: ReadonlySet<string>): Query {
    const { with: w } = q;
    if (w === undefined || w.kind === 'withMutuallyRecursive') return this.#fields(q, outer);
    const known = new Set(outer);
    if (w.recursive) for (const c of w.ctes) known.add(c.name.name);
    const ctes = w.ctes.map((c): Cte => {
      const inner = this.query(c.query, new Set(known));
      known.add(c.name.name);
      return { ...c, query: inner };
    });
    return { ...this.#fields({ ...q, with: undefined }, known), with: { ...w, ctes } };
  }

  #fields<T extends object>(node: T, ctes: ReadonlySet<string>): T {
    const out: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(node)) out[key] = this.#value(value, ctes);
    return out as T;
  }

  #value(value: unknown, ctes: ReadonlySet<string>): unknown {
    if (Array.isArray(value)) return value.map((v) => this.#value(v, ctes));
    if (typeof value !== 'object' || value === null) return value;
    if ('kind' in value && value.kind === 'query') return this.query(value as Query, ctes);
    if ('kind' in value && value.kind === 'table') return this.#table(value as NamedTable, ctes);
    return this.#fields(value, ctes);
  }

  #table(table: NamedTable, ctes: ReadonlySet<string>): NamedTable {
    const parts = table.name.parts.map((p) => p.name);
    if (parts.length === 1 && ctes.has(parts[0])) return table;
    const item = this.#catalog.resolve(parts, this.#names);
    if (item === undefined || !isRelation(item)) return table;
    return { ...table, name: qualifiedIdents(item.name, table.name.pos) };
  }
}
