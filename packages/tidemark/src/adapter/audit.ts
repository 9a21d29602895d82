/**
 * `mz_audit_events`: what a transaction of the catalog does to each object, as rows of the same commit, so that neither is there without
 * the other. Ids are made of the generation, the start and a counter: they grow, and nothing is read back to find the next one.
 */
import { type Clock, nowMicros } from '../base/clock.ts';
import type { GlobalId } from '../base/ids.ts';
import { AUDIT_TABLE } from '../catalog/builtins/audit-table.ts';
import { type Entity, entityKey } from '../catalog/entities.ts';
import type { Batch } from '../repr/batch.ts';
import { canonicalJson } from '../repr/json.ts';
import { batchOf } from '../repr/rows.ts';
import type { Row } from '../repr/types.ts';

export interface AuditOptions {
  readonly generation: number;
  readonly start: number;
  readonly clock: Clock;
}

type KindOf = (id: GlobalId) => { readonly kind: string } | undefined;

const START_BITS = 20n;
const COUNT_BITS = 24n;

export class Audit {
  /** Whose statement runs; null: the engine changes something by itself. */
  by: string | null = null;
  readonly #clock: Clock;
  #nextId: bigint;

  constructor({ generation, start, clock }: AuditOptions) {
    this.#clock = clock;
    this.#nextId = (((BigInt(generation) << START_BITS) | BigInt(start)) << COUNT_BITS) + 1n;
  }

  /** Null: nothing of it concerns an object. `kindOf`: of items that come or go. */
  eventsOf(remove: readonly Entity[], put: readonly Entity[], kindOf: KindOf): Batch | null {
    const before = new Set(remove.map(entityKey));
    const after = new Set(put.map(entityKey));
    const at = BigInt(nowMicros(this.#clock));
    const rows = [...remove.filter((e) => !after.has(entityKey(e))), ...put].flatMap((e): Row[] => {
      const type = objectType(e, kindOf);
      if (type === null) return [];
      const stays = before.has(entityKey(e)) ? 'alter' : 'create';
      const change = after.has(entityKey(e)) ? stays : 'drop';
      return [[this.#nextId++, change, type, detailsOf(e), this.by, at]];
    });
    if (rows.length === 0) return null;
    const types = AUDIT_TABLE.columns.map((c) => c.type);
    return batchOf(types, rows);
  }
}

/** Null: what the catalog remembers for itself. */
function objectType(e: Entity, kindOf: KindOf): string | null {
  switch (e.kind) {
    case 'item':
      return kindOf(e.id)?.kind ?? null;
    case 'replica':
      return 'cluster-replica';
    case 'sequence':
      return null;
    default:
      return e.kind;
  }
}

function detailsOf(e: Entity): string {
  const json = (fields: object): string => canonicalJson(JSON.stringify(fields));
  switch (e.kind) {
    case 'comment':
      return json({ id: e.objectId, position: e.column });
    case 'setting':
      return json({ name: e.id, value: e.value });
    case 'replica':
      return json({ id: e.id, name: e.name, cluster_id: e.clusterId });
    case 'sequence':
      return json({});
    default:
      return json({ id: e.id, name: e.name });
  }
}
