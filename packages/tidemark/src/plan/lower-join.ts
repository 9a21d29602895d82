/**
 * A join as a chain. Stage i compares the result so far with input i + 1 on every class of equal expressions that has a
 * member on both sides; what the result needs no more is dropped at once, predicates run as soon as their columns are
 * there. Key expressions that are no columns are computed below (the input) or in the stage before (the result).
 */
import { assert } from '../base/assert.ts';
import type { Mfp, ScalarExpr } from '../expr/scalar.ts';
import type { SqlType } from '../repr/types.ts';
import type { Lir, LirJoinStage } from './lir.ts';
import type { LirRules } from './lower-rules.ts';
import { takeMfp } from './mfp.ts';
import { arityOf, columnsOf, type Mir, type MirJoin, plainKey } from './mir.ts';
import { offsetsOf, oneMemberAnInput } from './optimize/equivalences.ts';
import { columnsRead, remap, sameScalar } from './scalar-walk.ts';

/** An input with the columns that its key adds. */
interface Side {
  readonly lir: Lir;
  readonly key: readonly number[];
  readonly arity: number;
}

export function lowerJoin(builder: LirRules, given: MirJoin, after: Mfp, types: readonly SqlType[]): Lir {
  const join = oneMemberAnInput(given);
  if (join.inputs.length === 1) return builder.over(builder.lower(join.inputs[0]), after, types);
  const offsets = offsetsOf(join.inputs);
  const total = offsets[join.inputs.length];
  const inputOf = (e: ScalarExpr): number => {
    const [first] = columnsRead(e);
    return first === undefined ? -1 : offsets.findLastIndex((o) => o <= first);
  };
  const stream = new Stream(join.inputs[0], after);
  const pairs = join.equivalences.map((cls) => cls.map((e) => ({ expr: e, input: inputOf(e) })));
  const lirInputs: Lir[] = [];
  const stages: LirJoinStage[] = [];
  for (let i = 1; i < join.inputs.length; i++) {
    const streamKeys: ScalarExpr[] = [];
    const lookupKeys: ScalarExpr[] = [];
    for (const members of pairs) {
      const mine = members.filter((m) => m.input === i);
      const before = members.find((m) => m.input >= 0 && m.input < i);
      if (mine.length === 0 || before === undefined) continue;
      streamKeys.push(before.expr);
      lookupKeys.push(remap(mine[0].expr, (c) => c - offsets[i]));
    }
    orderByIndex(builder, join.inputs[i], lookupKeys, streamKeys);
    const side = arrangedInput(builder, join.inputs[i], lookupKeys);
    if (i === 1) lirInputs.push(firstInput(builder, join.inputs[0], streamKeys, stream));
    lirInputs.push(side.lir);
    const nextKeys = nextStreamKeys(pairs, i + 1, join.inputs.length);
    stages.push(
      stream.stage({ i, offsets, side, streamKeys, nextKeys, last: i === join.inputs.length - 1, total }),
    );
  }
  return { op: 'Join', lirId: builder.id(), types, inputs: lirInputs, stages };
}

/** Brings the pairs into the order of an index on exactly these columns, if there is one. */
function orderByIndex(builder: LirRules, input: Mir, lookup: ScalarExpr[], stream: ScalarExpr[]): void {
  const key = plainKey(lookup);
  if (input.op !== 'Get' || key === undefined || key.length === 0) return;
  const found = builder.columnIndexes(input.id).find((x) => sameSet(x.key, key));
  if (found === undefined) return;
  const order = found.key.map((c) => key.indexOf(c));
  lookup.splice(0, lookup.length, ...order.map((i) => lookup[i]));
  stream.splice(0, stream.length, ...order.map((i) => stream[i]));
}

type Member = { readonly expr: ScalarExpr; readonly input: number };

/** What the result must hold, as columns or expressions over all inputs, to be compared in stage `i` and later ones. */
function nextStreamKeys(
  pairs: readonly (readonly Member[])[],
  i: number,
  inputs: number,
): readonly ScalarExpr[] {
  const out: ScalarExpr[] = [];
  for (let k = i; k < inputs; k++)
    for (const members of pairs) {
      const before = members.find((m) => m.input >= 0 && m.input < k);
      if (before !== undefined && before.input < i && members.some((m) => m.input === k))
        out.push(before.expr);
    }
  return out;
}

/** The input by the key, through an index that has it, else arranged. */
function arrangedInput(builder: LirRules, input: Mir, keys: readonly ScalarExpr[]): Side {
  const { lir, key, arity, indexed } = keyed(builder, input, keys);
  if (indexed || key.length === 0) return { lir, key, arity };
  return {
    lir: { op: 'ArrangeBy', lirId: builder.id(), types: lir.types, input: lir, keys: [key] },
    key,
    arity,
  };
}

function keyed(builder: LirRules, input: Mir, keys: readonly ScalarExpr[]) {
  const arity = arityOf(input);
  const computed: ScalarExpr[] = [];
  const key = keys.map((e) => {
    if (e.kind === 'column') return e.index;
    const at = computed.findIndex((c) => sameScalar(c, e));
    return arity + (at >= 0 ? at : computed.push(e) - 1);
  });
  if (computed.length === 0 && input.op === 'Get' && key.length > 0) {
    const found = builder.columnIndexes(input.id).find((x) => sameSet(x.key, key));
    if (found !== undefined) {
      builder.imports.add(input.id);
      builder.indexes.add(found.id);
      const lir: Lir = {
        op: 'Get',
        lirId: builder.id(),
        types: columnsOf(input).map((c) => c.type),
        id: input.id,
        index: found,
      };
      return { lir, key, arity, indexed: sameOrder(found.key, key) };
    }
  }
  if (computed.length === 0) return { lir: builder.lower(input), key, arity, indexed: false };
  const { mfp, input: below } = takeMfp(input);
  const over = mfp.inputArity + mfp.map.length;
  const map = [...mfp.map, ...computed.map((e) => remap(e, (c) => mfp.project[c]))];
  const project = [...mfp.project, ...computed.map((_, i) => over + i)];
  const types = [...columnsOf(input).map((c) => c.type), ...computed.map((e) => e.type)];
  const lir =
    below.op === 'Join'
      ? lowerJoin(builder, below, { ...mfp, map, project }, types)
      : builder.over(builder.lower(below), { ...mfp, map, project }, types);
  return { lir, key, arity: arity + computed.length, indexed: false };
}
const sameOrder = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((c, i) => c === b[i]);
const sameSet = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((c) => b.includes(c));

function firstInput(builder: LirRules, input: Mir, keys: readonly ScalarExpr[], stream: Stream): Lir {
  const side = arrangedInput(builder, input, keys);
  stream.start(side, keys);
  return side.lir;
}

interface StageParts {
  readonly i: number;
  readonly offsets: readonly number[];
  readonly side: Side;
  readonly streamKeys: readonly ScalarExpr[];
  readonly nextKeys: readonly ScalarExpr[];
  readonly last: boolean;
  readonly total: number;
}

/** The result so far: where each column of the joined inputs, and each key expression, stands in it. */
class Stream {
  readonly #after: Mfp;
  #columns: Map<number, number>;
  #exprs: { readonly expr: ScalarExpr; readonly at: number }[] = [];
  #arity: number;
  #pending: readonly ScalarExpr[];

  constructor(first: Mir, after: Mfp) {
    this.#after = after;
    this.#arity = arityOf(first);
    this.#columns = new Map(Array.from({ length: this.#arity }, (_, i) => [i, i]));
    this.#pending = after.filter;
  }

  start(side: Side, keys: readonly ScalarExpr[]): void {
    this.#exprs = keys.map((expr, k) => ({ expr, at: side.key[k] }));
    this.#arity = side.arity;
  }

  #key(e: ScalarExpr): number {
    if (e.kind === 'column') return this.#columns.get(e.index)!;
    const found = this.#exprs.find((x) => sameScalar(x.expr, e));
    assert(found !== undefined, 'the stage before computes the key');
    return found.at;
  }

  stage(p: StageParts): LirJoinStage {
    const streamKey = p.streamKeys.map((e) => this.#key(e));
    const inputArity = this.#arity + p.side.arity;
    const here = new Map(this.#columns);
    for (let c = p.offsets[p.i]; c < p.offsets[p.i + 1]; c++) here.set(c, this.#arity + c - p.offsets[p.i]);
    const mfp = p.last ? this.#final(here, inputArity) : this.#middle(p, here, inputArity);
    return { streamKey, lookupKey: p.side.key, mfp };
  }

  /** The step after the join, over the columns as they stand now. */
  #final(here: ReadonlyMap<number, number>, inputArity: number): Mfp {
    const a = this.#after;
    const to = (c: number): number => (c < a.inputArity ? here.get(c)! : inputArity + c - a.inputArity);
    return {
      inputArity,
      map: a.map.map((e) => remap(e, to)),
      filter: this.#pending.map((f) => remap(f, to)),
      project: a.project.map(to),
    };
  }

  #middle(p: StageParts, here: ReadonlyMap<number, number>, inputArity: number): Mfp {
    const ready = (e: ScalarExpr): boolean =>
      [...columnsRead(e)].every((c) => c < this.#after.inputArity && here.has(c));
    const filter = this.#pending.filter(ready);
    this.#pending = this.#pending.filter((f) => !filter.includes(f));
    const needed = this.#neededLater(p.nextKeys);
    const kept = [...here.keys()].filter((c) => needed.has(c)).sort((x, y) => x - y);
    const over = (c: number): number => here.get(c)!;
    const computed: ScalarExpr[] = [];
    for (const e of p.nextKeys)
      if (e.kind !== 'column' && !computed.some((x) => sameScalar(x, e))) computed.push(e);
    const project = [...kept.map(over), ...computed.map((_, i) => inputArity + i)];
    this.#columns = new Map(kept.map((c, i) => [c, i]));
    this.#exprs = computed.map((expr, i) => ({ expr, at: kept.length + i }));
    this.#arity = project.length;
    return {
      inputArity,
      map: computed.map((e) => remap(e, over)),
      filter: filter.map((f) => remap(f, over)),
      project,
    };
  }

  #neededLater(keys: readonly ScalarExpr[]): ReadonlySet<number> {
    const needed = new Set<number>();
    const read = (e: ScalarExpr): void => {
      for (const c of columnsRead(e)) if (c < this.#after.inputArity) needed.add(c);
    };
    this.#pending.forEach(read);
    this.#after.map.forEach(read);
    keys.forEach(read);
    for (const c of this.#after.project) if (c < this.#after.inputArity) needed.add(c);
    return needed;
  }
}
