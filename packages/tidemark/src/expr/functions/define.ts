/** Short forms of the literals, so that a table's row says only what is particular to it. */
import type { FunctionDef, Kernel, Pattern, ResultType, Volatility } from '../functions.ts';
import { perRow, type RowFunction } from '../kernels/per-row.ts';

export interface Options {
  readonly variadic?: Pattern;
  readonly strict?: boolean;
  readonly volatility?: Volatility;
  readonly fallible?: boolean;
  readonly nullable?: boolean;
}

/** A strict, immutable function that cannot fail, unless `options` say otherwise. */
export function define(
  id: string,
  name: string | null,
  args: readonly Pattern[],
  returns: ResultType,
  kernel: Kernel,
  doc: string,
  options: Options = {},
): FunctionDef {
  const strict = options.strict ?? true;
  return {
    id,
    name,
    args,
    returns,
    kernel,
    doc,
    strict,
    volatility: options.volatility ?? 'immutable',
    fallible: options.fallible ?? false,
    nullable: options.nullable ?? !strict,
    ...(options.variadic !== undefined && { variadic: options.variadic }),
  };
}

/** The same over a function of datums. The arguments come as an array that is reused: do not keep it. */
export const rowFunction = (
  id: string,
  name: string | null,
  args: readonly Pattern[],
  returns: ResultType,
  f: RowFunction,
  doc: string,
  options: Options = {},
): FunctionDef => define(id, name, args, returns, perRow(f), doc, options);

/** Options that many rows share. */
export const FAILS: Options = { fallible: true };
export const STABLE_FAILS: Options = { fallible: true, volatility: 'stable' };
export const MAYBE: Options = { nullable: true };
export const FAILS_MAYBE: Options = { fallible: true, nullable: true };
