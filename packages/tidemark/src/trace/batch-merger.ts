/** Placeholder shape, replaced below. */

import type { Frontier } from '../time/timestamp.ts';
import type { ArrangedBatch, ArrangementSpec } from './arranged-batch.ts';
import type { Fuel } from './fuel.ts';
export class BatchMerger {
  readonly older: ArrangedBatch;
  constructor(_spec: ArrangementSpec, older: ArrangedBatch, _newer: ArrangedBatch, _since: Frontier) {
    this.older = older;
  }
  work(_fuel: Fuel): ArrangedBatch | undefined {
    return this.older;
  }
}
