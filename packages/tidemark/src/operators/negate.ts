/** Negate: every diff changes its sign. Stateless. */

import type { Scope } from '../dataflow/builder.ts';
import type { Stream } from '../dataflow/ports.ts';
import type { Batch } from '../repr/batch.ts';
import { transform } from './transform.ts';

export const negate = (scope: Scope, input: Stream<Batch>, name = 'Negate'): Stream<Batch> =>
  transform(scope, input, { name, f: negated });

export function negated(b: Batch): Batch {
  const { diffs } = b;
  if (typeof diffs === 'number') return { ...b, diffs: -diffs };
  const out = new Float64Array(b.length);
  for (let i = 0; i < out.length; i++) out[i] = -diffs[i]!;
  return { ...b, diffs: out };
}
