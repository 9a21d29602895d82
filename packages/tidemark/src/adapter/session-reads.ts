/** What a session reads: where its queries run, when, and what its open transaction makes of that. */
import { SqlError, unsupported } from '../base/error.ts';
import type { NameContext } from '../catalog/catalog-reader.ts';
import type { QueryPlan } from '../plan/plan-query.ts';
import type { SelectPlan, SubscribePlan } from '../plan/statement/plan.ts';
import { planStatement, type StatementContext } from '../plan/statement.ts';
import type { Statement } from '../sql/ast-statement.ts';
import { lowerCatalogCalls } from './catalog-functions.ts';
import { type CopyToPlan, copyResult } from './copy-to.ts';
import type { Environment } from './environment.ts';
import { type Place, type QueryOptions, type QueryResult, type ReadTimes, runQuery } from './query.ts';
import type { Result, RowStream } from './results.ts';
import type { Settings } from './settings.ts';
import { startSubscribe } from './subscribe.ts';
import { TimesToFix, type Transaction } from './transaction.ts';

export interface SessionReadsOptions {
  readonly env: Environment;
  readonly sessionId: number;
  readonly notice: (message: string) => void;
  readonly settings: Settings;
  /** The one that is open. */
  readonly transaction: () => Transaction | null;
  readonly names: () => NameContext;
  /** `mzNow`: the time that mz_now() is. */
  readonly context: (params?: Partial<StatementContext>, mzNow?: number) => StatementContext;
}

export class SessionReads {
  readonly #o: SessionReadsOptions;

  constructor(options: SessionReadsOptions) {
    this.#o = options;
  }

  get #place(): Place {
    const { env, settings, notice } = this.#o;
    const clusterName = settings.get('cluster');
    return {
      clusterId: env.catalog.cluster(clusterName)?.id,
      clusterName,
      replicaName: settings.get('cluster_replica'),
      notice,
    };
  }

  /** Freshness is given up for never waiting. */
  get #serializable(): boolean {
    return this.#o.settings.effective('transaction_isolation') === 'serializable';
  }

  async select(
    plan: SelectPlan,
    statement: Statement,
    params: Partial<StatementContext>,
    signal: AbortSignal,
  ): Promise<QueryResult> {
    const { env, context } = this.#o;
    const t = this.#o.transaction();
    if (plan.asOf !== undefined) throw unsupported('AS OF');
    if ((t?.writes.size ?? 0) > 0 && plan.query.reads.length > 0)
      throw unsupported('reading in a transaction that has written', { hint: 'commit first' });
    const usesNow = plan.query.contextual.includes('mz_now');
    if (!usesNow) return this.query(plan.query, signal);
    if (t?.times === undefined && !this.#serializable) await env.leadership.confirm(signal);
    // The time is chosen from what the plan reads; then it is planned again with it.
    const times = t?.times ?? { ts: env.oracle.readTime, logs: null };
    const again = planStatement(statement, context(params, times.ts));
    if (again?.kind !== 'select')
      throw new SqlError('internal_error', 'a statement plans to one kind of plan');
    return this.query(again.query, signal, times);
  }

  async query(query: QueryPlan, signal: AbortSignal, times?: ReadTimes): Promise<QueryResult> {
    const lowered = this.#lowered(query);
    return this.#fixing(this.#options(signal, times), (options) => runQuery(this.#o.env, lowered, options));
  }

  /** Reads at the times of the transaction that is open, or fixes them. */
  async #fixing<T>(options: QueryOptions, read: (options: QueryOptions) => Promise<T>): Promise<T> {
    const t = this.#o.transaction();
    if (t?.explicit !== true) return read(options);
    const fixing = new TimesToFix(this.#o.env, t);
    try {
      const result = await read({ ...options, chosen: fixing.chosen });
      fixing.fix();
      return result;
    } finally {
      fixing.release();
    }
  }

  #options(signal: AbortSignal, times?: ReadTimes): QueryOptions {
    const t = this.#o.transaction();
    return {
      ...this.#place,
      signal,
      serializable: this.#serializable,
      times: t?.times ?? times,
      repeatable: t?.explicit === true,
    };
  }

  #lowered(query: QueryPlan): QueryPlan {
    const { env, names } = this.#o;
    return { ...query, mir: lowerCatalogCalls(query.mir, { catalog: env.catalog, names: names() }) };
  }

  /** COPY … TO. */
  copy(plan: CopyToPlan, signal: AbortSignal): Promise<Result> {
    const query = this.#lowered(plan.query);
    const { eval: evalContext } = this.#o.context();
    return this.#fixing(this.#options(signal), (where) =>
      copyResult(this.#o.env, plan, { query, evalContext, where }),
    );
  }

  subscribe(plan: SubscribePlan, signal: AbortSignal): Promise<RowStream> {
    const { env, sessionId, context } = this.#o;
    return startSubscribe(env, plan, { ...this.#place, sessionId, evalContext: context().eval, signal });
  }
}
