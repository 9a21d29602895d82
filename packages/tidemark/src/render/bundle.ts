/**
 * A collection while it is being rendered: as a stream, as arrangements by key, or both. Whoever wants a form asks for it;
 * it is made once.
 */
import { assert } from '../base/assert.ts';
import type { Scope } from '../dataflow/builder.ts';
import type { OutputPort, Sized, Stream } from '../dataflow/ports.ts';
import { type Arranged, arrange } from '../operators/arrange.ts';
import { asRows } from '../operators/as-rows.ts';
import type { Batch } from '../repr/batch.ts';
import { kindOf, type SqlType } from '../repr/types.ts';
import { arrangementSpec } from '../trace/arranged-batch.ts';

const keyName = (key: readonly number[]): string => key.join(',');

export class Bundle {
  readonly types: readonly SqlType[];
  readonly errs: Stream<Batch>;
  readonly #arranged = new Map<string, Arranged>();
  #oks: Stream<Batch> | undefined;

  constructor(types: readonly SqlType[], errs: Stream<Batch>, oks?: Stream<Batch>) {
    this.types = types;
    this.errs = errs;
    this.#oks = oks;
  }

  /** The ports of every form that it has by now. */
  get outputs(): readonly OutputPort<Sized>[] {
    const streams: { readonly port: unknown }[] = [this.errs];
    if (this.#oks !== undefined) streams.push(this.#oks);
    for (const a of this.#arranged.values()) streams.push(a.stream);
    return streams.map((s) => s.port as OutputPort<Sized>);
  }

  addArranged(key: readonly number[], arranged: Arranged): this {
    this.#arranged.set(keyName(key), arranged);
    return this;
  }

  /** The rows as a stream; read back from an arrangement if that is all there is. */
  oks(scope: Scope): Stream<Batch> {
    if (this.#oks !== undefined) return this.#oks;
    const [any] = this.#arranged.values();
    assert(any !== undefined, 'a collection has a stream or an arrangement');
    this.#oks = asRows(scope, any);
    return this.#oks;
  }

  arranged(scope: Scope, key: readonly number[]): Arranged {
    const have = this.#arranged.get(keyName(key));
    if (have !== undefined) return have;
    const made = arrange(scope, this.oks(scope), {
      name: `ArrangeBy[${key.map((k) => `#${k}`).join(', ')}]`,
      spec: arrangementSpec(this.types.map(kindOf), key),
    });
    this.addArranged(key, made);
    return made;
  }
}
