/**
 * The rows that an evaluation is over: columns of a batch, or a selection of the rows of another frame. A
 * selection gathers a column when something first reads it; values of nodes are kept by slot, so a common
 * subexpression is computed once a frame, and once for a frame and its selections when the frame had it first.
 */
import type { Column } from '../repr/column.ts';
import type { Vec } from './functions.ts';
import { gatherVec, vec } from './vec.ts';

export class Frame {
  readonly n: number;
  readonly parent: Frame | null;
  /** Rows of the parent. */
  readonly selection: Int32Array | null;
  readonly #inputs: (Vec | undefined)[];
  readonly #values: (Vec | undefined)[] = [];

  private constructor(
    n: number,
    inputs: (Vec | undefined)[],
    parent: Frame | null,
    selection: Int32Array | null,
  ) {
    this.n = n;
    this.#inputs = inputs;
    this.parent = parent;
    this.selection = selection;
  }

  static of(columns: readonly Column[], n: number): Frame {
    return new Frame(
      n,
      columns.map((c) => vec(c)),
      null,
      null,
    );
  }

  /** Rows `selection[0..n)` of this frame. */
  select(selection: Int32Array, n: number): Frame {
    return new Frame(n, [], this, selection);
  }

  input(i: number): Vec {
    let v = this.#inputs[i];
    if (v === undefined) {
      v = gatherVec(this.parent!.input(i), this.selection!, this.n);
      this.#inputs[i] = v;
    }
    return v;
  }

  /** The value at a slot if this frame or the one it selects from has computed it. */
  known(slot: number): Vec | undefined {
    let v = this.#values[slot];
    if (v === undefined && this.parent !== null) {
      const above = this.parent.known(slot);
      if (above !== undefined) {
        v = gatherVec(above, this.selection!, this.n);
        this.#values[slot] = v;
      }
    }
    return v;
  }

  keep(slot: number, v: Vec): void {
    this.#values[slot] = v;
  }
}
