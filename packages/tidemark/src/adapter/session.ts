/**
 * A session: settings, a transaction, prepared statements, cursors. Executes one statement at a time and gives its result; wires and the
 * library stand on it. Errors fail the transaction that is open; whoever reports them calls `fail`.
 */
import { type ErrorCode, SqlError, unsupported } from '../base/error.ts';
import type { ClusterId, GlobalId, ReplicaId } from '../base/ids.ts';
import type { NameContext } from '../catalog/catalog-reader.ts';
import { durationMs } from '../catalog/settings.ts';
import type { EvalContext } from '../expr/functions.ts';
import { type Plan, planStatement, type StatementContext } from '../plan/statement.ts';
import type { Datum, RelationDesc, SqlType } from '../repr/types.ts';
import type { Statement } from '../sql/ast-statement.ts';
import { Cursors } from './cursors.ts';
import { dataflowContext } from './ddl/create.ts';
import { executeDdl, NOTHING_TO_DO } from './ddl/execute.ts';
import { describe } from './describe.ts';
import type { Environment } from './environment.ts';
import { readableViews, wantedReplica } from './log-times.ts';
import {
  argumentValues,
  deallocate,
  findPrepared,
  type PreparedStatement,
  refuseChange,
} from './prepared.ts';
import { readableAt } from './query.ts';
import { cancellable, type Result, SHOW_CREATE, textBatch, textRows } from './results.ts';
import { RunningStatements } from './running-statements.ts';
import { evalContext } from './session-facts.ts';
import { SessionReads } from './session-reads.ts';
import { type SettingPlan, settingStatement } from './setting-statements.ts';
import { Settings } from './settings.ts';
import { streamResult } from './subscribe.ts';
import { addWrite, flush, newTransaction, release, type Transaction } from './transaction.ts';
import { type TransactionPlan, transactionStatement } from './transaction-statements.ts';
import { planWrite, readsBeforeWriting, type WriteResult, written } from './write.ts';

export type TransactionStatus = 'idle' | 'open' | 'failed';

export interface SessionOptions {
  readonly env: Environment;
  readonly user: string;
  readonly database: string;
  readonly sessionId: number;
  /** `warning`: with its code; else a mere notice. */
  readonly notice: (message: string, warning?: ErrorCode) => void;
  readonly onSetting?: (name: string, value: string) => void;
}

export class Session {
  readonly settings: Settings;
  readonly prepared: Map<string, PreparedStatement> = new Map();
  readonly #o: SessionOptions;
  readonly #env: Environment;
  readonly #cursors = new Cursors();
  readonly #reads: SessionReads;
  #transaction: Transaction | null = null;
  readonly running = new RunningStatements();

  constructor(options: SessionOptions) {
    this.#o = options;
    this.#env = options.env;
    this.settings = new Settings(options.onSetting ?? (() => undefined), options.env);
    if (this.#env.catalog.database(options.database) !== undefined)
      this.settings.set('database', [options.database]);
    this.#reads = new SessionReads({
      ...options,
      settings: this.settings,
      transaction: () => this.#transaction,
      names: () => this.#names,
      context: (params, mzNow) => this.#context(params, mzNow),
    });
  }

  get status(): TransactionStatus {
    const t = this.#transaction;
    if (t === null || (!t.explicit && t.status === 'open')) return 'idle';
    return t.status;
  }

  // ---- Context

  get #names(): NameContext {
    return {
      database: this.settings.get('database'),
      searchPath: this.settings.list('search_path'),
      sessionId: this.#o.sessionId,
    };
  }

  #evalContext(mzNow?: number): EvalContext {
    return evalContext(this.#env, {
      ...this.#o,
      names: this.#names,
      settings: this.settings,
      startedMicros: this.#transaction?.startedMicros,
      mzNow,
    });
  }

  #context(more: Partial<StatementContext> = {}, mzNow?: number): StatementContext {
    const cluster = this.#env.catalog.cluster(this.settings.get('cluster'));
    const replica = cluster && wantedReplica(cluster, this.settings.get('cluster_replica'));
    return {
      catalog: this.#env.catalog,
      names: this.#names,
      eval: this.#evalContext(mzNow),
      cluster: cluster?.id,
      indexedViews: cluster && this.#readable(cluster.id, replica),
      ...more,
    };
  }

  #readable(cluster: ClusterId, replica: ReplicaId | undefined): (id: GlobalId) => boolean {
    return readableViews(readableAt(dataflowContext(this.#env, cluster), this.#transaction?.times), replica);
  }

  // ---- Statements

  #planned<T>(
    s: Statement,
    more: Partial<StatementContext>,
    by: (s: Statement, c: StatementContext) => T,
  ): T {
    const { plans, catalog } = this.#env;
    return plans.plan(s, this.#context(more), { revision: catalog.revision, make: (c) => by(s, c) });
  }

  prepare(
    name: string,
    statement: Statement,
    paramTypes: readonly (SqlType | undefined)[] = [],
  ): PreparedStatement {
    if (name !== '' && this.prepared.has(name))
      throw new SqlError('duplicate_prepared_statement', `prepared statement "${name}" already exists`);
    this.#refuseInFailed(statement);
    const { paramTypes: types, result } = describe(statement, paramTypes, {
      cursors: this.#cursors,
      prepared: this.prepared,
      planned: (s, more, by) => this.#planned(s, more, by),
    });
    const p: PreparedStatement = { statement, paramTypes: types, result };
    this.prepared.set(name, p);
    return p;
  }

  find(name: string): PreparedStatement {
    return findPrepared(this.prepared, name);
  }

  /**
   * Runs a statement; outside a transaction block it is a transaction of its own. `more`: others of the same text follow, and
   * writes of literal rows that follow each other in it become durable together. `described`: the columns that the client was told.
   */
  async execute(
    statement: Statement,
    params?: { readonly types: readonly SqlType[]; readonly values: readonly Datum[] },
    options: { readonly more?: boolean; readonly described?: RelationDesc | undefined } = {},
  ): Promise<Result> {
    this.#refuseInFailed(statement);
    const timeout = durationMs('statement_timeout', this.settings.get('statement_timeout'));
    const running = this.running.begin(this.#env.options.timers, timeout);
    const { signal } = running;
    let streams = false;
    try {
      if (this.#transaction === null) this.#begin(false);
      const more = params === undefined ? {} : { paramTypes: params.types, paramValues: params.values };
      let plan = this.#planned(statement, more, planStatement);
      refuseChange(options.described, plan);
      const joins = plan?.kind === 'insert' && !readsBeforeWriting(plan);
      const pending = this.#implicit && this.#transaction!.writes.size > 0;
      if (pending && !joins) {
        await this.#commit();
        this.#begin(false);
        plan = this.#planned(statement, more, planStatement);
      }
      const result = await this.#run(plan, statement, more, signal);
      if (this.#implicit && !(joins && options.more === true)) await this.#commit();
      if (result.kind !== 'stream') return result;
      streams = true;
      return { ...result, rows: cancellable(result.rows, signal, running.end) };
    } catch (error) {
      if (this.#implicit) this.#rollback();
      throw signal.reason instanceof SqlError ? signal.reason : error;
    } finally {
      if (!streams) running.end();
    }
  }

  /** A transaction is open that no BEGIN has begun. */
  get #implicit(): boolean {
    return this.#transaction !== null && !this.#transaction.explicit;
  }

  cancel(): void {
    this.running.cancel();
  }

  /** An error was reported: an open block fails. */
  fail(): void {
    const t = this.#transaction;
    if (t === null) return;
    if (t.explicit) {
      t.status = 'failed';
      release(t);
    } else this.#rollback();
  }

  close(): void {
    this.cancel();
    if (this.#transaction !== null) this.#rollback();
    this.#cursors.close(undefined);
    this.prepared.clear();
  }

  #refuseInFailed(statement: Statement): void {
    if (this.#transaction?.status !== 'failed') return;
    if (statement.kind === 'rollback' || statement.kind === 'commit') return;
    throw new SqlError(
      'in_failed_sql_transaction',
      'current transaction is aborted, commands ignored until end of transaction block',
    );
  }

  async #run(
    plan: Plan | undefined,
    statement: Statement,
    params: Partial<StatementContext>,
    signal: AbortSignal,
  ): Promise<Result> {
    if (plan === undefined) return { kind: 'command', tag: NOTHING_TO_DO };
    switch (plan.kind) {
      case 'select': {
        const r = await this.#reads.select(plan, statement, params, signal);
        return { kind: 'rows', desc: r.desc, rows: r.rows, tag: (n) => `SELECT ${n}` };
      }
      case 'insert':
      case 'update':
      case 'delete':
        return this.#write(plan, statement, params, signal);
      case 'explain':
        return textRows(plan.column, plan.lines, 'EXPLAIN');
      case 'showCreate':
        return {
          kind: 'rows',
          desc: SHOW_CREATE,
          rows: textBatch([[plan.name, plan.sql]]),
          tag: () => 'SHOW',
        };
      case 'subscribe':
      case 'copySubscribe':
        return streamResult(plan, (p) => this.#reads.subscribe(p, signal));
      case 'copyTo':
        return this.#reads.copy(plan, signal);
      case 'copyFrom':
      case 'explainTimestamp':
        throw unsupported(plan.kind === 'copyFrom' ? 'COPY … FROM' : 'EXPLAIN TIMESTAMP');
      case 'begin':
      case 'commit':
      case 'rollback':
      case 'setTransaction':
        return this.#transactionStatement(plan);
      case 'set':
      case 'reset':
      case 'showVariable':
      case 'showAll':
      case 'discard':
        return this.#settingStatement(plan);
      case 'prepare':
        this.prepare(plan.name, plan.statement, plan.paramTypes);
        return { kind: 'command', tag: 'PREPARE' };
      case 'execute':
        return this.#executePrepared(plan, signal);
      case 'deallocate':
        return { kind: 'command', tag: deallocate(this.prepared, plan.name) };
      case 'declareCursor':
      case 'fetch':
      case 'closeCursor':
        return this.#cursorStatement(plan, statement, params, signal);
      default: {
        this.#refuseInBlock(statement);
        this.#refuseReadOnly(statementName(statement));
        const who = { database: this.settings.get('database'), user: this.#o.user, notify: this.#o.notice };
        const again = () => this.#planned(statement, params, planStatement) as typeof plan | undefined;
        return { kind: 'command', tag: await executeDdl(this.#env, plan, { ...who, again }) };
      }
    }
  }

  #refuseInBlock(statement: Statement): void {
    if (this.#transaction?.explicit)
      throw new SqlError(
        'active_sql_transaction',
        `${statementName(statement)} cannot run inside a transaction block`,
      );
  }

  #refuseReadOnly(command: string): void {
    this.#env.leadership.refuseWrite(command);
    if (this.settings.effective('transaction_read_only') === 'on')
      throw new SqlError('read_only_sql_transaction', `cannot execute ${command} in a read-only transaction`);
  }

  // ---- Writing

  async #write(
    plan: Extract<Plan, { kind: 'insert' | 'update' | 'delete' }>,
    statement: Statement,
    params: Partial<StatementContext>,
    signal: AbortSignal,
  ): Promise<Result> {
    const t = this.#transaction!;
    this.#refuseReadOnly(plan.kind.toUpperCase());
    if (t.times !== undefined)
      throw unsupported('writing in a transaction that has read', { hint: 'commit first' });
    const run = async (p: typeof plan): Promise<WriteResult> =>
      planWrite(this.#env, p, async (q) => (await this.#reads.query(q, signal)).rows, this.#evalContext());
    if (!readsBeforeWriting(plan)) return this.#buffer(t, plan.kind, await run(plan));
    if (t.explicit || t.writes.size > 0)
      throw unsupported(
        `${plan.kind === 'insert' ? 'INSERT … SELECT' : plan.kind.toUpperCase()} in a transaction block`,
        {
          hint: 'run it as a statement of its own',
        },
      );
    // Nobody else may change what was read between the read and the commit.
    const replan = () => planStatement(statement, this.#context(params)) as typeof plan;
    return this.#env.updating.run({ plan, replan, signal }, async (again) => {
      const result = await run(again);
      signal.throwIfAborted();
      this.#buffer(t, plan.kind, result);
      await flush(this.#env, t);
      return written(plan.kind, result);
    });
  }

  #buffer(t: Transaction, kind: 'insert' | 'update' | 'delete', r: WriteResult): Result {
    for (const [id, batch] of r.updates) addWrite(t, id, batch);
    return written(kind, r);
  }

  // ---- Transactions

  #begin(explicit: boolean): void {
    this.#transaction = newTransaction(this.#env, explicit);
    this.settings.begin();
  }

  async #commit(): Promise<void> {
    const t = this.#transaction!;
    try {
      await flush(this.#env, t);
      this.settings.end(false);
    } catch (error) {
      this.settings.end(true);
      throw error;
    } finally {
      release(t);
      if (t.explicit) this.#cursors.endTransaction();
      this.#transaction = null;
    }
  }

  #rollback(): void {
    const t = this.#transaction!;
    release(t);
    this.settings.end(true);
    if (t.explicit) this.#cursors.endTransaction();
    this.#transaction = null;
  }

  async #transactionStatement(plan: TransactionPlan): Promise<Result> {
    const tag = await transactionStatement(plan, {
      transaction: this.#transaction!,
      settings: this.settings,
      notice: this.#o.notice,
      begin: () => this.#begin(true),
      commit: () => this.#commit(),
      rollback: () => this.#rollback(),
    });
    return { kind: 'command', tag };
  }

  // ---- Settings

  #settingStatement(plan: SettingPlan): Result {
    if (plan.kind === 'set' && plan.scope === 'local' && this.#implicit)
      this.#o.notice('SET LOCAL can only be used in transaction blocks', 'no_active_sql_transaction');
    if (plan.kind === 'discard') {
      if (plan.what === 'all' || plan.what === 'plans') this.prepared.clear();
      if (plan.what === 'all') this.#cursors.close(undefined);
    }
    return settingStatement(this.settings, plan);
  }

  // ---- Prepared statements and cursors

  async #executePrepared(plan: Extract<Plan, { kind: 'execute' }>, signal: AbortSignal): Promise<Result> {
    const p = this.find(plan.name);
    const values = argumentValues(plan, p, this.#evalContext());
    const params = { paramTypes: p.paramTypes, paramValues: values };
    const again = this.#planned(p.statement, params, planStatement);
    refuseChange(p.result, again);
    return this.#run(again, p.statement, params, signal);
  }

  async #cursorStatement(
    plan: Extract<Plan, { kind: 'declareCursor' | 'fetch' | 'closeCursor' }>,
    statement: Statement,
    params: Partial<StatementContext>,
    signal: AbortSignal,
  ): Promise<Result> {
    switch (plan.kind) {
      case 'declareCursor': {
        if (!this.#transaction?.explicit && !plan.hold)
          throw new SqlError(
            'no_active_sql_transaction',
            'DECLARE CURSOR can only be used in transaction blocks',
          );
        this.#cursors.refuseDuplicate(plan.name);
        const { desc, rows } =
          plan.plan.kind === 'subscribe'
            ? { desc: plan.plan.desc, rows: await this.#reads.subscribe(plan.plan, signal) }
            : await this.#reads.select(plan.plan, statement, params, signal);
        this.#cursors.declare(plan.name, { desc, rows, hold: plan.hold });
        return { kind: 'command', tag: 'DECLARE CURSOR' };
      }
      case 'fetch': {
        const { timers } = this.#env.options;
        const { desc, rows } = await this.#cursors.fetch(plan.cursor, { ...plan, timers, signal });
        return { kind: 'rows', desc, rows, tag: (n) => `FETCH ${n}` };
      }
      case 'closeCursor':
        this.#cursors.close(plan.cursor);
        return { kind: 'command', tag: 'CLOSE CURSOR' };
    }
  }
}

const statementName = (s: Statement): string => s.kind.replace(/([A-Z])/g, ' $1').toUpperCase();
