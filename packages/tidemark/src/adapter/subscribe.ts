/**
 * Starts a SUBSCRIBE: chooses its cluster, replica and time, builds its dataflow, and gives its rows as they come. It lives until it
 * ends, its reader closes it, or something that it stands on goes: then its reader hears why, and everything it held is free.
 */

import { nowMicros } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import type { GlobalId } from '../base/ids.ts';
import { GoneError } from '../controller/peeks.ts';
import type { SubscribeStream } from '../controller/subscribes.ts';
import { evalConstant } from '../expr/eval.ts';
import { isEvalError, sqlErrorOf } from '../expr/eval-error.ts';
import type { EvalContext } from '../expr/functions.ts';
import type { ScalarExpr } from '../expr/scalar.ts';
import type { QueryPlan } from '../plan/plan-query.ts';
import { copyFormat } from '../plan/statement/copy-format.ts';
import type { CopySubscribePlan, SubscribePlan } from '../plan/statement/plan.ts';
import { SqlList } from '../repr/array.ts';
import type { Batch } from '../repr/batch.ts';
import type { Row } from '../repr/types.ts';
import { EMPTY, MAX_TIME, type Timestamp } from '../time/timestamp.ts';
import { boundsOf, buildPlan, subscribeDataflow } from './dataflows.ts';
import type { Environment } from './environment.ts';
import { newestLogTime } from './log-times.ts';
import { answeredBy, clusterOf, type Place, tellWait } from './query.ts';
import { refuseFailed } from './reader-failures.ts';
import type { Result, RowStream } from './results.ts';
import { subscribeRows } from './subscribe-rows.ts';

export interface SubscribeRequest extends Place {
  readonly sessionId: number;
  readonly evalContext: EvalContext;
  /** Of its start. */
  readonly signal: AbortSignal;
}

/** What SUBSCRIBE answers, and COPY of one. */
export async function streamResult(
  plan: SubscribePlan | CopySubscribePlan,
  start: (plan: SubscribePlan) => Promise<RowStream>,
): Promise<Result> {
  if (plan.kind === 'subscribe') {
    const rows = await start(plan);
    return { kind: 'stream', desc: plan.desc, rows, copy: null, tag: (n) => `SUBSCRIBE ${n}` };
  }
  const copy = copyFormat(plan.options);
  const rows = await start(plan.plan);
  return { kind: 'stream', desc: plan.plan.desc, rows, copy, tag: (n) => `COPY ${n}` };
}

export async function startSubscribe(
  env: Environment,
  plan: SubscribePlan,
  request: SubscribeRequest,
): Promise<RowStream> {
  await env.leadership.confirm(request.signal);
  const { query } = plan;
  const gone = () => new GoneError('a relation that the SUBSCRIBE reads');
  if (!isThere(env, query)) throw gone();
  refuseFailed(env, query.reads);
  const c = clusterOf(env, query, request);
  const { logReads, replicaId } = answeredBy(env, c, query.reads, request);
  tellWait(env, c, { replicaId, notice: request.notice });
  const built = buildPlan(c, query.mir);
  const { since } = boundsOf(c, built);
  // Logs have times of their own: of them alone, the newest that is there.
  const onlyLogs = logReads.length > 0 && logReads.length === query.reads.length;
  const newest = onlyLogs ? newestLogTime(c, replicaId!, logReads) : env.oracle.readTime;
  const asOf = chooseAsOf(env, plan, { since, newest, evalContext: request.evalContext });
  const upTo = plan.upTo === undefined ? EMPTY : timeOf(env, plan.upTo, 'UP TO', request.evalContext);
  if (upTo < asOf)
    throw new SqlError('invalid_parameter_value', `UP TO ${upTo} is before AS OF ${asOf}`, {
      hint: 'a SUBSCRIBE tells what happens from the one to the other',
    });
  const id = env.nextTransient();
  const forget = announce(env, id, { ...request, plan, clusterId: c.clusterId });
  const stopWatching = env.onCatalogChange(() => {
    if (!isThere(env, query)) stream.close(gone());
  });
  const dataflow = subscribeDataflow(id, built, { desc: query.desc, withSnapshot: plan.snapshot, upTo });
  const stream = c.instance.subscribe(
    { ...dataflow, asOf },
    {
      replicaId,
      onEnd: () => {
        forget();
        stopWatching();
      },
    },
  );
  return new Running(plan, stream, asOf);
}

/** Everything that the query reads or names. */
const isThere = (env: Environment, { reads, dependsOn }: QueryPlan): boolean =>
  [...reads, ...dependsOn].every((id) => env.catalog.item(id) !== undefined);

/** The row of mz_subscriptions; gives the call that takes it back. */
function announce(
  env: Environment,
  id: GlobalId,
  o: { readonly sessionId: number; readonly plan: SubscribePlan; readonly clusterId: string },
): () => void {
  const now = BigInt(nowMicros(env.options.clock));
  const named = new SqlList([...o.plan.query.dependsOn].sort());
  const row: Row = [id, BigInt(o.sessionId), o.clusterId, now, named];
  env.setLive([{ table: 'mz_subscriptions', key: id, rows: [row] }]);
  return () => env.setLive([{ table: 'mz_subscriptions', key: id, rows: [] }]);
}

function chooseAsOf(
  env: Environment,
  plan: SubscribePlan,
  o: { readonly since: Timestamp; readonly newest: Timestamp; readonly evalContext: EvalContext },
): Timestamp {
  const chosen = Math.max(o.since, o.newest);
  if (plan.asOf === undefined) return chosen;
  const asked = timeOf(env, plan.asOf.time, 'AS OF', o.evalContext);
  if (plan.asOf.atLeast) return Math.max(asked, chosen);
  if (asked < o.since)
    throw new SqlError(
      'object_not_in_prerequisite_state',
      `what the SUBSCRIBE reads is readable from ${o.since} on, not at ${asked}`,
      { hint: 'AS OF AT LEAST takes the earliest time that can be read' },
    );
  return asked;
}

function timeOf(env: Environment, e: ScalarExpr, clause: string, context: EvalContext): Timestamp {
  const value = evalConstant(e, { ...context, mzNow: env.oracle.readTime });
  if (isEvalError(value)) throw sqlErrorOf(value.error);
  if (value === null) throw new SqlError('null_value_not_allowed', `the time of ${clause} cannot be NULL`);
  const time = value as number;
  if (time <= MAX_TIME) return time;
  throw new SqlError('datetime_field_overflow', `the time of ${clause} is out of range`);
}

class Running implements RowStream {
  readonly #stream: SubscribeStream;
  readonly #shape: Parameters<typeof subscribeRows>[0];
  readonly #rows: Batch[] = [];

  constructor(plan: SubscribePlan, stream: SubscribeStream, asOf: Timestamp) {
    this.#stream = stream;
    this.#shape = { ...plan, types: plan.query.desc.columns.map((c) => c.type) };
    // The first word of PROGRESS: where it begins.
    this.#rows.push(...subscribeRows(this.#shape, { lower: 0, upper: asOf, parts: [] }));
  }

  poll(): Batch | null | undefined {
    for (;;) {
      const next = this.#rows.shift();
      if (next !== undefined) return next;
      const interval = this.#stream.poll();
      if (interval === undefined || interval === null) return interval;
      this.#rows.push(...subscribeRows(this.#shape, interval));
    }
  }

  async ready(): Promise<void> {
    if (this.#rows.length === 0) await this.#stream.ready();
  }

  close(error?: SqlError): void {
    this.#rows.length = 0;
    this.#stream.close(error);
  }
}
