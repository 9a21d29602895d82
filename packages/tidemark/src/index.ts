/** Tidemark, embedded: `open` gives a database; see its methods. */

export type { LeaderStatus, NotCaughtUp } from './adapter/promotion.ts';
export type { Missing, MissingReason } from './adapter/readiness.ts';
export type { Logger } from './base/clock.ts';
export { SqlError } from './base/error.ts';
export {
  Database,
  type Field,
  type LifecycleEventInfo,
  NotReadyError,
  type OpenOptions,
  open,
  type QueryResult,
} from './server/database.ts';
