/** Exchange: rows move to the worker that a pact names, for operators that keep state by something else than a trace's key. */

import type { Scope } from '../dataflow/builder.ts';
import type { Pact } from '../dataflow/channel.ts';
import type { Stream } from '../dataflow/ports.ts';
import type { Batch } from '../repr/batch.ts';
import { transform } from './transform.ts';

export const exchangeRows = (
  scope: Scope,
  input: Stream<Batch>,
  pact: Pact,
  name = 'Exchange',
): Stream<Batch> => transform(scope, input, { name, pact, f: (b) => b });
