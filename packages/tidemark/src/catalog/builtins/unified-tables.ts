/**
 * What all replicas tell about what they maintain, kept by the environment from one internal subscribe of each: rows of a replica's present
 * life alone, with the word whether they are complete. The relations for readers are views over these and the catalog.
 */
import { table } from './builtin-table.ts';
import { columns } from './declare.ts';

const OBJECT = ['replica_id text', 'object_id text'] as const;

export const UNIFIED_TABLES = [
  table({
    schema: 'mz_internal',
    name: 'mz_introspection_freshness',
    number: 1081,
    doc: 'whether what is shown of a replica in mz_internal is of its present life, and complete',
    columns: columns('replica_id text', 'fresh bool', 'since timestamptz | it is so since then'),
    key: ['replica_id'],
  }),
  table({
    schema: 'mz_internal',
    name: 'mz_told_hydration_times',
    number: 1082,
    doc: 'hydration times as replicas tell them; read mz_compute_hydration_times',
    columns: columns(...OBJECT, 'time_ns uint8? | NULL until every worker has said it'),
    key: ['replica_id', 'object_id'],
  }),
  table({
    schema: 'mz_internal',
    name: 'mz_told_operator_hydration',
    number: 1083,
    doc: 'hydration of plan nodes as replicas tell it; read mz_compute_operator_hydration_statuses',
    columns: columns(...OBJECT, 'physical_plan_node_id uint8', 'hydrated bool | every worker says so'),
    key: ['replica_id', 'object_id', 'physical_plan_node_id'],
  }),
  table({
    schema: 'mz_internal',
    name: 'mz_told_error_counts',
    number: 1084,
    doc: 'errors as replicas tell them; read mz_compute_error_counts_raw_unified',
    columns: columns(...OBJECT, 'count numeric'),
    key: ['replica_id', 'object_id'],
  }),
  table({
    schema: 'mz_internal',
    name: 'mz_told_arrangement_sizes',
    number: 1085,
    doc: 'sizes as replicas tell them; read mz_object_arrangement_sizes',
    columns: columns(...OBJECT, 'size int8'),
    key: ['replica_id', 'object_id'],
  }),
  table({
    schema: 'mz_internal',
    name: 'mz_sealed_views',
    number: 1086,
    doc: 'materialized views that are complete for ever; no replica maintains them any more',
    columns: columns('object_id text'),
    key: ['object_id'],
  }),
  table({
    schema: 'mz_internal',
    name: 'mz_object_arrangement_size_history',
    number: 1087,
    doc: 'sizes of objects over time: a sample every five minutes, kept for a day, since this start of the environment',
    columns: columns(
      ...OBJECT,
      'size int8',
      'collection_timestamp timestamptz',
      'hydration_complete bool | the object had hydrated on the replica',
    ),
    key: ['replica_id', 'object_id', 'collection_timestamp'],
  }),
] as const;
