/** Inspect: shows each batch to a callback and passes it on. */

import type { Scope } from '../dataflow/builder.ts';
import type { Stream } from '../dataflow/ports.ts';
import type { Batch } from '../repr/batch.ts';
import { transform } from './transform.ts';

export const inspect = (
  scope: Scope,
  input: Stream<Batch>,
  look: (batch: Batch) => void,
  name = 'Inspect',
): Stream<Batch> =>
  transform(scope, input, {
    name,
    f: (b) => {
      look(b);
      return b;
    },
  });
