/**
 * How a log relation is declared: one literal. Row types, packing, arrangement keys, catalog entries, `\d` text and the docs page
 * derive from it.
 *
 * `number` never changes once released: `si<N>` is cluster number × 1000 + `number`, and clients store the oid that follows from it.
 */
import { systemOid } from '../base/ids.ts';
import type { SqlType, TypeName } from '../repr/types.ts';

export interface LogColumn {
  readonly name: string;
  readonly type: TypeName | SqlType;
  readonly nullable: boolean;
  readonly doc: string;
}

export interface LogRelation {
  readonly number: number;
  readonly oid: number;
  readonly doc: string;
  readonly columns: readonly LogColumn[];
  /** Column positions promised unique, in column order; null promises nothing. */
  readonly key: readonly number[] | null;
  /** How often a row is there is a number: of bytes, nanoseconds, messages. */
  readonly counts?: true;
}

export const col = (name: string, type: TypeName | SqlType, doc: string): LogColumn => ({
  name,
  type,
  nullable: false,
  doc,
});

export const nullable = (name: string, type: TypeName | SqlType, doc: string): LogColumn => ({
  ...col(name, type, doc),
  nullable: true,
});

/** Marks where the grain puts its column. */
export const WORKER: LogColumn = col('worker_id', 'uint8', 'worker that observed it');

interface Declared {
  readonly number: number;
  readonly doc: string;
  readonly columns: readonly LogColumn[];
  readonly key: readonly string[] | null;
}

const positions = (r: Declared, isKey: (c: LogColumn) => boolean): readonly number[] | null =>
  r.key === null ? null : r.columns.flatMap((c, i) => (isKey(c) ? [i] : []));

/** A relation with a row per worker: the worker joins the key, in column order. */
export const perWorker = (r: Declared): LogRelation => ({
  ...r,
  oid: systemOid(r.number),
  key: positions(r, (c) => c === WORKER || r.key!.includes(c.name)),
});

/** A relation whose grain has no worker: the process, or a pair of workers. */
export const plain = (r: Declared): LogRelation => ({
  ...r,
  oid: systemOid(r.number),
  key: positions(r, (c) => r.key!.includes(c.name)),
});

/**
 * A relation of counts: a row a worker, and how often it is there is the number. `count(*)` reads it; no previous value, no
 * retraction of it.
 */
export const counted = (r: Omit<Declared, 'key'>): LogRelation => ({
  ...r,
  oid: systemOid(r.number),
  key: null,
  counts: true,
});
