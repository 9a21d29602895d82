/**
 * A catalog of a few lines, for tests: `testCatalog({ t: 'a int4, b text not null, key (b)' })`. Also takes views and
 * indexes. Everything lives in `d.public` on cluster `c1` (`quickstart`).
 */
import { assert } from '../base/assert.ts';
import { type ClusterId, type GlobalId, userId } from '../base/ids.ts';
import type {
  CatalogItem,
  CatalogReader,
  ClusterEntry,
  IndexItem,
  NameContext,
  RelationItem,
} from '../catalog/catalog-reader.ts';
import type { ScalarExpr } from '../expr/scalar.ts';
import {
  arrayOf,
  type ColumnDesc,
  type RelationDesc,
  type SqlType,
  type TypeName,
  type,
} from '../repr/types.ts';
import type { Query } from '../sql/ast.ts';

export const TEST_CLUSTER = 'u1' as ClusterId;
export const TEST_NAMES: NameContext = { database: 'd', searchPath: ['public'] };

/** `a int4, b text[] not null, key (a)` */
function parseDesc(text: string): RelationDesc {
  const columns: ColumnDesc[] = [];
  const keys: number[][] = [];
  for (const part of text.split(/,(?![^(]*\))/).map((p) => p.trim())) {
    const key = /^key \((.*)\)$/.exec(part);
    if (key !== null) {
      const names = key[1].split(',').map((n) => n.trim());
      keys.push(names.filter((n) => n !== '').map((n) => columns.findIndex((c) => c.name === n)));
      continue;
    }
    const column = /^(\w+) (\w+)(\[\])?( not null)?$/.exec(part);
    assert(column !== null, `column '${part}' reads name type [not null]`);
    const [, name, typeName, array, notNull] = column;
    const base: SqlType = type(typeName as TypeName);
    columns.push({ name, type: array === undefined ? base : arrayOf(base), nullable: notNull === undefined });
  }
  return { columns, keys };
}

export class TestCatalog implements CatalogReader {
  readonly #items: CatalogItem[] = [];
  #next = 1;

  constructor(tables: Readonly<Record<string, string>> = {}) {
    for (const [name, text] of Object.entries(tables)) this.table(name, text);
  }

  #base(name: string) {
    const n = this.#next++;
    const id = userId(n);
    const qualified = { database: 'd', schema: 'public', item: name };
    return { id, oid: 20_000 + n, name: qualified, createSql: '', dependsOn: [] as GlobalId[] };
  }
  #add<T extends CatalogItem>(item: T): T {
    this.#items.push(item);
    return item;
  }

  table(name: string, text: string, defaults: readonly (ScalarExpr | null)[] = []): RelationItem {
    const desc = parseDesc(text);
    return this.#add({
      ...this.#base(name),
      kind: 'table',
      desc,
      defaults: desc.columns.map((_, i) => defaults[i] ?? null),
    });
  }
  view(name: string, text: string, query: Query): RelationItem {
    return this.#add({ ...this.#base(name), kind: 'view', desc: parseDesc(text), query });
  }
  relation(name: string, kind: RelationItem['kind'], text: string): RelationItem {
    return this.#add({ ...this.#base(name), kind, desc: parseDesc(text) });
  }
  index(name: string, on: string, keys: readonly number[]): IndexItem {
    const of = this.get(on);
    return this.#add({
      ...this.#base(name),
      kind: 'index',
      on: of.id,
      cluster: TEST_CLUSTER,
      keysNullable: keys.map((k) => of.desc.columns[k].nullable),
      keys: keys.map((k) => ({ kind: 'column', index: k, type: of.desc.columns[k].type })),
    });
  }
  get(name: string): RelationItem {
    const found = this.#items.find((i) => i.name.item === name);
    assert(
      found !== undefined && found.kind !== 'index' && found.kind !== 'sink',
      `relation ${name} is declared`,
    );
    return found;
  }

  resolve(parts: readonly string[]): CatalogItem | undefined {
    const [item, schema = 'public', database = 'd'] = [...parts].reverse();
    if (schema !== 'public' || database !== 'd') return undefined;
    return this.#items.find((i) => i.name.item === item);
  }
  hasSchema(parts: readonly string[]): boolean {
    return this.schemaOid(parts) !== undefined;
  }
  schemaOid(parts: readonly string[]): number | undefined {
    return parts[parts.length - 1] === 'public' ? 2200 : undefined;
  }
  item(id: GlobalId): CatalogItem | undefined {
    return this.#items.find((i) => i.id === id);
  }
  exportOf(id: GlobalId): GlobalId {
    return id;
  }
  indexesOn(id: GlobalId): readonly IndexItem[] {
    return this.#items.filter((i): i is IndexItem => i.kind === 'index' && i.on === id);
  }
  items(): Iterable<CatalogItem> {
    return this.#items;
  }
  cluster(name: string): ClusterEntry | undefined {
    return name === 'quickstart' ? QUICKSTART : undefined;
  }
  clusterById(id: ClusterId): ClusterEntry | undefined {
    return id === TEST_CLUSTER ? QUICKSTART : undefined;
  }
  clusters(): Iterable<ClusterEntry> {
    return [QUICKSTART];
  }
}

const QUICKSTART: ClusterEntry = {
  id: TEST_CLUSTER,
  name: 'quickstart',
  replicas: [],
};
