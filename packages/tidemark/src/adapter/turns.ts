/**
 * Statements that read before they write: two updates of a row would otherwise both start from the same old one. Each waits for those
 * before it that it does not commute with: one of the two writes what the other reads or writes. So one that waits for a replica, or for
 * an index that hydrates, holds up no other table. Nobody waits for one that comes later: there is no deadlock, and everybody's turn comes.
 *
 * Cost: a look at each statement that is under way.
 */
import type { GlobalId } from '../base/ids.ts';
import { unlessAborted } from '../base/unless-aborted.ts';
import type { CatalogState } from '../catalog/catalog-state.ts';
import type { DeletePlan, InsertPlan, UpdatePlan } from '../plan/statement/plan.ts';

type WritePlan = InsertPlan | UpdatePlan | DeletePlan;

interface Touches {
  readonly writes: GlobalId;
  /** Through views too: what a maintained one reads, it will have to show. */
  readonly reads: ReadonlySet<GlobalId>;
}

interface Turn extends Touches {
  readonly over: Promise<void>;
}

export class Turns {
  readonly #catalog: Pick<CatalogState, 'behind'>;
  /** In the order of their coming. */
  readonly #open = new Set<Turn>();

  constructor(catalog: Pick<CatalogState, 'behind'>) {
    this.#catalog = catalog;
  }

  /** `replan`: as the catalog is now, for it may have changed meanwhile. An abort of `signal` ends the wait. */
  async run<P extends WritePlan, T>(
    o: { readonly plan: P; readonly replan: () => P; readonly signal: AbortSignal },
    f: (plan: P) => Promise<T>,
  ): Promise<T> {
    let touches = this.#touches(o.plan);
    for (;;) {
      const { promise: over, resolve } = Promise.withResolvers<void>();
      const before = [...this.#open].filter((t) => !commute(t, touches)).map((t) => t.over);
      const turn = { ...touches, over };
      this.#open.add(turn);
      try {
        await unlessAborted(Promise.all(before), o.signal);
        const plan = o.replan();
        touches = this.#touches(plan);
        // What it waited for was all that it had to wait for.
        if (touches.writes === turn.writes && touches.reads.isSubsetOf(turn.reads)) return await f(plan);
      } finally {
        this.#open.delete(turn);
        resolve();
      }
    }
  }

  #touches(plan: WritePlan): Touches {
    const { reads } = plan.kind === 'insert' ? plan.source : plan.read;
    return { writes: plan.target, reads: this.#catalog.behind(reads) };
  }
}

const commute = (a: Touches, b: Touches): boolean =>
  a.writes !== b.writes && !a.reads.has(b.writes) && !b.reads.has(a.writes);
