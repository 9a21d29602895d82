/**
 * From ids that only ever grow to slots that are used again: two array reads, no hashing, for it is asked several times a run of an
 * operator. Ids lie in pages; a page goes when none of its ids is left, so memory follows what lives and not what lived.
 */
import { assert } from '../base/assert.ts';

const PAGE_BITS = 10;
const PAGE_IDS = 1 << PAGE_BITS;

interface Page {
  /** Slot + 1 of each id, 0 for none. */
  readonly slots: Int32Array;
  live: number;
}

export class IdSlots {
  readonly #pages: (Page | undefined)[] = [];

  set(id: number, slot: number): void {
    const page = (this.#pages[id >>> PAGE_BITS] ??= { slots: new Int32Array(PAGE_IDS), live: 0 });
    assert(page.slots[id & (PAGE_IDS - 1)] === 0, `id ${id} gets a slot once`);
    page.slots[id & (PAGE_IDS - 1)] = slot + 1;
    page.live++;
  }

  /** -1 without one. */
  get(id: number): number {
    const page = this.#pages[id >>> PAGE_BITS];
    return page === undefined ? -1 : page.slots[id & (PAGE_IDS - 1)]! - 1;
  }

  delete(id: number): void {
    const at = id >>> PAGE_BITS;
    const page = this.#pages[at];
    assert(page !== undefined && page.slots[id & (PAGE_IDS - 1)]! > 0, `id ${id} has a slot`);
    page.slots[id & (PAGE_IDS - 1)] = 0;
    if (--page.live === 0) this.#pages[at] = undefined;
  }
}
