/** Stores whose operations on chosen shards wait until a test lets them go: a slow disk, a slow sink. */
import { type Blob, MemoryBlob } from '../persist/blob.ts';
import {
  type CasMode,
  type CasOp,
  type CasResult,
  type Consensus,
  MemoryConsensus,
} from '../persist/consensus.ts';

class Gates {
  readonly #held = new Map<
    string,
    { readonly open: Promise<void>; readonly release: () => void; letThrough: number }
  >();

  readonly #slow = new Map<string, (f: () => void) => void>();

  hold(prefix: string, letThrough = 0): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const gate = { open: promise, release: resolve, letThrough };
    this.#held.set(prefix, gate);
    return () => {
      if (this.#held.get(prefix) === gate) this.#held.delete(prefix);
      resolve();
    };
  }

  /** `wait` runs what it is given after the time that an operation takes. */
  slow(prefix: string, wait: (f: () => void) => void): () => void {
    this.#slow.set(prefix, wait);
    return () => void this.#slow.delete(prefix);
  }

  async pass(key: string): Promise<void> {
    for (const [prefix, wait] of [...this.#slow]) if (key.startsWith(prefix)) await new Promise<void>(wait);
    for (const [prefix, gate] of [...this.#held])
      if (key.startsWith(prefix) && gate.letThrough-- <= 0) await gate.open;
  }
}

export class HeldConsensus extends MemoryConsensus implements Consensus {
  readonly #gates = new Gates();

  /** Writes to keys that begin so wait until the returned function is called. */
  hold(prefix: string): () => void {
    return this.#gates.hold(prefix);
  }

  /** Writes to keys that begin so take that long, until the returned function is called. */
  slow(prefix: string, wait: (f: () => void) => void): () => void {
    return this.#gates.slow(prefix, wait);
  }

  override async compareAndSet(ops: readonly CasOp[], mode: CasMode): Promise<CasResult[]> {
    for (const op of ops) await this.#gates.pass(op.key);
    return super.compareAndSet(ops, mode);
  }
}

export class HeldBlob extends MemoryBlob implements Blob {
  readonly #gates = new Gates();
  readonly #broken = new Set<string>();

  /** Reads of keys that begin so fail until the returned function is called. */
  break(prefix: string): () => void {
    this.#broken.add(prefix);
    return () => void this.#broken.delete(prefix);
  }

  /** Reads of keys that begin so wait, all but the first ones, until the returned function is called. */
  hold(prefix: string, letThrough?: number): () => void {
    return this.#gates.hold(prefix, letThrough);
  }

  override async get(key: string): Promise<Uint8Array<ArrayBuffer> | null> {
    await this.#gates.pass(key);
    for (const prefix of this.#broken) if (key.startsWith(prefix)) throw new Error('the disk is broken');
    return super.get(key);
  }
}
