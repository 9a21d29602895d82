/**
 * Which dataflows' exports are looked at after a step: those whose frontiers can have moved. They move when an operator of the dataflow ran,
 * or of one whose arrangements it reads, or when a sink says so (`touch`). An export that is on its way to its last stage is looked at each
 * time: it also tells how far it is.
 *
 * So what the logs export (some 75 indexes on each replica), and a thousand indexes at rest, cost nothing in a step that did not concern
 * them. To look at one takes half a microsecond, and a worker that answers queries makes thousands of steps a second.
 */

export interface Reported {
  /** Says what moved; `restless`: it is to be asked again though nothing moves. */
  report(): 'settled' | 'restless';
}

export class Reporting {
  readonly #dataflows = new Map<number, Reported>();
  /** Dataflow -> those that read its arrangements, themselves or through others. */
  readonly #readers = new Map<number, Set<number>>();
  readonly #due = new Set<number>();

  /** `reads`: the dataflows whose indexes it imports, all added before. */
  add(dataflow: number, reported: Reported, reads: Iterable<number> = []): void {
    this.#dataflows.set(dataflow, reported);
    this.#due.add(dataflow);
    for (const read of reads) {
      // An index over an arrangement of another dataflow moves with that one.
      for (const readers of this.#readers.values()) if (readers.has(read)) readers.add(dataflow);
      const readers = this.#readers.get(read);
      if (readers === undefined) this.#readers.set(read, new Set([dataflow]));
      else readers.add(dataflow);
    }
  }

  remove(dataflow: number): void {
    this.#dataflows.delete(dataflow);
    this.#due.delete(dataflow);
    this.#readers.delete(dataflow);
    for (const [read, readers] of this.#readers)
      if (readers.delete(dataflow) && readers.size === 0) this.#readers.delete(read);
  }

  /** It is due, whatever ran. */
  touch(dataflow: number): void {
    if (this.#dataflows.has(dataflow)) this.#due.add(dataflow);
  }

  /** After a step in which operators of these dataflows ran. */
  report(ran: Iterable<number>): void {
    for (const dataflow of ran) {
      this.touch(dataflow);
      for (const reader of this.#readers.get(dataflow) ?? []) this.touch(reader);
    }
    if (this.#due.size === 0) return;
    const due = [...this.#due];
    this.#due.clear();
    for (const dataflow of due)
      if (this.#dataflows.get(dataflow)?.report() === 'restless') this.#due.add(dataflow);
  }
}
