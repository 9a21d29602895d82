/** A rewriting of plans: the same rows, errors only fewer. `apply` returns the very plan when it changes nothing. */
import type { GlobalId } from '../../base/ids.ts';
import type { IndexItem } from '../../catalog/catalog-reader.ts';
import type { EvalContext } from '../../expr/functions.ts';
import type { Mir } from '../mir.ts';

export interface OptimizeOptions {
  /** For constant folding. */
  readonly context: EvalContext;
  /** Indexes that a read may use; joins are ordered with an eye on them. */
  readonly indexes: (id: GlobalId) => readonly IndexItem[];
}

export interface Rule {
  readonly name: string;
  readonly apply: (mir: Mir, options: OptimizeOptions) => Mir;
}
