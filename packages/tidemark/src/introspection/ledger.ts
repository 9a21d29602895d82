/**
 * Rows live as long as their owner. An owner (an export, a peek) has one ledger; every row is written through it, into a
 * named slot. Writing a slot again retracts what stood there; closing retracts everything, verbatim as emitted.
 * Re-deriving a row to retract it is how orphans are born, so nothing ever does.
 */
import { assert } from '../base/assert.ts';
import type { Row } from '../repr/types.ts';
import type { LogName } from './relations.ts';

/** Receives an update of a log relation. */
export type Emit = (relation: LogName, row: Row, diff: 1 | -1) => void;

export class Ledger {
  readonly #emit: Emit;
  readonly #slots = new Map<string, { readonly relation: LogName; readonly row: Row }>();
  #closed = false;

  constructor(emit: Emit) {
    this.#emit = emit;
  }

  has(slot: string): boolean {
    return this.#slots.has(slot);
  }

  put(slot: string, relation: LogName, row: Row): void {
    assert(!this.#closed, 'a closed ledger takes no rows');
    this.clear(slot);
    this.#slots.set(slot, { relation, row });
    this.#emit(relation, row, 1);
  }

  clear(slot: string): void {
    const old = this.#slots.get(slot);
    if (old === undefined) return;
    this.#slots.delete(slot);
    this.#emit(old.relation, old.row, -1);
  }

  close(): void {
    for (const slot of [...this.#slots.keys()]) this.clear(slot);
    this.#closed = true;
  }
}
