/** Log relations about arrangements: counts that stand for what is there now. Multiplicity is the number in all of them. */
import { col, counted, type LogRelation, WORKER } from './log-relation.ts';

const ARRANGEMENT = [col('operator_id', 'uint8', 'the operator that arranges'), WORKER];

export const ARRANGEMENT_RELATIONS = {
  mz_arrangement_heap_size_raw: counted({
    number: 12,
    doc: 'bytes in use of sealed batches; a row a byte',
    columns: ARRANGEMENT,
  }),
  mz_arrangement_heap_capacity_raw: counted({
    number: 13,
    doc: 'bytes allocated for sealed batches; a row a byte',
    columns: ARRANGEMENT,
  }),
  mz_arrangement_heap_allocations_raw: counted({
    number: 14,
    doc: 'buffers of sealed batches; a row a buffer',
    columns: ARRANGEMENT,
  }),
  mz_arrangement_batches_raw: counted({
    number: 29,
    doc: 'sealed batches that live; a row a batch',
    columns: ARRANGEMENT,
  }),
  mz_arrangement_records_raw: counted({
    number: 30,
    doc: 'updates in sealed batches; a row an update',
    columns: ARRANGEMENT,
  }),
  mz_arrangement_sharing_raw: counted({
    number: 31,
    doc: 'handles by which an arrangement is read; a row a handle',
    columns: ARRANGEMENT,
  }),
  mz_arrangement_batcher_records_raw: counted({
    number: 32,
    doc: 'updates that wait to be sealed; a row an update',
    columns: ARRANGEMENT,
  }),
  mz_arrangement_batcher_size_raw: counted({
    number: 33,
    doc: 'bytes in use of what waits to be sealed; a row a byte',
    columns: ARRANGEMENT,
  }),
  mz_arrangement_batcher_capacity_raw: counted({
    number: 34,
    doc: 'bytes allocated for what waits to be sealed; a row a byte',
    columns: ARRANGEMENT,
  }),
  mz_arrangement_batcher_allocations_raw: counted({
    number: 35,
    doc: 'buffers of what waits to be sealed; a row a buffer',
    columns: ARRANGEMENT,
  }),
} as const satisfies Record<string, LogRelation>;
