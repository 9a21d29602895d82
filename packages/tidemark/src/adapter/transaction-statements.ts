/** BEGIN, COMMIT, ROLLBACK and SET TRANSACTION, over what a session does for them. */
import type { ErrorCode } from '../base/error.ts';
import type { Plan } from '../plan/statement.ts';
import { setModes } from './setting-statements.ts';
import type { Settings } from './settings.ts';
import type { Transaction } from './transaction.ts';

export type TransactionPlan = Extract<Plan, { kind: 'begin' | 'commit' | 'rollback' | 'setTransaction' }>;

/** What a session lends. */
export interface TransactionActions {
  /** The one that is open, implicit or not. */
  readonly transaction: Transaction;
  readonly settings: Settings;
  readonly notice: (message: string, warning: ErrorCode) => void;
  /** Opens a block. */
  begin(): void;
  commit(): Promise<void>;
  rollback(): void;
}

/** Gives the command's tag. */
export async function transactionStatement(plan: TransactionPlan, s: TransactionActions): Promise<string> {
  const { explicit, status } = s.transaction;
  const noBlock = (): void => {
    if (!explicit) s.notice('there is no transaction in progress', 'no_active_sql_transaction');
  };
  switch (plan.kind) {
    case 'begin':
      if (explicit) s.notice('there is already a transaction in progress', 'active_sql_transaction');
      else s.begin();
      setModes(s.settings, plan.modes, 'transaction');
      return 'BEGIN';
    case 'setTransaction':
      if (plan.scope === 'transaction' && !explicit)
        s.notice('SET TRANSACTION can only be used in transaction blocks', 'no_active_sql_transaction');
      setModes(s.settings, plan.modes, plan.scope);
      return 'SET';
    case 'commit': {
      noBlock();
      const failed = status === 'failed';
      if (failed) s.rollback();
      else await s.commit();
      if (plan.chain) s.begin();
      return failed ? 'ROLLBACK' : 'COMMIT';
    }
    case 'rollback':
      noBlock();
      s.rollback();
      if (plan.chain) s.begin();
      return 'ROLLBACK';
  }
}
