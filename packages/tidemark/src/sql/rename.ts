/**
 * New names in a stored definition, in which every name is written out (database, schema, object). An object's own name as a qualifier
 * of columns stays: the table it stands for gets the old name as its alias.
 */
import type { ColumnExpr, Ident, NamedTable, ObjectName, WildcardExpr } from './ast.ts';
import type { Statement } from './ast-statement.ts';
import { parseStatement } from './parse.ts';
import { printStatement } from './print.ts';

/** Database, schema, object. */
export type FullName = readonly [string, string, string];

export interface Renames {
  /** By the old name. */
  readonly objects: readonly { readonly from: FullName; readonly to: FullName }[];
  readonly clusters: ReadonlyMap<string, string>;
}

export function renameIn(sql: string, renames: Renames): string {
  return printStatement(new Renaming(renames).statement(parseStatement(sql)));
}

const parts = (name: ObjectName): readonly string[] => name.parts.map((p) => p.name);

class Renaming {
  readonly #r: Renames;

  constructor(renames: Renames) {
    this.#r = renames;
  }

  statement(s: Statement): Statement {
    const out = this.#fields(s);
    // An index is named within the schema of what it is on.
    if (s.kind === 'createIndex' && s.name !== undefined) {
      const full = { ...s.on, parts: [...s.on.parts.slice(0, -1), s.name] };
      return { ...this.#cluster(out), name: this.#object(full).parts.at(-1) } as Statement;
    }
    return this.#cluster(out);
  }

  #cluster<S extends Statement>(s: S): S {
    if (!('cluster' in s) || s.cluster === undefined || !('name' in s.cluster)) return s;
    const { cluster } = s;
    return { ...s, cluster: { ...cluster, name: this.#r.clusters.get(cluster.name) ?? cluster.name } };
  }

  #fields<T extends object>(node: T): T {
    const out: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(node)) out[key] = this.#value(value);
    return out as T;
  }

  #value(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((v) => this.#value(v));
    if (typeof value !== 'object' || value === null) return value;
    if ('kind' in value && value.kind === 'table') return this.#table(value as NamedTable);
    if ('kind' in value && value.kind === 'column')
      return { ...value, name: this.#column((value as ColumnExpr).name) };
    if ('kind' in value && value.kind === 'wildcard') {
      const { qualifier } = value as WildcardExpr;
      return qualifier === undefined ? value : { ...value, qualifier: this.#qualifier(qualifier) };
    }
    if ('parts' in value) return this.#object(value as ObjectName);
    return this.#fields(value);
  }

  #renamed(name: ObjectName): FullName | undefined {
    const [database, schema, item] = parts(name);
    return this.#r.objects.find(
      ({ from }) => name.parts.length === 3 && from[0] === database && from[1] === schema && from[2] === item,
    )?.to;
  }

  #object(name: ObjectName): ObjectName {
    const to = this.#renamed(name);
    return to === undefined ? name : { ...name, parts: to.map((n): Ident => ({ name: n, pos: name.pos })) };
  }

  #table(t: NamedTable): NamedTable {
    const to = this.#renamed(t.name);
    const own = t.name.parts[2];
    if (to === undefined || own === undefined) return t;
    const alias = t.alias ?? (to[2] === own.name ? undefined : { name: own, columns: [], pos: t.pos });
    return { ...t, name: this.#object(t.name), alias };
  }

  #column(name: ObjectName): ObjectName {
    if (name.parts.length < 3) return name;
    const qualifier = this.#qualifier({ ...name, parts: name.parts.slice(0, -1) });
    return { ...name, parts: [...qualifier.parts, name.parts.at(-1)!] };
  }

  /** `schema.table` before a column, with or without its database: the alias, where the table has got one now. */
  #qualifier(name: ObjectName): ObjectName {
    const at = 3 - name.parts.length;
    const found = this.#r.objects.find(({ from }) => parts(name).every((q, i) => q === from[at + i]));
    if (at > 1 || found === undefined) return name;
    const { from, to } = found;
    const now = from[2] === to[2] ? to.slice(at) : [from[2]];
    return { ...name, parts: now.map((n): Ident => ({ name: n, pos: name.pos })) };
  }
}
