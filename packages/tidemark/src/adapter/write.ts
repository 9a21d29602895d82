/** INSERT, UPDATE, DELETE as updates of a table: minus old rows, plus new ones. */
import { SqlError } from '../base/error.ts';
import type { GlobalId } from '../base/ids.ts';
import type { RelationItem } from '../catalog/catalog-reader.ts';
import { rowErrorAt, sqlErrorOf } from '../expr/eval-error.ts';
import type { EvalContext } from '../expr/functions.ts';
import { compileMfp } from '../expr/mfp.ts';
import { negated } from '../operators/negate.ts';
import type { QueryPlan } from '../plan/plan-query.ts';
import type { DeletePlan, InsertPlan, ReturningPlan, UpdatePlan } from '../plan/statement/plan.ts';
import { type Batch, concatBatches, consolidate, diffAt } from '../repr/batch.ts';
import { isNull } from '../repr/column.ts';
import type { RelationDesc } from '../repr/types.ts';
import type { Environment } from './environment.ts';
import type { Result } from './results.ts';

export interface WriteResult {
  /** Rows written, as the command tag counts them. */
  readonly count: number;
  readonly updates: ReadonlyMap<GlobalId, Batch>;
  readonly returning: { readonly rows: Batch; readonly desc: RelationDesc } | null;
}

export type RunRead = (plan: QueryPlan) => Promise<Batch>;

export const readsBeforeWriting = (plan: InsertPlan | UpdatePlan | DeletePlan): boolean =>
  plan.kind !== 'insert' || plan.source.mir.op !== 'Constant';

export async function planWrite(
  env: Environment,
  plan: InsertPlan | UpdatePlan | DeletePlan,
  read: RunRead,
  evalContext: EvalContext,
): Promise<WriteResult> {
  const table = env.catalog.item(plan.target) as RelationItem;
  const returning = (rows: Batch): WriteResult['returning'] =>
    plan.returning === undefined
      ? null
      : { rows: evaluate(plan.returning, rows, evalContext), desc: plan.returning.desc };
  switch (plan.kind) {
    case 'insert': {
      const rows = await read(plan.source);
      checkNotNull(table, rows, plan.notNull);
      return { count: count(rows), updates: new Map([[plan.target, rows]]), returning: returning(rows) };
    }
    case 'delete': {
      const rows = await read(plan.read);
      return {
        count: count(rows),
        updates: new Map([[plan.target, negated(rows)]]),
        returning: returning(rows),
      };
    }
    case 'update': {
      const both = await read(plan.read);
      const old: Batch = { ...both, columns: both.columns.slice(0, plan.arity) };
      const next: Batch = { ...both, columns: both.columns.slice(plan.arity, 2 * plan.arity) };
      checkNotNull(table, next, plan.notNull);
      const updates = consolidate(concatBatches([negated(old), next]));
      return { count: count(both), updates: new Map([[plan.target, updates]]), returning: returning(next) };
    }
  }
}

export function written(kind: 'insert' | 'update' | 'delete', r: WriteResult): Result {
  const tag = kind === 'insert' ? `INSERT 0 ${r.count}` : `${kind.toUpperCase()} ${r.count}`;
  if (r.returning === null) return { kind: 'command', tag };
  return { kind: 'rows', desc: r.returning.desc, rows: r.returning.rows, tag: () => tag };
}

function count(rows: Batch): number {
  let n = 0;
  for (let i = 0; i < rows.length; i++) n += diffAt(rows, i);
  return n;
}

function checkNotNull(table: RelationItem, rows: Batch, columns: readonly number[]): void {
  for (const k of columns) {
    const c = rows.columns[k]!;
    if (c.validity === null) continue;
    for (let i = 0; i < rows.length; i++)
      if (isNull(c, i)) {
        const name = table.desc.columns[k]!.name;
        throw new SqlError(
          'not_null_violation',
          `null value in column "${name}" of relation "${table.name.item}" violates not-null constraint`,
          {
            schema: table.name.schema,
            table: table.name.item,
            column: name,
          },
        );
      }
  }
}

function evaluate(r: ReturningPlan, rows: Batch, context: EvalContext): Batch {
  const arity = rows.columns.length;
  const project = r.exprs.map((_, i) => arity + i);
  const { oks, errs } = compileMfp({ inputArity: arity, map: r.exprs, filter: [], project }, context)(rows);
  if (errs !== null) throw sqlErrorOf(rowErrorAt(errs, 0));
  return oks ?? { ...rows, length: 0, columns: [] };
}
