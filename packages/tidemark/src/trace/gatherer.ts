/** A gather from two lists of columns that can be left and taken up again: one column after the other, by ranges. */
import type { Column } from '../repr/column.ts';
import type { Fuel } from './fuel.ts';
import { gather2, gatherBytes2, type MutableColumn, roomFor } from './kernels.ts';

export class Gatherer {
  readonly #a: readonly Column[];
  readonly #b: readonly Column[];
  readonly #rows: Int32Array;
  readonly #n: number;
  readonly #out: MutableColumn[] = [];
  #at = 0;
  /** Of a `bytes` column: the offsets stand, the data is being copied. */
  #copying = false;
  #column = 0;

  /** Rows `rows[0..n)` of `a` followed by `b`. */
  constructor(a: readonly Column[], b: readonly Column[], rows: Int32Array, n: number) {
    this.#a = a;
    this.#b = b;
    this.#rows = rows;
    this.#n = n;
  }

  get columns(): readonly Column[] {
    return this.#out;
  }

  /** Whether it is done. */
  work(fuel: Fuel): boolean {
    while (this.#column < this.#a.length) {
      if (fuel.exhausted) return false;
      const src = { a: this.#a[this.#column]!, b: this.#b[this.#column]! };
      const { kind } = src.a;
      const dst = (this.#out[this.#column] ??= roomFor(kind, this.#n));
      const to = this.#at + fuel.portion(this.#n - this.#at);
      if (this.#copying) gatherBytes2(dst, src, this.#rows, this.#at, to);
      else gather2(dst, src, this.#rows, this.#at, to);
      fuel.spend((to - this.#at + 3) >> 2);
      this.#at = to;
      if (to < this.#n) continue;
      this.#at = 0;
      if (kind === 'bytes' && !this.#copying) {
        this.#copying = true;
        dst.values = new Uint8Array(dst.offsets[this.#n]!);
        continue;
      }
      this.#copying = false;
      this.#column++;
    }
    return true;
  }
}
