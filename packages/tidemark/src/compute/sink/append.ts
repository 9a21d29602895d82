/**
 * Append, the third operator of a view's sink, on the owner: collects every worker's staged parts of a description and appends them
 * in one compare-and-append. Several replicas race safely: all compute the same contents, one append wins; the
 * others find the shard ahead, give their parts up (after the definite refusal, never before) and mint anew.
 */
import type { Scope } from '../../dataflow/builder.ts';
import type { OperatorContext } from '../../dataflow/operator.ts';
import type { Stream } from '../../dataflow/ports.ts';
import type { Shard } from '../../persist/shard.ts';
import type { Fence, Part } from '../../persist/shard-types.ts';
import type { Batch } from '../../repr/batch.ts';
import type { Frontier } from '../../time/timestamp.ts';
import { decodeControl } from '../control.ts';
import { isGone } from '../shard-source.ts';
import type { WriteDescription } from './mint.ts';
import type { Staged } from './write.ts';

export interface AppendOptions {
  /** The others have the operator too, without work: dataflows are the same on all workers, which introspection relies on. */
  readonly isOwner: boolean;
  readonly shard: Promise<Shard>;
  readonly fence: Fence;
  /** Of parts that nobody will append, or has. */
  readonly discard: (parts: readonly Part[]) => Promise<void>;
  /** The shard's upper is now this: by this append or by another's. */
  readonly onUpper: (upper: Frontier) => void;
  /** The shard is gone: nothing more is written. */
  readonly onError: (error: unknown) => void;
  /** A failure of the host; what failed is tried again. */
  readonly onRetry: (error: unknown) => void;
  /** Another may write now, for ever. */
  readonly onFenced: (by: string) => void;
  /** Resolves after a pause, for trying again. */
  readonly pause: () => Promise<void>;
}

export function append(
  scope: Scope,
  descriptions: Stream<Batch>,
  staged: Stream<Batch>,
  options: AppendOptions,
): void {
  const op = scope.operator('Append');
  const described = op.input(descriptions);
  const parts = op.input(staged);
  op.build((ctx) => {
    const appender = new Appender(ctx, options);
    return {
      run() {
        for (let b = described.pull(); b !== undefined; b = described.pull())
          if (options.isOwner)
            for (const { value } of decodeControl<WriteDescription>(b)) appender.describe(value);
        for (let b = parts.pull(); b !== undefined; b = parts.pull())
          for (const { value } of decodeControl<Staged>(b)) appender.staged(value);
      },
      shutdown: () => appender.end(),
    };
  });
}

interface Collecting {
  readonly description: WriteDescription;
  workers: number;
  readonly parts: Part[];
}

class Appender {
  readonly #peers: number;
  readonly #o: AppendOptions;
  /** By lower: answers may come before the description does. */
  readonly #collecting = new Map<
    number,
    { description?: WriteDescription; workers: number; parts: Part[] }
  >();
  #ended = false;

  constructor(ctx: OperatorContext, options: AppendOptions) {
    this.#peers = ctx.host.peers;
    this.#o = options;
  }

  describe(description: WriteDescription): void {
    this.#entry(description.lower).description = description;
    this.#complete(description.lower);
  }

  staged(s: Staged): void {
    const entry = this.#entry(s.lower);
    entry.workers++;
    entry.parts.push(...s.parts);
    this.#complete(s.lower);
  }

  #entry(lower: number): { description?: WriteDescription; workers: number; parts: Part[] } {
    let e = this.#collecting.get(lower);
    if (e === undefined) this.#collecting.set(lower, (e = { workers: 0, parts: [] }));
    return e;
  }

  #complete(lower: number): void {
    const { description, workers, parts } = this.#collecting.get(lower)!;
    if (description === undefined || workers < this.#peers) return;
    this.#collecting.delete(lower);
    void this.#append({ description, workers, parts });
  }

  async #append({ description, parts }: Collecting): Promise<void> {
    const shard = await this.#o.shard;
    const { discard } = this.#o;
    if (this.#ended) return discard(parts);
    // A refusal after an unknown outcome may be of what this very append has done: then the shard's state names the parts.
    let isDefinite = true;
    while (!this.#ended) {
      try {
        const result = await shard.compareAndAppend(this.#o.fence, {
          parts,
          expectedUpper: description.lower,
          newUpper: description.upper,
        });
        if (result.kind === 'fenced') {
          if (isDefinite) await discard(parts);
          this.#o.onFenced(result.by);
          return;
        }
        if (result.kind === 'mismatch' && isDefinite) await discard(parts);
        this.#o.onUpper(result.kind === 'ok' ? description.upper : result.upper);
        return;
      } catch (error) {
        // Whatever became of the append: nothing names a part of a shard that is gone.
        if (isGone(error)) await discard(parts);
        if (this.#ended) return;
        if (isGone(error)) return this.#o.onError(error);
        isDefinite = false;
        this.#o.onRetry(error);
        await this.#o.pause();
        // The outcome is unknown: the shard says what happened.
        const upper = await shard.refresh().then(
          (info) => info.upper,
          () => undefined,
        );
        if (upper !== undefined && upper > description.lower) {
          this.#o.onUpper(upper);
          return;
        }
      }
    }
  }

  end(): void {
    this.#ended = true;
    for (const { parts } of this.#collecting.values()) void this.#o.discard(parts);
    this.#collecting.clear();
  }
}
