/**
 * `mz_hydration_progress`: how far each export has got, under the object that it maintains. A replacement has a row of its own until it is
 * applied; then its row is the object's, and what maintained that before has none.
 */
import type { GlobalId, ReplicaId } from '../base/ids.ts';
import type { CatalogState } from '../catalog/catalog-state.ts';
import type { ProgressRow } from '../controller/progress.ts';
import type { Row } from '../repr/types.ts';
import type { LiveChange } from './live-rows.ts';

export interface ProgressWorld {
  readonly catalog: Pick<CatalogState, 'shownAs'>;
  setLive(changes: readonly LiveChange[]): void;
}

interface Shown {
  readonly replicaId: ReplicaId;
  readonly exportId: GlobalId;
  readonly row: ProgressRow;
  as: GlobalId | null;
}

export class ProgressRows {
  readonly #world: ProgressWorld;
  readonly #shown = new Map<string, Shown>();

  constructor(world: ProgressWorld) {
    this.#world = world;
  }

  /** Null: it goes. */
  take(replicaId: ReplicaId, exportId: GlobalId, row: ProgressRow | null): void {
    const key = `${replicaId}/${exportId}`;
    if (row === null) {
      this.#shown.delete(key);
      this.#world.setLive([{ table: 'mz_hydration_progress', key, rows: [] }]);
      return;
    }
    const shown = { replicaId, exportId, row, as: this.#world.catalog.shownAs(exportId) };
    this.#shown.set(key, shown);
    this.#show(key, shown);
  }

  /** Perhaps a replacement was applied. */
  catalogChanged(): void {
    for (const [key, shown] of this.#shown) {
      const as = this.#world.catalog.shownAs(shown.exportId);
      if (as === shown.as) continue;
      shown.as = as;
      this.#show(key, shown);
    }
  }

  #show(key: string, { replicaId, row: { rowsDone, rowsTotal }, as }: Shown): void {
    const row: Row = [as, replicaId, BigInt(rowsDone), rowsTotal === null ? null : BigInt(rowsTotal)];
    this.#world.setLive([{ table: 'mz_hydration_progress', key, rows: as === null ? [] : [row] }]);
  }
}
