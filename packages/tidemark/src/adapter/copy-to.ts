/** COPY … TO a file: chooses cluster, replica and time as a query does, and has the replica write what the query gives. */
import { SqlError, unsupported } from '../base/error.ts';
import type { CopyToSink } from '../compute/protocol.ts';
import { canceled } from '../controller/peeks.ts';
import { evalConstant } from '../expr/eval.ts';
import { isEvalError, sqlErrorOf } from '../expr/eval-error.ts';
import type { EvalContext } from '../expr/functions.ts';
import type { ScalarExpr } from '../expr/scalar.ts';
import type { QueryPlan } from '../plan/plan-query.ts';
import { copyFormat } from '../plan/statement/copy-format.ts';
import type { Plan } from '../plan/statement/plan.ts';
import { copyDataflow } from './dataflows.ts';
import type { Environment } from './environment.ts';
import { prepareRead, type QueryOptions, runQuery } from './query.ts';
import { type Result, streamOf } from './results.ts';

export type CopyToPlan = Extract<Plan, { kind: 'copyTo' }>;

export interface CopyRequest {
  readonly query: QueryPlan;
  readonly evalContext: EvalContext;
  readonly where: QueryOptions;
}

/** To the client, or to a file on the replica's machine. */
export async function copyResult(env: Environment, plan: CopyToPlan, request: CopyRequest): Promise<Result> {
  const format = copyFormat(plan.options);
  if (plan.location !== undefined) {
    const path = pathOf(plan.location, request.evalContext);
    return { kind: 'command', tag: `COPY ${await copyToFile(env, { path, format }, request)}` };
  }
  const { rows, desc } = await runQuery(env, request.query, request.where);
  return { kind: 'stream', desc, rows: streamOf(rows), copy: format, tag: (n) => `COPY ${n}` };
}

/** Rows written. */
async function copyToFile(
  env: Environment,
  file: Pick<CopyToSink, 'path' | 'format'>,
  { query, where }: CopyRequest,
): Promise<number> {
  const { signal } = where;
  const { c, built, ts, mirDesc, replicaId } = await prepareRead(env, query, where);
  const id = env.nextTransient();
  const { finishing, desc } = query;
  const d = copyDataflow(id, built, { ...file, desc: mirDesc, finishing, columns: desc.columns });
  const cancel = (): void => c.instance.drop([id]);
  if (signal.aborted) throw canceled();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return await c.instance.copyTo({ ...d, asOf: ts, until: ts + 1 }, replicaId);
  } catch (error) {
    throw signal.aborted ? canceled() : error;
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

function pathOf(location: ScalarExpr, evalContext: EvalContext): string {
  const value = evalConstant(location, evalContext);
  if (isEvalError(value)) throw sqlErrorOf(value.error);
  const path = value as string | null;
  if (path === null || path === '')
    throw new SqlError('invalid_parameter_value', 'the path of COPY cannot be NULL or empty');
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//i.exec(path) ?? [];
  if (scheme !== undefined) throw unsupported(`COPY to a URL (${scheme})`);
  return path;
}
