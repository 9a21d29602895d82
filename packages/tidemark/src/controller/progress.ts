/**
 * How far each object has got with its snapshot on each replica: the sum over workers, as rows of `mz_hydration_progress`. A row is there
 * from the installation on, its total once every worker has looked at what there is to read; it never goes back, and
 * stays short of its total until every worker is hydrated, and at it afterwards.
 */
import type { GlobalId, ReplicaId } from '../base/ids.ts';
import type { LifecycleResponse, ProgressResponse } from '../compute/protocol.ts';

export interface ProgressRow {
  readonly rowsDone: number;
  /** Null: not known yet. */
  readonly rowsTotal: number | null;
}

interface Life {
  readonly life: number;
  readonly done: Map<number, number>;
  readonly total: Map<number, number>;
  readonly hydrated: Set<number>;
  row: ProgressRow;
}

export interface ProgressOptions {
  /** Null: the row goes. */
  readonly onRow: (replicaId: ReplicaId, objectId: GlobalId, row: ProgressRow | null) => void;
}

const sum = (m: ReadonlyMap<number, number>): number => m.values().reduce((a, b) => a + b, 0);

export class Progress {
  readonly #onRow: ProgressOptions['onRow'];
  readonly #replicas = new Map<ReplicaId, Map<GlobalId, Life>>();

  constructor(options: ProgressOptions) {
    this.#onRow = options.onRow;
  }

  receive(
    replica: { readonly id: ReplicaId; readonly workers: number },
    r: ProgressResponse | LifecycleResponse,
  ): void {
    const life = this.#life(replica.id, r);
    if (life === null) return;
    if (r.kind === 'progress') {
      life.done.set(r.worker, Math.max(r.rowsDone, life.done.get(r.worker) ?? 0));
      life.total.set(r.worker, r.rowsTotal);
    } else if (r.stage === 'hydrated') life.hydrated.add(r.worker);
    const row = rowOf(life, replica.workers);
    if (row.rowsDone === life.row.rowsDone && row.rowsTotal === life.row.rowsTotal) return;
    life.row = row;
    this.#onRow(replica.id, r.id, row);
  }

  /** Null: it is of a life that is over. */
  #life(replicaId: ReplicaId, r: ProgressResponse | LifecycleResponse): Life | null {
    let objects = this.#replicas.get(replicaId);
    if (objects === undefined) this.#replicas.set(replicaId, (objects = new Map()));
    const known = objects.get(r.id);
    if (known !== undefined && known.life >= r.life) return known.life === r.life ? known : null;
    const life: Life = {
      life: r.life,
      done: new Map(),
      total: new Map(),
      hydrated: new Set(),
      row: { rowsDone: 0, rowsTotal: null },
    };
    objects.set(r.id, life);
    this.#onRow(replicaId, r.id, life.row);
    return life;
  }

  /** The object was dropped. */
  forget(id: GlobalId): void {
    for (const [replicaId, objects] of this.#replicas)
      if (objects.delete(id)) this.#onRow(replicaId, id, null);
  }

  /** What its workers said is of an earlier life. */
  forgetReplica(replicaId: ReplicaId): void {
    for (const id of this.#replicas.get(replicaId)?.keys() ?? []) this.#onRow(replicaId, id, null);
    this.#replicas.delete(replicaId);
  }
}

function rowOf(life: Life, workers: number): ProgressRow {
  if (life.total.size < workers) return { rowsDone: 0, rowsTotal: null };
  const rowsTotal = sum(life.total);
  if (life.hydrated.size === workers) return { rowsDone: rowsTotal, rowsTotal };
  return { rowsDone: Math.max(0, Math.min(sum(life.done), rowsTotal - 1)), rowsTotal };
}
