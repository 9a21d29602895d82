/** Who changed the catalog, and when: durable, written in the commit of the change itself. */
import { table } from './builtin-table.ts';
import { columns } from './declare.ts';

export const AUDIT_TABLE = table({
  name: 'mz_audit_events',
  number: 1062,
  doc: 'every change of the catalog that is durable, kept for good',
  columns: columns(
    'id uint8 | grows with time, not without gaps',
    'event_type text | create, alter, drop',
    'object_type text | table, source, view, materialized-view, index, sink, schema, database, cluster, cluster-replica, comment, setting',
    'details jsonb | e.g. {"id": "u7", "name": "orders"}',
    'user text? | NULL: the engine itself',
    'occurred_at timestamptz',
  ),
  key: ['id'],
  durable: true,
});
