/** Constant: fixed updates, sent by worker 0 alone, and then complete for ever. */
import type { Scope } from '../dataflow/builder.ts';
import type { Stream } from '../dataflow/ports.ts';
import type { Batch } from '../repr/batch.ts';
import { source } from './source.ts';

export function constant(scope: Scope, batches: readonly Batch[], name = 'Constant'): Stream<Batch> {
  const { handle, stream } = source(scope, { name });
  if (scope.host.index === 0) for (const b of batches) handle.push(b);
  handle.close();
  return stream;
}
