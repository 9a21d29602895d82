/**
 * The one place where writers agree. Each key holds a short log of entries numbered 1, 2, 3 …; an entry is added
 * by comparing the number of the last one. A `reset` entry stands for all before it, which go in the same
 * transaction: so the log of a key always begins with a reset or with entry 1, and stays as short as its writers
 * keep it. A log instead of one value, because a single-row insert then writes its own bytes only, not the state.
 */

/** Number of an entry of a key: 1 for the first, then without gaps. */
export type Seqno = number;

export interface Versioned {
  readonly seqno: Seqno;
  readonly value: Uint8Array;
}

export interface CasOp {
  readonly key: string;
  /** The last entry as the writer knows it; null: the key has none. */
  readonly expected: Seqno | null;
  readonly value: Uint8Array;
  /** The value stands alone: earlier entries are removed with it. */
  readonly reset?: boolean;
}

export interface CasResult {
  readonly applied: boolean;
  /** Number of the key's last entry after the call. */
  readonly seqno: Seqno | null;
}

/** `all`: every operation applies or none does. `each`: each by itself. One transaction either way. */
export type CasMode = 'all' | 'each';

export interface Consensus {
  /** The last entry. */
  head(key: string): Promise<Versioned | null>;
  /**
   * The entries after `after` (0: from the start), in order. If the first has not the number `after + 1`, what is
   * missing was reset, and the first entry stands alone.
   */
  read(key: string, after: Seqno): Promise<Versioned[]>;
  /**
   * Durable when resolved, with one flush to disk for all operations; calls made together may share it too. When
   * it rejects (io_error, disk_full, connection_failure) the outcome is unknown, and the caller reads before it
   * decides anything. The keys are distinct.
   */
  compareAndSet(ops: readonly CasOp[], mode: CasMode): Promise<CasResult[]>;
  /** Forgets a key with all its entries. */
  remove(key: string): Promise<void>;
  /** The keys that begin with `prefix`, sorted. */
  list(prefix: string): Promise<string[]>;
}

/** Consensus within this process. */
export class MemoryConsensus implements Consensus {
  readonly #logs = new Map<string, Versioned[]>();

  async head(key: string): Promise<Versioned | null> {
    const head = this.#logs.get(key)?.at(-1);
    return head === undefined ? null : { seqno: head.seqno, value: head.value.slice() };
  }

  async read(key: string, after: Seqno): Promise<Versioned[]> {
    const log = this.#logs.get(key) ?? [];
    return log.filter((e) => e.seqno > after).map((e) => ({ seqno: e.seqno, value: e.value.slice() }));
  }

  async compareAndSet(ops: readonly CasOp[], mode: CasMode): Promise<CasResult[]> {
    const current = ops.map((op) => this.#logs.get(op.key)?.at(-1)?.seqno ?? null);
    const matches = ops.map((op, i) => op.expected === current[i]);
    if (mode === 'all' && matches.includes(false)) return current.map((seqno) => ({ applied: false, seqno }));
    return ops.map((op, i) => {
      if (!matches[i]) return { applied: false, seqno: current[i]! };
      const entry = { seqno: (op.expected ?? 0) + 1, value: op.value.slice() };
      const log = this.#logs.get(op.key);
      if (log === undefined || op.reset) this.#logs.set(op.key, [entry]);
      else log.push(entry);
      return { applied: true, seqno: entry.seqno };
    });
  }

  async remove(key: string): Promise<void> {
    this.#logs.delete(key);
  }

  async list(prefix: string): Promise<string[]> {
    return [...this.#logs.keys()].filter((k) => k.startsWith(prefix)).sort();
  }
}
