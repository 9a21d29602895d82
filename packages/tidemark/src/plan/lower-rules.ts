/** What lowering a join asks of lowering as a whole. */
import type { GlobalId } from '../base/ids.ts';
import type { Mfp } from '../expr/scalar.ts';
import type { SqlType } from '../repr/types.ts';
import type { Lir, LirId } from './lir.ts';
import type { Mir } from './mir.ts';

export interface LirRules {
  readonly imports: Set<GlobalId>;
  readonly indexes: Set<GlobalId>;
  id(): LirId;
  lower(mir: Mir): Lir;
  over(input: Lir, mfp: Mfp, types: readonly SqlType[]): Lir;
  /** Indexes of the target cluster whose keys are plain columns. */
  columnIndexes(id: GlobalId): readonly { readonly id: GlobalId; readonly key: readonly number[] }[];
}
