/** What may go wrong in a history without being a fault of the engine. */

/** How a statement may end but well: it was cancelled, what it asked is gone, a row fails, another process leads. */
export const ENDS: ReadonlySet<string> = new Set([
  'query_canceled',
  'system_error',
  'object_not_in_prerequisite_state',
  'undefined_table',
  'undefined_object',
  'division_by_zero',
  'admin_shutdown',
  'read_only_sql_transaction',
]);

/** What may be complained of: what the history itself brought about. */
export const COMPLAINTS = /the disk is broken|another process|the server is shutting down|has expired/;
