/**
 * Which nodes of a dataflow's plans have their output past the as-of: each is looked at after a step until it has. Nodes without operators
 * of their own (reuses) and constants compute nothing, and are left out.
 */
import type { OutputPort, Sized } from '../dataflow/ports.ts';
import type { ExportLog } from '../introspection/compute-log.ts';
import type { LirSpan } from '../render/render.ts';
import type { Timestamp } from '../time/timestamp.ts';

interface Node {
  readonly lirId: number;
  readonly outputs: readonly OutputPort<Sized>[];
}

export class PlanHydration {
  readonly #asOf: Timestamp;
  #waiting: Node[] = [];

  constructor(asOf: Timestamp) {
    this.#asOf = asOf;
  }

  add(span: LirSpan): void {
    if (span.start < span.end && !span.isConstant)
      this.#waiting.push({ lirId: span.lirId, outputs: span.outputs });
  }

  /** Every node, before anything ran. */
  begin(exports: Iterable<ExportLog>): void {
    for (const e of exports) for (const n of this.#waiting) e.operatorHydrated(n.lirId, false);
  }

  look(exports: () => Iterable<ExportLog>): void {
    if (this.#waiting.length === 0) return;
    this.#waiting = this.#waiting.filter((n) => {
      if (n.outputs.some((o) => o.frontier <= this.#asOf)) return true;
      for (const e of exports()) e.operatorHydrated(n.lirId, true);
      return false;
    });
  }
}
