/** Something that opens once: imports of a dataflow that was not started yet wait behind it. */
export class Gate {
  #open = false;
  #waiting: (() => void)[] = [];

  get isOpen(): boolean {
    return this.#open;
  }

  open(): void {
    this.#open = true;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const f of waiting) f();
  }

  /** Calls `f` when it opens, or at once. */
  whenOpen(f: () => void): void {
    if (this.#open) f();
    else this.#waiting.push(f);
  }
}
