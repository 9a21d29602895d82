/**
 * What one replica has told about its objects in its present life: from the changes of its internal subscribe to rows of the relations,
 * and whether that is complete. The query sums over workers; how many workers there are the caller knows, never the rows.
 */
import type { GlobalId } from '../base/ids.ts';
import type { BuiltinTableName } from '../catalog/builtins/tables.ts';
import type { SubscribeBatch } from '../controller/subscribes.ts';
import { concatBatches, diffAt, timeAt } from '../repr/batch.ts';
import { datumAt } from '../repr/datum.ts';
import { Numeric } from '../repr/numeric.ts';
import type { Row, SqlType } from '../repr/types.ts';

/**
 * One subscribe for all relations, so that they are of one time and cost one dataflow. `told`: rows, one a worker; `done`: those that have
 * reached what they report.
 */
export const TOLD_SQL = `
  SELECT 'hydration' AS what, export_id, 0::uint8 AS node, count(*) AS told, count(time_ns) AS done, max(time_ns) AS value
  FROM mz_introspection.mz_compute_hydration_times_per_worker WHERE export_id NOT LIKE 't%' GROUP BY export_id
  UNION ALL
  SELECT 'operator', export_id, lir_id, count(*), count(*) FILTER (WHERE hydrated), NULL::uint8
  FROM mz_introspection.mz_compute_operator_hydration_statuses_per_worker WHERE export_id NOT LIKE 't%' GROUP BY export_id, lir_id
  UNION ALL
  SELECT 'errors', export_id, 0::uint8, sum(count)::int8, 0, NULL::uint8
  FROM mz_introspection.mz_compute_error_counts_raw GROUP BY export_id
  UNION ALL
  SELECT 'size', e.export_id, 0::uint8, s.size, 0, NULL::uint8
  FROM mz_introspection.mz_compute_exports e JOIN mz_introspection.mz_records_per_dataflow s ON s.id = e.dataflow_id
  WHERE s.size IS NOT NULL AND e.export_id NOT LIKE 't%'`;

type What = 'hydration' | 'operator' | 'errors' | 'size';

interface Told {
  readonly what: What;
  readonly exportId: GlobalId;
  readonly node: bigint;
  readonly told: bigint;
  readonly done: bigint;
  readonly value: bigint | null;
}

const TABLES: Readonly<Record<What, BuiltinTableName>> = {
  hydration: 'mz_told_hydration_times',
  operator: 'mz_told_operator_hydration',
  errors: 'mz_told_error_counts',
  size: 'mz_told_arrangement_sizes',
};

export interface ToldChange {
  readonly table: BuiltinTableName;
  /** Within the table. */
  readonly key: string;
  readonly rows: readonly Row[];
}

export class ToldRows {
  readonly #replicaId: string;
  readonly #workers: bigint;
  readonly #shownAs: (exportId: GlobalId) => GlobalId | null;
  readonly #told = new Map<string, Told>();
  /** What stands in the relations, by key. */
  readonly #shown = new Map<
    string,
    {
      readonly table: BuiltinTableName;
      readonly objectId: GlobalId;
      readonly text: string;
      readonly size: bigint;
    }
  >();

  constructor(o: {
    readonly replicaId: string;
    readonly workers: number;
    /** The object that it is told about; null: none. */
    readonly shownAs: (exportId: GlobalId) => GlobalId | null;
  }) {
    this.#replicaId = o.replicaId;
    this.#workers = BigInt(o.workers);
    this.#shownAs = o.shownAs;
  }

  /** Takes an interval in; gives what changes in the relations. */
  take(interval: SubscribeBatch, types: readonly SqlType[]): ToldChange[] {
    const touched = new Set<string>();
    for (const { diff, told } of updatesOf(interval, types)) {
      const key = `${told.what}/${told.exportId}/${told.node}`;
      touched.add(key);
      if (diff > 0) this.#told.set(key, told);
      else if (sameTold(this.#told.get(key), told)) this.#told.delete(key);
    }
    return [...touched].flatMap((key) => this.#change(key) ?? []);
  }

  /** Gives what changes since exports maintain other objects: a replacement was applied. */
  catalogChanged(): ToldChange[] {
    return [...this.#told].flatMap(([key, { exportId }]) =>
      (this.#shown.get(key)?.objectId ?? null) === this.#shownAs(exportId) ? [] : (this.#change(key) ?? []),
    );
  }

  #change(key: string): ToldChange | null {
    const told = this.#told.get(key);
    const shown = this.#shown.get(key);
    const objectId = told === undefined ? null : this.#shownAs(told.exportId);
    const row = objectId === null ? null : this.#row(told!, objectId);
    if (row === null) {
      if (shown === undefined) return null;
      this.#shown.delete(key);
      return { table: shown.table, key, rows: [] };
    }
    const text = row.map(String).join('|');
    if (shown?.text === text) return null;
    const size = told!.what === 'size' ? told!.told : 0n;
    // Sizes move with every row; who reads them wants their magnitude.
    const near = shown?.objectId === objectId && distance(size, shown!.size) * 16n <= shown!.size;
    if (told!.what === 'size' && near) return null;
    const table = TABLES[told!.what];
    this.#shown.set(key, { table, objectId: objectId!, text, size });
    return { table, key, rows: [row] };
  }

  #row(t: Told, id: GlobalId): Row | null {
    const all = t.told >= this.#workers && t.done >= this.#workers;
    switch (t.what) {
      case 'hydration':
        return [this.#replicaId, id, all ? t.value : null];
      case 'operator':
        return [this.#replicaId, id, t.node, all];
      case 'errors':
        return t.told === 0n ? null : [this.#replicaId, id, new Numeric(Number(t.told), null, 0)];
      case 'size':
        return [this.#replicaId, id, t.told];
    }
  }

  /** The sizes that are shown, with whether the object has hydrated. */
  *sizes(): Iterable<{ readonly objectId: GlobalId; readonly size: bigint; readonly hydrated: boolean }> {
    for (const { what, exportId, told } of this.#told.values()) {
      if (what !== 'size') continue;
      const objectId = this.#shownAs(exportId);
      if (objectId === null) continue;
      const done = this.#told.get(`hydration/${exportId}/0`)?.done ?? 0n;
      yield { objectId, size: told, hydrated: done >= this.#workers };
    }
  }

  /** Whether every worker has told of the export. */
  knows(exportId: GlobalId): boolean {
    return (this.#told.get(`hydration/${exportId}/0`)?.told ?? 0n) >= this.#workers;
  }

  /** Takes everything back: it was of a life that is over. */
  forget(): ToldChange[] {
    const out = [...this.#shown].map(([key, { table }]) => ({ table, key, rows: [] }));
    this.#shown.clear();
    this.#told.clear();
    return out;
  }
}

const distance = (a: bigint, b: bigint): bigint => (a > b ? a - b : b - a);

const sameTold = (a: Told | undefined, b: Told): boolean =>
  a !== undefined && a.told === b.told && a.done === b.done && a.value === b.value;

/** In order of time, and what goes before what comes. */
function updatesOf(
  interval: SubscribeBatch,
  types: readonly SqlType[],
): { readonly diff: number; readonly told: Told }[] {
  if (interval.parts.length === 0) return [];
  const all = concatBatches(interval.parts);
  const order = Array.from({ length: all.length }, (_, i) => i);
  order.sort((i, j) => timeAt(all, i) - timeAt(all, j) || diffAt(all, i) - diffAt(all, j));
  return order.map((i) => {
    const [what, exportId, node, told, done, value] = types.map((t, k) => datumAt(t, all.columns[k]!, i));
    return {
      diff: diffAt(all, i),
      told: { what, exportId, node, told, done, value } as unknown as Told,
    };
  });
}
