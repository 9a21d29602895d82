import type { EvalContext } from '../../expr/functions.ts';
import type { IndexItem } from '../../catalog/catalog-reader.ts';
import type { GlobalId } from '../../base/ids.ts';
import type { Mir } from '../mir.ts';

export interface OptimizeOptions {
  readonly context: EvalContext;
  readonly indexes: (id: GlobalId) => readonly IndexItem[];
}
export function optimize(mir: Mir, _options: OptimizeOptions): Mir {
  return mir;
}
