/** A compiled expression: yields the values of all rows of a frame at once. */
import type { SqlType } from '../repr/types.ts';
import type { Frame } from './frame.ts';
import type { Vec } from './functions.ts';

export interface Node {
  /** Where a frame keeps its values. */
  readonly slot: number;
  readonly type: SqlType;
  readonly fallible: boolean;
  /** The one row that stands for all, of an expression that reads no column. */
  readonly constant: Vec | null;
  /** Uncached; through `evaluate`. */
  readonly run: (frame: Frame) => Vec;
}

export function evaluate(node: Node, frame: Frame): Vec {
  if (node.constant !== null) return node.constant;
  const known = frame.known(node.slot);
  if (known !== undefined) return known;
  const v = node.run(frame);
  frame.keep(node.slot, v);
  return v;
}
