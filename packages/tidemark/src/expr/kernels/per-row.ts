/**
 * The adapter for the long tail: one call of a plain function of datums a row. A thrown SqlError is the row's error.
 * A constant argument is decoded once.
 */
import { SqlError } from '../../base/error.ts';
import { type Column, ColumnBuilder } from '../../repr/column.ts';
import { datumAt, pushDatum } from '../../repr/datum.ts';
import { type Datum, kindOf, type SqlType } from '../../repr/types.ts';
import { evalErrorOf } from '../eval-error.ts';
import type { EvalContext, Kernel, KernelCall } from '../functions.ts';

/** What a row function may know besides its arguments. */
export interface RowCall {
  readonly argTypes: readonly SqlType[];
  readonly type: SqlType;
  readonly context: EvalContext;
}

/** Any of the values that a table's literal works on; the patterns of the literal promise what they are. */
// biome-ignore lint/suspicious/noExplicitAny: the argument patterns beside each kernel are the types
type Args = any[];

export type RowFunction = (args: Args, call: RowCall) => Datum;

/** For strict functions: NULL arguments never arrive. For the others they arrive as null. */
export function perRow(f: RowFunction): Kernel {
  return (call) => rowLoop(call, f);
}

function rowLoop(call: KernelCall, f: RowFunction): Column {
  const { args, argTypes, type, n, validity } = call;
  const width = args.length;
  const values: Datum[] = new Array<Datum>(width).fill(null);
  const varying: number[] = [];
  for (let k = 0; k < width; k++) {
    const a = args[k]!;
    if (!a.constant) varying.push(k);
    else values[k] = datumAt(argTypes[k]!, a.column, 0);
  }
  const out = new ColumnBuilder(kindOf(type), n);
  for (let i = 0; i < n; i++) {
    if (validity !== null && (validity[i >> 3]! & (1 << (i & 7))) === 0) {
      out.pushNull();
      continue;
    }
    for (const k of varying) values[k] = datumAt(argTypes[k]!, args[k]!.column, i);
    let v: Datum = null;
    try {
      v = f(values, call);
    } catch (e) {
      if (!(e instanceof SqlError)) throw e;
      call.fail(i, evalErrorOf(e));
    }
    pushDatum(type, out, v);
  }
  return out.finish();
}
