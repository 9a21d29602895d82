/**
 * Logical time: unsigned milliseconds, totally ordered, integers up to 2^53 - 1 (exact in a double).
 * A frontier is one timestamp t ("everything before t is complete") or empty ("complete for ever").
 */
export type Timestamp = number;
export const MIN_TIME: Timestamp = 0;
export const MAX_TIME: Timestamp = Number.MAX_SAFE_INTEGER;

/**
 * The empty frontier is +Infinity: the greatest frontier, so that min, max and < need no case of their own.
 * `t < frontier` reads "t is complete".
 */
export type Frontier = number;
export const EMPTY: Frontier = Number.POSITIVE_INFINITY;

export const isEmpty = (f: Frontier): boolean => f === EMPTY;
/** The meet of two frontiers: what is complete in both. */
export const meet = (a: Frontier, b: Frontier): Frontier => (a < b ? a : b);
/** JSON and SQL form: NULL is the empty frontier. */
export const toNullable = (f: Frontier): Timestamp | null => (f === EMPTY ? null : f);
export const fromNullable = (t: Timestamp | null): Frontier => (t === null ? EMPTY : t);
