/**
 * All log relations. A new one is a literal in one of the three files, and a handler that feeds it.
 */
import type { ColumnDesc, RelationDesc, SqlType, TypeName } from '../repr/types.ts';
import { type } from '../repr/types.ts';
import type { LogRelation } from './log-relation.ts';
import { ARRANGEMENT_RELATIONS } from './relations-arrangement.ts';
import { COMPUTE_RELATIONS } from './relations-compute.ts';
import { RUNTIME_RELATIONS } from './relations-runtime.ts';

export const LOG_RELATIONS = {
  ...COMPUTE_RELATIONS,
  ...RUNTIME_RELATIONS,
  ...ARRANGEMENT_RELATIONS,
} as const satisfies Record<string, LogRelation>;

export type LogName = keyof typeof LOG_RELATIONS;
export const LOG_NAMES = Object.keys(LOG_RELATIONS) as LogName[];

/** Log numbers stay below it, so that `si<N>` of two clusters never meet. */
export const LOGS_PER_CLUSTER = 1000;

const sqlType = (t: TypeName | SqlType): SqlType => (typeof t === 'string' ? type(t) : t);

export function logDesc(name: LogName): RelationDesc {
  const r: LogRelation = LOG_RELATIONS[name];
  const columns: ColumnDesc[] = r.columns.map((c) => ({
    name: c.name,
    type: sqlType(c.type),
    nullable: c.nullable,
  }));
  return { columns, keys: r.key === null ? [] : [r.key] };
}

/** The columns that its index is arranged by: the key, or the whole row. */
export function logIndexKey(name: LogName): readonly number[] {
  const r: LogRelation = LOG_RELATIONS[name];
  return r.key ?? r.columns.map((_, i) => i);
}
