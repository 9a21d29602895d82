/**
 * MIR: the relational plan after decorrelation and the language of the optimiser. Immutable plain data; scalars are
 * `ScalarExpr` over column positions of the node's input. A collection is a multiset with signed multiplicities.
 *
 * - `Join` equivalences are byte equality, NULL equal to NULL: who plans SQL's `=` adds IS NOT NULL filters.
 * - `Reduce` yields no row for an empty input, also without a key; who wants SQL's global aggregate adds the default row.
 * - What a kind of node is (children, columns, keys, text) stands once, in `NODES`; passes ask the table.
 */
import type { GlobalId } from '../base/ids.ts';
import { printScalar } from '../expr/expr-tree.ts';
import { aggregateById } from '../expr/registry.ts';
import type { AggregateExpr, OrderKey, RowError, ScalarExpr } from '../expr/scalar.ts';
import { isNullable } from '../expr/simplify.ts';
import type { Row, SqlType } from '../repr/types.ts';
import { joinKeys, type Keys, minimalKeys } from './mir-keys.ts';
import { plainText } from './plain-text.ts';
import { printAggregate, printOrder } from './print-scalar.ts';
import { fixedColumn, provesNotNull } from './scalar-facts.ts';

/** A column of a node's output. */
export interface Column {
  readonly type: SqlType;
  readonly nullable: boolean;
}

export interface MirConstant {
  readonly op: 'Constant';
  readonly columns: readonly Column[];
  readonly rows: readonly { readonly row: Row; readonly diff: number }[] | { readonly error: RowError };
}
export interface MirGet {
  readonly op: 'Get';
  readonly id: GlobalId;
  readonly columns: readonly Column[];
  readonly keys: Keys;
}
export interface MirLocalGet {
  readonly op: 'LocalGet';
  readonly local: number;
  readonly columns: readonly Column[];
  readonly keys: Keys;
}
export interface MirLet {
  readonly op: 'Let';
  readonly local: number;
  readonly value: Mir;
  readonly body: Mir;
}
/** Bindings that may read each other and themselves. The binder refuses what would make one (see bind/unsupported.ts). */
export interface MirLetRec {
  readonly op: 'LetRec';
  readonly bindings: readonly {
    readonly local: number;
    readonly value: Mir;
    readonly columns: readonly Column[];
  }[];
  readonly limit: { readonly count: number; readonly then: 'error' | 'return' } | null;
  readonly body: Mir;
}
export interface MirProject {
  readonly op: 'Project';
  readonly input: Mir;
  readonly outputs: readonly number[];
}
/** Appends columns; each expression may read the input's columns and those appended before it. */
export interface MirMap {
  readonly op: 'Map';
  readonly input: Mir;
  readonly exprs: readonly ScalarExpr[];
}
export interface MirFilter {
  readonly op: 'Filter';
  readonly input: Mir;
  readonly predicates: readonly ScalarExpr[];
}
export interface MirFlatMap {
  readonly op: 'FlatMap';
  readonly input: Mir;
  readonly func: string;
  readonly args: readonly ScalarExpr[];
  /** Of the function, and the number of the row within its call if `ordinality`. */
  readonly columns: readonly Column[];
  readonly ordinality?: true;
}
export interface MirJoin {
  readonly op: 'Join';
  readonly inputs: readonly Mir[];
  /** Classes of expressions over the inputs' columns laid end to end, each over one input. */
  readonly equivalences: readonly (readonly ScalarExpr[])[];
}
export interface MirReduce {
  readonly op: 'Reduce';
  readonly input: Mir;
  readonly key: readonly ScalarExpr[];
  readonly aggregates: readonly AggregateExpr[];
}
export interface MirTopK {
  readonly op: 'TopK';
  readonly input: Mir;
  readonly groupKey: readonly number[];
  readonly orderBy: readonly OrderKey[];
  readonly limit: number | null;
  readonly offset: number;
}
export interface MirNegate {
  readonly op: 'Negate';
  readonly input: Mir;
}
export interface MirThreshold {
  readonly op: 'Threshold';
  readonly input: Mir;
}
/** At least one input. */
export interface MirUnion {
  readonly op: 'Union';
  readonly inputs: readonly Mir[];
}
export interface MirArrangeBy {
  readonly op: 'ArrangeBy';
  readonly input: Mir;
  readonly keys: readonly (readonly number[])[];
}

export type Mir =
  | MirConstant
  | MirGet
  | MirLocalGet
  | MirLet
  | MirLetRec
  | MirProject
  | MirMap
  | MirFilter
  | MirFlatMap
  | MirJoin
  | MirReduce
  | MirTopK
  | MirNegate
  | MirThreshold
  | MirUnion
  | MirArrangeBy;
export type MirOp = Mir['op'];
type MirOf<K extends MirOp> = Extract<Mir, { op: K }>;

export interface ExplainNames {
  readonly nameOf: (id: GlobalId) => string;
}

interface NodeKind<N> {
  readonly children: (node: N) => readonly Mir[];
  /** The same node over other children, as many as before. */
  readonly withChildren: (node: N, children: readonly Mir[]) => Mir;
  readonly columns: (node: N, inputs: readonly (readonly Column[])[]) => readonly Column[];
  readonly keys: (node: N, inputs: readonly Keys[]) => Keys;
  readonly explain: (node: N, names: ExplainNames) => string;
}

const cols = (list: readonly number[]): string => list.map((c) => `#${c}`).join(', ');
const exprs = (list: readonly ScalarExpr[]): string => list.map((e) => printScalar(e)).join(', ');

const passThrough = {
  columns: (_: unknown, [input]: readonly (readonly Column[])[]): readonly Column[] => input,
  keys: (_: unknown, [input]: readonly Keys[]): Keys => input,
};

/** What each kind of node is. */
const NODES: { readonly [K in MirOp]: NodeKind<MirOf<K>> } = {
  Constant: {
    children: () => [],
    withChildren: (n) => n,
    columns: (n) => n.columns,
    keys: (n) =>
      !('error' in n.rows) && (n.rows.length === 0 || (n.rows.length === 1 && n.rows[0].diff === 1))
        ? [[]]
        : [],
    explain: (n) =>
      'error' in n.rows
        ? `Error ${JSON.stringify(n.rows.error.message)}`
        : n.rows.length === 0
          ? 'Constant <empty>'
          : `Constant ${n.rows.map(({ row, diff }) => printRow(row, n.columns) + (diff === 1 ? '' : ` × ${diff}`)).join(', ')}`,
  },
  Get: {
    children: () => [],
    withChildren: (n) => n,
    columns: (n) => n.columns,
    keys: (n) => n.keys,
    explain: (n, names) => `Get ${names.nameOf(n.id)}`,
  },
  LocalGet: {
    children: () => [],
    withChildren: (n) => n,
    columns: (n) => n.columns,
    keys: (n) => n.keys,
    explain: (n) => `Get l${n.local}`,
  },
  Let: {
    children: (n) => [n.value, n.body],
    withChildren: (n, [value, body]) => ({ ...n, value, body }),
    columns: (_, [, body]) => body,
    keys: (_, [, body]) => body,
    explain: (n) => `Let l${n.local}`,
  },
  LetRec: {
    children: (n) => [...n.bindings.map((b) => b.value), n.body],
    withChildren: (n, children) => ({
      ...n,
      bindings: n.bindings.map((b, i) => ({ ...b, value: children[i] })),
      body: children[n.bindings.length],
    }),
    columns: (n, inputs) => inputs[n.bindings.length],
    keys: (n, inputs) => inputs[n.bindings.length],
    explain: (n) => `LetRec ${n.bindings.map((b) => `l${b.local}`).join(', ')}`,
  },
  Project: {
    children: (n) => [n.input],
    withChildren: (n, [input]) => ({ ...n, input }),
    columns: (n, [input]) => n.outputs.map((c) => input[c]),
    keys: (n, [input]) =>
      input
        .filter((k) => k.every((c) => n.outputs.includes(c)))
        .map((k) => k.map((c) => n.outputs.indexOf(c))),
    explain: (n) => `Project (${cols(n.outputs)})`,
  },
  Map: {
    children: (n) => [n.input],
    withChildren: (n, [input]) => ({ ...n, input }),
    columns: (n, [input]) => {
      const all = [...input];
      for (const e of n.exprs) all.push({ type: e.type, nullable: isNullable(e, all) });
      return all;
    },
    keys: (_, [input]) => input,
    explain: (n) => `Map (${exprs(n.exprs)})`,
  },
  Filter: {
    children: (n) => [n.input],
    withChildren: (n, [input]) => ({ ...n, input }),
    columns: (n, [input]) => {
      const known = new Set(n.predicates.flatMap((p) => [...provesNotNull(p)]));
      return known.size === 0 ? input : input.map((c, i) => (known.has(i) ? { ...c, nullable: false } : c));
    },
    keys: (n, [input]) => {
      const fixed = new Set(n.predicates.flatMap((p) => fixedColumn(p) ?? []));
      return fixed.size === 0 ? input : minimalKeys(input.map((k) => k.filter((c) => !fixed.has(c))));
    },
    explain: (n) => `Filter ${n.predicates.map((p) => printScalar(p)).join(' AND ')}`,
  },
  FlatMap: {
    children: (n) => [n.input],
    withChildren: (n, [input]) => ({ ...n, input }),
    columns: (n, [input]) => [...input, ...n.columns],
    keys: () => [],
    explain: (n) => `FlatMap ${n.func}(${exprs(n.args)})${n.ordinality ? ' with ordinality' : ''}`,
  },
  Join: {
    children: (n) => n.inputs,
    withChildren: (n, inputs) => ({ ...n, inputs }),
    columns: (_, inputs) => inputs.flat(),
    keys: (n, inputs) =>
      joinKeys(
        n.equivalences,
        inputs,
        n.inputs.map((i) => columnsOf(i).length),
      ),
    explain: (n) =>
      n.equivalences.length === 0
        ? 'CrossJoin'
        : `Join on=(${n.equivalences.map((c) => c.map((e) => printScalar(e)).join(' = ')).join(' AND ')})`,
  },
  Reduce: {
    children: (n) => [n.input],
    withChildren: (n, [input]) => ({ ...n, input }),
    columns: (n, [input]) => [
      ...n.key.map((e) => ({ type: e.type, nullable: isNullable(e, input) })),
      ...n.aggregates.map((a) => ({ type: a.type, nullable: aggregateById(a.func).nullable })),
    ],
    keys: (n) => [n.key.map((_, i) => i)],
    explain: (n) =>
      n.aggregates.length === 0
        ? `Distinct project=[${exprs(n.key)}]`
        : `Reduce group_by=[${exprs(n.key)}] aggregates=[${n.aggregates.map(printAggregate).join(', ')}]`,
  },
  TopK: {
    children: (n) => [n.input],
    withChildren: (n, [input]) => ({ ...n, input }),
    columns: passThrough.columns,
    keys: (n, [input]) => (n.limit === 1 ? minimalKeys([...input, n.groupKey]) : input),
    explain: (n) =>
      `TopK${n.groupKey.length > 0 ? ` group_by=[${cols(n.groupKey)}]` : ''}${
        n.orderBy.length > 0 ? ` order_by=[${n.orderBy.map(printOrder).join(', ')}]` : ''
      }${n.limit === null ? '' : ` limit=${n.limit}`}${n.offset === 0 ? '' : ` offset=${n.offset}`}`,
  },
  Negate: {
    children: (n) => [n.input],
    withChildren: (n, [input]) => ({ ...n, input }),
    ...passThrough,
    keys: () => [],
    explain: () => 'Negate',
  },
  Threshold: {
    children: (n) => [n.input],
    withChildren: (n, [input]) => ({ ...n, input }),
    ...passThrough,
    explain: () => 'Threshold',
  },
  Union: {
    children: (n) => n.inputs,
    withChildren: (n, inputs) => ({ ...n, inputs }),
    columns: (_, inputs) =>
      inputs[0].map((c, i) => ({ type: c.type, nullable: inputs.some((input) => input[i].nullable) })),
    // Subtracting from a set with a key leaves the key only if nothing goes below zero, as in antijoins: see `isAntijoin`.
    keys: (n, inputs) => (n.inputs.length === 2 && isAntijoin(n) ? inputs[0] : []),
    explain: () => 'Union',
  },
  ArrangeBy: {
    children: (n) => [n.input],
    withChildren: (n, [input]) => ({ ...n, input }),
    ...passThrough,
    explain: (n) => `ArrangeBy keys=[${n.keys.map((k) => `[${cols(k)}]`).join(', ')}]`,
  },
};

function printRow(row: Row, columns: readonly Column[]): string {
  return `(${row.map((value, i) => printScalar({ kind: 'literal', value, type: columns[i].type })).join(', ')})`;
}

/** `a − (a ⋈ something with at most one match)`: what decorrelation writes for the rows without a partner. */
function isAntijoin(n: MirUnion): boolean {
  const [kept, taken] = n.inputs;
  if (taken.op !== 'Negate') return false;
  const from = taken.input.op === 'Project' ? taken.input.input : taken.input;
  return from.op === 'Join' && sameMir(from.inputs[0], kept) && isPrefix(taken.input, kept);
}
function isPrefix(taken: Mir, kept: Mir): boolean {
  if (taken.op !== 'Project') return false;
  return taken.outputs.length === columnsOf(kept).length && taken.outputs.every((c, i) => c === i);
}

// ---- Asking a node

type AnyKind = NodeKind<Mir>;
const kindOf = (node: Mir): AnyKind => NODES[node.op] as unknown as AnyKind;

export const childrenOf = (node: Mir): readonly Mir[] => kindOf(node).children(node);
export const explainNode = (node: Mir, names: ExplainNames): string => kindOf(node).explain(node, names);

const columnCache = new WeakMap<Mir, readonly Column[]>();
/** Cached by node: nodes are immutable. */
export function columnsOf(node: Mir): readonly Column[] {
  let found = columnCache.get(node);
  if (found === undefined) {
    found = kindOf(node).columns(node, childrenOf(node).map(columnsOf));
    columnCache.set(node, found);
  }
  return found;
}
export const arityOf = (node: Mir): number => columnsOf(node).length;

const keyCache = new WeakMap<Mir, Keys>();
export function keysOf(node: Mir): Keys {
  let found = keyCache.get(node);
  if (found === undefined) {
    found = kindOf(node).keys(node, childrenOf(node).map(keysOf));
    keyCache.set(node, found);
  }
  return found;
}

/** The same node over changed children; the node itself when none changed. */
export function mapChildren(node: Mir, f: (child: Mir) => Mir): Mir {
  const before = childrenOf(node);
  const after = before.map(f);
  return after.every((c, i) => c === before[i]) ? node : kindOf(node).withChildren(node, after);
}

/** Bottom up: children first, then the node. */
export function rewrite(node: Mir, f: (node: Mir) => Mir): Mir {
  return f(mapChildren(node, (c) => rewrite(c, f)));
}

export function someNode(node: Mir, test: (node: Mir) => boolean): boolean {
  return test(node) || childrenOf(node).some((c) => someNode(c, test));
}

/** Structural equality. */
function sameMir(a: Mir, b: Mir): boolean {
  if (a === b) return true;
  return a.op === b.op && fingerprint(a) === fingerprint(b);
}

const fingerprints = new WeakMap<Mir, string>();
const fingerprintIds = new Map<string, number>();
/** Equal for equal plans. Children enter by a number, so that a deep plan costs what its nodes cost, once. */
export function fingerprint(node: Mir): string {
  let found = fingerprints.get(node);
  if (found === undefined) {
    const children = childrenOf(node);
    const own = kindOf(node).withChildren(
      node,
      children.map(() => ABSENT),
    );
    const text = `${plainText(own)}|${children.map(fingerprint).join('|')}`;
    let id = fingerprintIds.get(text);
    if (id === undefined) {
      if (fingerprintIds.size > 100_000) fingerprintIds.clear();
      id = nextFingerprint++;
      fingerprintIds.set(text, id);
    }
    found = `f${id}`;
    fingerprints.set(node, found);
  }
  return found;
}
let nextFingerprint = 0;
/** Stands for a child. */
const ABSENT = null as unknown as Mir;

// ---- Making nodes: what changes nothing is left out

export const constant = (columns: readonly Column[], rows: readonly Row[]): MirConstant => ({
  op: 'Constant',
  columns,
  rows: rows.map((row) => ({ row, diff: 1 })),
});
export const empty = (columns: readonly Column[]): MirConstant => ({ op: 'Constant', columns, rows: [] });
/** One row without columns. */
export const UNIT: Mir = constant([], [[]]);
const isUnit = (m: Mir): boolean =>
  m.op === 'Constant' &&
  m.columns.length === 0 &&
  !('error' in m.rows) &&
  m.rows.length === 1 &&
  m.rows[0].diff === 1;
export const isEmptyConstant = (m: Mir): boolean =>
  m.op === 'Constant' && !('error' in m.rows) && m.rows.length === 0;

export function project(input: Mir, outputs: readonly number[]): Mir {
  if (outputs.length === arityOf(input) && outputs.every((c, i) => c === i)) return input;
  if (input.op === 'Project')
    return project(
      input.input,
      outputs.map((c) => input.outputs[c]),
    );
  return { op: 'Project', input, outputs };
}
export function map(input: Mir, list: readonly ScalarExpr[]): Mir {
  return list.length === 0 ? input : { op: 'Map', input, exprs: list };
}
export function filter(input: Mir, predicates: readonly ScalarExpr[]): Mir {
  return predicates.length === 0 ? input : { op: 'Filter', input, predicates };
}
export function join(inputs: readonly Mir[], equivalences: readonly (readonly ScalarExpr[])[] = []): Mir {
  const kept = inputs.filter((i) => !isUnit(i));
  if (kept.length === 0) return UNIT;
  if (kept.length === 1 && equivalences.length === 0) return kept[0];
  return { op: 'Join', inputs: kept, equivalences };
}
export const reduce = (
  input: Mir,
  key: readonly ScalarExpr[],
  aggregates: readonly AggregateExpr[] = [],
): MirReduce => ({ op: 'Reduce', input, key, aggregates });
export const columnRef = (node: Mir, index: number): ScalarExpr => ({
  kind: 'column',
  index,
  type: columnsOf(node)[index].type,
});
export const distinct = (input: Mir): MirReduce =>
  reduce(
    input,
    columnsOf(input).map((_, i) => columnRef(input, i)),
  );
export const negate = (input: Mir): MirNegate => ({ op: 'Negate', input });
export const threshold = (input: Mir): MirThreshold => ({ op: 'Threshold', input });
export const union = (inputs: readonly Mir[]): Mir =>
  inputs.length === 1 ? inputs[0] : { op: 'Union', inputs };
export const localGet = (local: number, value: Mir): MirLocalGet => ({
  op: 'LocalGet',
  local,
  columns: columnsOf(value),
  keys: keysOf(value),
});

/** A key of plain columns, or undefined. */
export function plainKey(key: readonly ScalarExpr[]): readonly number[] | undefined {
  return key.every((e) => e.kind === 'column') ? key.map((e) => (e as { index: number }).index) : undefined;
}
