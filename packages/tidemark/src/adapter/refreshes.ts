/** `mz_materialized_view_refreshes`: the last refresh that is durable and the next one, read off the upper of each view's shard. */
import type { GlobalId } from '../base/ids.ts';
import type { Datum } from '../repr/types.ts';
import { lastBefore, type RefreshSchedule, roundUp } from '../time/refresh-schedule.ts';
import { toNullable } from '../time/timestamp.ts';
import type { Environment } from './environment.ts';

export function followRefreshes(env: Environment): void {
  const shown = new Set<GlobalId>();
  const scheduleOf = (id: GlobalId): RefreshSchedule | undefined => {
    const item = env.catalog.item(id);
    return item?.kind === 'materialized-view' && env.collections.has(id) ? item.refresh : undefined;
  };
  const show = (id: GlobalId): void => {
    const schedule = scheduleOf(id);
    if (schedule === undefined) return;
    const upper = env.collections.upper(id);
    const row: Datum[] = [id, lastBefore(schedule, upper), toNullable(roundUp(schedule, upper))];
    shown.add(id);
    env.setLiveLater('mz_materialized_view_refreshes', id, [row]);
  };
  const showAll = (): void => {
    for (const id of shown)
      if (scheduleOf(id) === undefined) {
        shown.delete(id);
        env.setLiveLater('mz_materialized_view_refreshes', id, []);
      }
    for (const { item } of env.catalog.loadedItems()) if (!shown.has(item.id)) show(item.id);
  };
  env.collections.onUpper(show);
  env.onCatalogChange(showAll);
  showAll();
}
