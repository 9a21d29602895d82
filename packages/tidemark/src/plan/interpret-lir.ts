/**
 * What an LIR plan means, row by row: for tests, as the oracle of lowering and of rendering. Arrangements hold what
 * their input holds; everything but chains of joins and fused steps is what the MIR interpreter says.
 */
import { assert } from '../base/assert.ts';
import type { GlobalId } from '../base/ids.ts';
import type { Mfp } from '../expr/scalar.ts';
import type { Row } from '../repr/types.ts';
import { addRow, type Bag, datumKey, evalScalar, type InterpretOptions, interpret } from './interpret.ts';
import type { Lir, LirJoin } from './lir.ts';
import { applyMfp } from './mfp.ts';
import type { Column, Mir, MirLocalGet } from './mir.ts';

export function interpretLir(
  lir: Lir,
  options: InterpretOptions,
  locals: ReadonlyMap<number, Bag> = new Map(),
): Bag {
  const recur = (l: Lir): Bag => interpretLir(l, options, locals);
  /** A node of MIR over inputs that are computed already. */
  const through = (inputs: readonly Lir[], node: (inputs: readonly Mir[]) => Mir): Bag => {
    const bags = new Map<number, Bag>();
    const stand = inputs.map((input, i): MirLocalGet => {
      bags.set(-1 - i, recur(input));
      const columns: readonly Column[] = input.types.map((type) => ({ type, nullable: true }));
      return { op: 'LocalGet', local: -1 - i, columns, keys: [] };
    });
    return interpret(node(stand), options, bags);
  };
  const columnsOf = (l: Lir): readonly Column[] => l.types.map((type) => ({ type, nullable: true }));
  switch (lir.op) {
    case 'Constant':
      return interpret({ op: 'Constant', columns: columnsOf(lir), rows: lir.rows }, options);
    case 'Get':
      return readAll(lir.id, options);
    case 'LocalGet': {
      const bag = locals.get(lir.local);
      assert(bag !== undefined, `l${lir.local} is bound`);
      return bag;
    }
    case 'Let':
      return interpretLir(lir.body, options, new Map([...locals, [lir.local, recur(lir.value)]]));
    case 'Mfp':
      return through([lir.input], ([input]) => applyMfp(input, lir.mfp));
    case 'FlatMap': {
      const columns = columnsOf(lir).slice(lir.input.types.length);
      const ordinality = lir.ordinality === true ? { ordinality: true as const } : {};
      return through([lir.input], ([input]) => ({
        op: 'FlatMap',
        input,
        func: lir.func,
        args: lir.args,
        columns,
        ...ordinality,
      }));
    }
    case 'Join':
      return interpretChain(lir, lir.inputs.map(recur), options);
    case 'Reduce':
      return through([lir.input], ([input]) => ({
        op: 'Reduce',
        input,
        key: lir.key.map((index) => ({ kind: 'column', index, type: lir.input.types[index] })),
        aggregates: lir.aggregates,
      }));
    case 'TopK': {
      const { groupKey, orderBy, limit, offset } = lir;
      return through([lir.input], ([input]) => ({ op: 'TopK', input, groupKey, orderBy, limit, offset }));
    }
    case 'Negate':
    case 'Threshold':
      return through([lir.input], ([input]) => ({ op: lir.op, input }));
    case 'Union':
      return through(lir.inputs, (inputs) => ({ op: 'Union', inputs }));
    case 'ArrangeBy':
      return recur(lir.input);
  }
}

function readAll(id: GlobalId, options: InterpretOptions): Bag {
  const out: Bag = new Map();
  for (const row of options.tables(id)) addRow(out, row, 1);
  return out;
}

function interpretChain(lir: LirJoin, inputs: readonly Bag[], options: InterpretOptions): Bag {
  let stream = inputs[0];
  lir.stages.forEach((stage, i) => {
    const next: Bag = new Map();
    for (const left of stream.values())
      for (const right of inputs[i + 1].values()) {
        const equal = stage.streamKey.every(
          (c, k) => datumKey(left.row[c]) === datumKey(right.row[stage.lookupKey[k]]),
        );
        if (equal)
          step(stage.mfp, [...left.row, ...right.row], options, (row) =>
            addRow(next, row, left.count * right.count),
          );
      }
    stream = next;
  });
  return stream;
}

function step(mfp: Mfp, row: Row, options: InterpretOptions, emit: (row: Row) => void): void {
  assert(row.length === mfp.inputArity, 'a stage lays its two sides end to end');
  const all = [...row];
  const passes = (upTo: number): boolean =>
    mfp.filter.filter((f) => lastColumn(f) < upTo).every((f) => evalScalar(f, all, options.context) === true);
  if (!passes(row.length)) return;
  for (const e of mfp.map) all.push(evalScalar(e, all, options.context));
  if (passes(all.length)) emit(mfp.project.map((c) => all[c]));
}
function lastColumn(e: Parameters<typeof evalScalar>[0]): number {
  if (e.kind === 'column') return e.index;
  return 'args' in e ? Math.max(-1, ...e.args.map(lastColumn)) : -1;
}
