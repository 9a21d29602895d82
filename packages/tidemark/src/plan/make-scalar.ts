/** Building the scalar expressions that the planner itself needs, over `ScalarExpr` and `HExpr` alike. */
import { canonFunctionId } from '../expr/functions/casts.ts';
import { aggregatesByName, functionsByName } from '../expr/registry.ts';
import { resolveFunction } from '../expr/resolve.ts';
import type { RowError, ScalarExpr } from '../expr/scalar.ts';
import { type Datum, needsCanon, type SqlType, type } from '../repr/types.ts';
import { IS_NULL, NOT } from './scalar-facts.ts';

const BOOL = type('bool');

export const column = (index: number, of: SqlType): ScalarExpr => ({ kind: 'column', index, type: of });
export const literal = <T extends Datum>(
  value: T,
  of: SqlType,
): { kind: 'literal'; value: Datum; type: SqlType } => ({
  kind: 'literal',
  value,
  type: of,
});
export const TRUE = literal(true, BOOL);
export const FALSE = literal(false, BOOL);
export const nullOf = (t: SqlType): { kind: 'literal'; value: Datum; type: SqlType } => literal(null, t);

export const errorExpr = (error: RowError, of: SqlType): ScalarExpr => ({ kind: 'error', error, type: of });

interface CallOf<E> {
  kind: 'call';
  func: string;
  args: readonly E[];
  type: SqlType;
}
export const call = <E>(func: string, args: readonly E[], of: SqlType): CallOf<E> => ({
  kind: 'call',
  func,
  args,
  type: of,
});
export const isNull = <E>(e: E): CallOf<E> => call(IS_NULL, [e], BOOL);
export const not = <E>(e: E): CallOf<E> => call(NOT, [e], BOOL);
export const notNull = (e: ScalarExpr): ScalarExpr => not<ScalarExpr>(isNull(e));

export const ifThen = <E>(
  condition: E,
  then: E,
  otherwise: E,
  of: SqlType,
): { kind: 'if'; args: readonly E[]; type: SqlType } => ({
  kind: 'if',
  args: [condition, then, otherwise],
  type: of,
});

/** The value as a key: SQL's equality of the type becomes equality of bytes. */
export function canon(e: ScalarExpr): ScalarExpr {
  if (!needsCanon(e.type)) return e;
  if (e.kind === 'call' && e.func === canonFunctionId(e.type)) return e;
  return call<ScalarExpr>(canonFunctionId(e.type), [e], e.type);
}

/** Ids by SQL name, so that no plan is built on the spelling of an id. */
export const functionId = (name: string, args: readonly SqlType[]): string =>
  resolveFunction(name, functionsByName(name), args).def.id;
export const aggregateId = (name: string, args: readonly SqlType[]): string =>
  resolveFunction(name, aggregatesByName(name), args).def.id;
