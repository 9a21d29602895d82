/**
 * From LIR to operators: the one dispatch over plan nodes. Rows and errors flow side by side; what fails in a node joins
 * the errors of its inputs. Each node becomes a span of operators, which the LIR mapping reports.
 */
import { assert } from '../base/assert.ts';
import type { ErrorCode } from '../base/error.ts';
import type { GlobalId } from '../base/ids.ts';
import type { Scope } from '../dataflow/builder.ts';
import type { OutputPort, Sized, Stream } from '../dataflow/ports.ts';
import { compileScalar } from '../expr/eval.ts';
import { encodeEvalError, sqlErrorOf } from '../expr/eval-error.ts';
import { columnsOf, mapColumns } from '../expr/expr-tree.ts';
import type { EvalContext } from '../expr/functions.ts';
import { compileMfp } from '../expr/mfp.ts';
import { tableFunctionById } from '../expr/registry.ts';
import { isIdentity, type Mfp, type ScalarExpr } from '../expr/scalar.ts';
import { constant } from '../operators/constant.ts';
import { distinct } from '../operators/distinct.ts';
import { flatMap } from '../operators/flat-map.ts';
import { join } from '../operators/join.ts';
import { map } from '../operators/map.ts';
import { negate } from '../operators/negate.ts';
import { reduce } from '../operators/reduce.ts';
import type { RowsPiece } from '../operators/state/expansion.ts';
import type { DescribeKey } from '../operators/state/reduce-rule.ts';
import type { OksErrs } from '../operators/state/stateful-operator.ts';
import { threshold } from '../operators/threshold.ts';
import { topK } from '../operators/topk.ts';
import { union } from '../operators/union.ts';
import { lirText } from '../plan/explain.ts';
import type {
  Lir,
  LirArrangeBy,
  LirConstant,
  LirFlatMap,
  LirGet,
  LirId,
  LirJoin,
  LirLet,
  LirLocalGet,
  LirMfp,
  LirNegate,
  LirOp,
  LirReduce,
  LirThreshold,
  LirTopK,
  LirUnion,
} from '../plan/lir.ts';
import type { Batch } from '../repr/batch.ts';
import type { Column } from '../repr/column.ts';
import { ColumnBuilder } from '../repr/column.ts';
import { comparator } from '../repr/compare.ts';
import { datumAt } from '../repr/datum.ts';
import { textOf } from '../repr/format.ts';
import { batchOf } from '../repr/rows.ts';
import { type Datum, kindOf, type SqlType } from '../repr/types.ts';
import type { Timestamp } from '../time/timestamp.ts';
import { lowerAggregates } from './aggregates.ts';
import { Bundle } from './bundle.ts';

/**
 * The operators that do a node's own work: ids [start, end), none of those of its inputs, which are rendered before. Empty: nothing was
 * rendered for it.
 */
export interface LirSpan {
  readonly lirId: LirId;
  readonly parent: LirId | null;
  readonly nesting: number;
  /** As EXPLAIN prints it, with ids for names. */
  readonly operator: string;
  readonly isConstant: boolean;
  readonly start: number;
  readonly end: number;
  /** Where its output comes from, in every form that it has by now. */
  readonly outputs: readonly OutputPort<Sized>[];
}

export interface RenderContext {
  readonly scope: Scope;
  /** Collections that the dataflow reads, and those built before. */
  readonly bundles: ReadonlyMap<GlobalId, Bundle>;
  readonly asOf: Timestamp;
  readonly evalContext: EvalContext;
  /** Names the object in errors, as a user knows it. */
  readonly objectName: string;
  readonly onSpan?: (span: LirSpan) => void;
}

const encodeError = (code: ErrorCode, message: string, detail?: string): Uint8Array =>
  encodeEvalError({ code, message, ...(detail !== undefined && { detail }) });

const describesKey =
  (types: readonly SqlType[]): DescribeKey =>
  (columns) => {
    const cells = types.map((type, i) => {
      const datum = datumAt(type, columns[i]!, 0);
      return datum === null ? 'NULL' : textOf(type, datum);
    });
    return `the key is (${cells.join(', ')})`;
  };

export function render(plan: Lir, context: RenderContext): Bundle {
  return new Renderer(context).render(plan, null, 0);
}

type RenderNode<N extends Lir> = (r: Renderer, node: N, nesting: number) => Bundle;

class Renderer {
  readonly context: RenderContext;
  readonly scope: Scope;
  readonly locals = new Map<number, Bundle>();
  /** Where the operators of the node under way begin: its inputs are all rendered before its own work. */
  #ownStart = 0;

  constructor(context: RenderContext) {
    this.context = context;
    this.scope = context.scope;
  }

  render(node: Lir, parent: LirId | null, nesting: number): Bundle {
    this.#ownStart = this.scope.nextOperatorId();
    const bundle = (RENDER[node.op] as RenderNode<Lir>)(this, node, nesting);
    const end = this.scope.nextOperatorId();
    this.context.onSpan?.({
      lirId: node.lirId,
      parent,
      nesting,
      operator: lirText(node, (id) => id),
      isConstant: node.op === 'Constant',
      start: this.#ownStart,
      end,
      outputs: bundle.outputs,
    });
    // What comes next is its parent's.
    this.#ownStart = end;
    return bundle;
  }

  child(node: Lir, parent: Lir, nesting: number): Bundle {
    return this.render(node, parent.lirId, nesting + 1);
  }

  mfp(input: Stream<Batch>, errs: readonly Stream<Batch>[], mfp: Mfp, types: readonly SqlType[]): Bundle {
    if (isIdentity(mfp)) return new Bundle(types, this.concat(errs), input);
    const evaluate = compileMfp(mfp, this.context.evalContext);
    const out = map(this.scope, input, {
      name: 'Mfp',
      apply: (batch) => {
        const { oks, errs } = evaluate(batch);
        return { oks: oks ?? undefined, errs: errs ?? undefined };
      },
    });
    return new Bundle(types, this.concat([...errs, out.errs]), out.oks);
  }

  concat(streams: readonly Stream<Batch>[]): Stream<Batch> {
    return union(this.scope, streams);
  }

  /** What a stateful operator gave, and the errors of what it read. */
  joined(types: readonly SqlType[], out: OksErrs, errs: Stream<Batch>): Bundle {
    return new Bundle(types, this.concat([errs, out.errs]), out.oks);
  }
}

const RENDER: { readonly [K in LirOp]: RenderNode<Extract<Lir, { op: K }>> } = {
  Constant: (r, n: LirConstant) => {
    const oks =
      'error' in n.rows
        ? []
        : [
            batchOf(
              n.types,
              n.rows.map((r) => r.row),
              { diffs: n.rows.map((r) => r.diff) },
            ),
          ];
    const errs = 'error' in n.rows ? [errorBatch(encodeEvalError(n.rows.error))] : [];
    const { scope, context } = r;
    const at = (batches: readonly Batch[]): Stream<Batch> =>
      constant(
        scope,
        batches.filter((b) => b.length > 0).map((b) => ({ ...b, times: context.asOf })),
      );
    return new Bundle(n.types, at(errs), at(oks));
  },

  Get: (r, n: LirGet) => {
    const bundle = r.context.bundles.get(n.id);
    assert(bundle !== undefined, `collection ${n.id} is imported or built before it is read`);
    return bundle;
  },

  LocalGet: (r, n: LirLocalGet) => {
    const bundle = r.locals.get(n.local);
    assert(bundle !== undefined, `local l${n.local} is bound before it is read`);
    return bundle;
  },

  Let: (r, n: LirLet, nesting) => {
    r.locals.set(n.local, r.child(n.value, n, nesting));
    const body = r.child(n.body, n, nesting);
    r.locals.delete(n.local);
    return body;
  },

  Mfp: (r, n: LirMfp, nesting) => {
    const input = r.child(n.input, n, nesting);
    return r.mfp(input.oks(r.scope), [input.errs], n.mfp, n.types);
  },

  FlatMap: (r, n: LirFlatMap, nesting) => {
    const input = r.child(n.input, n, nesting);
    const out = flatMap(r.scope, input.oks(r.scope), {
      expand: expansion(n, r.context.evalContext),
      encodeError,
    });
    return r.joined(n.types, out, input.errs);
  },

  Join: (r, n: LirJoin, nesting) => renderJoin(r, n, nesting),

  Reduce: (r, n: LirReduce, nesting) => {
    const input = r.child(n.input, n, nesting);
    const arity = input.types.length;
    const { specs, map: args } = lowerAggregates(arity, n.aggregates);
    const all = Array.from({ length: arity + args.length }, (_, i) => i);
    const prepared = r.mfp(
      input.oks(r.scope),
      [input.errs],
      { inputArity: arity, map: args, filter: [], project: all },
      [...input.types, ...args.map((e) => e.type)],
    );
    const oks = prepared.oks(r.scope);
    const keyKinds = n.key.map((k) => kindOf(input.types[k]!));
    const describeKey = describesKey(n.key.map((k) => input.types[k]!));
    const common = { collection: r.context.objectName, encodeError, describeKey };
    // DISTINCT over the whole input in order: the one case where the rows are the keys.
    const isDistinct = specs.length === 0 && n.key.length === arity && n.key.every((k, i) => k === i);
    const out = isDistinct
      ? distinct(r.scope, oks, { ...common, kinds: keyKinds })
      : reduce(r.scope, oks, { ...common, keys: n.key, keyKinds, aggregates: specs });
    return r.joined(n.types, out, prepared.errs);
  },

  TopK: (r, n: LirTopK, nesting) => {
    const input = r.child(n.input, n, nesting);
    const out = topK(r.scope, input.oks(r.scope), {
      collection: r.context.objectName,
      kinds: input.types.map(kindOf),
      keys: n.groupKey,
      order: n.orderBy.map((o) => ({ ...o, compare: comparator(input.types[o.column]!) })),
      offset: n.offset,
      limit: n.limit,
      encodeError,
      describeKey: describesKey(n.groupKey.map((k) => input.types[k]!)),
    });
    return r.joined(n.types, out, input.errs);
  },

  Negate: (r, n: LirNegate, nesting) => {
    const input = r.child(n.input, n, nesting);
    return new Bundle(n.types, input.errs, negate(r.scope, input.oks(r.scope)));
  },

  Threshold: (r, n: LirThreshold, nesting) => {
    const input = r.child(n.input, n, nesting);
    const kinds = input.types.map(kindOf);
    const out = threshold(r.scope, input.oks(r.scope), {
      collection: r.context.objectName,
      kinds,
      encodeError,
    });
    return r.joined(n.types, out, input.errs);
  },

  Union: (r, n: LirUnion, nesting) => {
    const inputs = n.inputs.map((i) => r.child(i, n, nesting));
    return new Bundle(
      n.types,
      r.concat(inputs.map((i) => i.errs)),
      r.concat(inputs.map((i) => i.oks(r.scope))),
    );
  },

  ArrangeBy: (r, n: LirArrangeBy, nesting) => {
    const input = r.child(n.input, n, nesting);
    for (const key of n.keys) input.arranged(r.scope, key);
    return input;
  },
};

function renderJoin(r: Renderer, n: LirJoin, nesting: number): Bundle {
  const inputs = n.inputs.map((i) => r.child(i, n, nesting));
  let soFar = inputs[0]!;
  for (const [k, stage] of n.stages.entries()) {
    const right = inputs[k + 1]!;
    const { streamKey, lookupKey, mfp } = stage;
    const leftArity = soFar.types.length;
    const { columns, mfp: pruned } = pruneInput(mfp);
    const joined = join(r.scope, soFar.arranged(r.scope, streamKey), right.arranged(r.scope, lookupKey), {
      output: columns.map((c) =>
        c < leftArity
          ? place('left', c, streamKey, leftArity)
          : place('right', c - leftArity, lookupKey, right.types.length),
      ),
    });
    const types = mfp.project.map((p) =>
      p < leftArity
        ? soFar.types[p]!
        : p < mfp.inputArity
          ? right.types[p - leftArity]!
          : mfp.map[p - mfp.inputArity]!.type,
    );
    soFar = r.mfp(joined, [soFar.errs, right.errs], pruned, types);
  }
  return soFar;
}

/** The same step over the input columns that it reads: a join gathers no others. */
function pruneInput(mfp: Mfp): { readonly columns: readonly number[]; readonly mfp: Mfp } {
  const read = new Set<number>(mfp.project.filter((p) => p < mfp.inputArity));
  for (const e of [...mfp.map, ...mfp.filter])
    for (const c of columnsOf(e)) if (c < mfp.inputArity) read.add(c);
  const columns = [...read].sort((a, b) => a - b);
  const dropped = mfp.inputArity - columns.length;
  const moved = (c: number): number => (c < mfp.inputArity ? columns.indexOf(c) : c - dropped);
  const move = (e: ScalarExpr): ScalarExpr => mapColumns(e, moved);
  return {
    columns,
    mfp: {
      inputArity: columns.length,
      map: mfp.map.map(move),
      filter: mfp.filter.map(move),
      project: mfp.project.map(moved),
    },
  };
}

/** Where a column of a side stands in its arrangement: among the key's columns, else among the values, ascending. */
function place(
  side: 'left' | 'right',
  column: number,
  key: readonly number[],
  arity: number,
): { readonly from: 'key' | 'left' | 'right'; readonly column: number } {
  const k = key.indexOf(column);
  if (k >= 0) return { from: 'key', column: k };
  let v = 0;
  for (let c = 0; c < column && c < arity; c++) if (!key.includes(c)) v++;
  return { from: side, column: v };
}

function errorBatch(bytes: Uint8Array): Batch {
  const b = new ColumnBuilder('bytes', 1);
  b.pushBytes(bytes);
  return { length: 1, columns: [b.finish()], times: 0, diffs: 1 };
}

/** A table function as the FlatMap operator calls it: arguments of one row, then its rows in pieces. */
function expansion(
  n: LirFlatMap,
  context: EvalContext,
): (columns: readonly Column[], i: number) => Iterable<RowsPiece> {
  const def = tableFunctionById(n.func);
  const argTypes = n.args.map((a: ScalarExpr) => a.type);
  const evaluators = n.args.map((a) => compileScalar(a, context));
  const selection = new Int32Array(1);
  return function* (columns, i) {
    selection[0] = i;
    const args: Datum[] = [];
    for (const [k, evaluate] of evaluators.entries()) {
      const { column, errors } = evaluate(columns, 1, selection);
      const failed = errors?.get(0);
      if (failed !== undefined) throw sqlErrorOf(failed);
      args.push(datumAt(argTypes[k]!, column, 0));
    }
    if (def.strict && args.includes(null)) return;
    let row = 0;
    for (const chunk of def.rows(args, argTypes, context)) {
      const columns =
        n.ordinality === true ? [...chunk.columns, numbers(row + 1, chunk.length)] : chunk.columns;
      row += chunk.length;
      yield { length: chunk.length, columns, ...(def.multiplies && { diff: Number(args[0]) }) };
    }
  };
}

/** int8 numbers from `first` on. */
function numbers(first: number, count: number): Column {
  const b = new ColumnBuilder('i64', count);
  for (let i = 0; i < count; i++) b.pushI64Number(first + i);
  return b.finish();
}
