/** `mz_materialized_view_refreshes`: the last refresh that is durable and the next one, read off the upper of each view's shard. */
import type { GlobalId } from '../base/ids.ts';
import { lastBefore, type RefreshSchedule, roundUp } from '../time/refresh-schedule.ts';
import { type Frontier, type Timestamp, toNullable } from '../time/timestamp.ts';
import type { Environment } from './environment.ts';

const TABLE = 'mz_materialized_view_refreshes';

export function followRefreshes(env: Environment): void {
  const shown = new Set<GlobalId>();
  const scheduleOf = (id: GlobalId): RefreshSchedule | undefined => {
    const item = env.catalog.item(id);
    return item?.kind === 'materialized-view' && env.collections.has(id) ? item.refresh : undefined;
  };
  const show = (id: GlobalId): void => {
    const schedule = scheduleOf(id);
    if (schedule === undefined) return;
    shown.add(id);
    const row = [id, ...refreshesAt(schedule, createdAt(env, id), env.collections.upper(id))];
    env.setLive([{ table: TABLE, key: id, rows: [row] }]);
  };
  const showAll = (): void => {
    for (const id of shown)
      if (scheduleOf(id) === undefined) {
        shown.delete(id);
        env.setLive([{ table: TABLE, key: id, rows: [] }]);
      }
    for (const { item } of env.catalog.loadedItems()) if (!shown.has(item.id)) show(item.id);
  };
  env.collections.onUpper(show);
  env.onCatalogChange(showAll);
  showAll();
}

/** The time that the schedule was given at; a series that is aligned to a time goes on before it too, as numbers, but nothing was refreshed then. */
const createdAt = (env: Environment, id: GlobalId): Timestamp =>
  env.catalog.loaded(id)?.entity?.refreshFrom ?? 0;

function refreshesAt(
  schedule: RefreshSchedule,
  created: Timestamp,
  upper: Frontier,
): [last: Timestamp | null, next: Timestamp | null] {
  const last = lastBefore(schedule, upper);
  return [
    last === null || last < created ? null : last,
    toNullable(roundUp(schedule, Math.max(upper, created))),
  ];
}
