/** ALTER SYSTEM: settings that are the same for all sessions, durable like any entity of the catalog. */
import type { Plan } from '../../plan/statement/plan.ts';
import type { Environment } from '../environment.ts';
import { systemSetting, systemValue } from '../settings.ts';

export async function alterSystem(
  env: Environment,
  plan: Extract<Plan, { kind: 'alterSystemSet' | 'alterSystemReset' }>,
): Promise<void> {
  const name = plan.name?.toLowerCase();
  if (name !== undefined) systemSetting(name);
  const old = [...env.catalog.all('setting')].filter((s) => name === undefined || s.id === name);
  const values = plan.kind === 'alterSystemSet' ? plan.values : undefined;
  const put =
    name === undefined || values === undefined
      ? []
      : [{ kind: 'setting' as const, id: name, value: systemValue(name, values) }];
  if (old.length + put.length > 0) await env.transact({ remove: old, put });
  env.clusters.settingsChanged();
}
