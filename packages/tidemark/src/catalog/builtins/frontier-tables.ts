/** Frontiers of objects: rows that the environment keeps, as of the last tick of the tables. */
import { table } from './builtin-table.ts';
import { columns } from './declare.ts';

export const FRONTIER_TABLES = [
  table({
    schema: 'mz_internal',
    name: 'mz_frontiers',
    number: 1033,
    doc: 'from when on each table, source, materialized view, index and sink of users is readable, and up to when it is complete; at most a second old, some seconds where there are thousands',
    columns: columns(
      'object_id text',
      'read_frontier mz_timestamp? | readable from here on; NULL: never, as a sink',
      'write_frontier mz_timestamp? | complete before it; NULL: for ever',
    ),
    key: ['object_id'],
  }),
  table({
    name: 'mz_cluster_replica_frontiers',
    number: 1034,
    doc: 'how far each connected replica has got with each index, materialized view and sink of users; at most a second old, some seconds where there are thousands',
    columns: columns(
      'object_id text',
      'replica_id text',
      'write_frontier mz_timestamp? | complete before it; NULL: for ever',
    ),
    key: ['object_id', 'replica_id'],
  }),
] as const;
