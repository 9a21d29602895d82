/** SET, RESET, SHOW, DISCARD as they concern settings, and transactions' modes, which are settings too. */
import { SqlError } from '../base/error.ts';
import type { Plan } from '../plan/statement.ts';
import { type Result, SHOW_ALL, textBatch, textRows } from './results.ts';
import type { Settings } from './settings.ts';

export type SettingPlan = Extract<
  Plan,
  {
    kind: 'set' | 'reset' | 'showVariable' | 'showAll' | 'discard';
  }
>;

export function settingStatement(settings: Settings, plan: SettingPlan): Result {
  switch (plan.kind) {
    case 'set':
      settings.set(plan.name, plan.values, { local: plan.scope === 'local' });
      return { kind: 'command', tag: 'SET' };
    case 'reset':
      if (plan.name === undefined) settings.resetAll();
      else settings.set(plan.name, undefined);
      return { kind: 'command', tag: 'RESET' };
    case 'showVariable': {
      const value = settings.shown(plan.name);
      if (value === undefined)
        throw new SqlError('undefined_object', `unrecognized configuration parameter "${plan.name}"`);
      return textRows(plan.name, [value], 'SHOW');
    }
    case 'showAll':
      return { kind: 'rows', desc: SHOW_ALL, rows: textBatch([...settings.all()]), tag: () => 'SHOW' };
    case 'discard':
      if (plan.what === 'all') settings.resetAll();
      return { kind: 'command', tag: `DISCARD ${plan.what.toUpperCase()}` };
  }
}

/** Of this transaction, or of those to come. */
export function setModes(
  settings: Settings,
  modes: { readonly isolation: string | undefined; readonly readOnly: boolean | undefined },
  scope: 'transaction' | 'session',
): void {
  const local = scope === 'transaction';
  const prefix = local ? 'transaction' : 'default_transaction';
  if (modes.isolation !== undefined) settings.set(`${prefix}_isolation`, [modes.isolation], { local });
  if (modes.readOnly !== undefined)
    settings.set(`${prefix}_read_only`, [modes.readOnly ? 'on' : 'off'], { local });
}
