/** Log relations about arrangements: counts that stand for what is there now. Multiplicity is the number in all of them. */
import { col, counted, type LogRelation, WORKER } from './log-relation.ts';

const ARRANGEMENT = [col('operator_id', 'uint8', 'the operator that arranges'), WORKER];

export const ARRANGEMENT_RELATIONS = {
  mz_arrangement_heap_size_raw: counted({
    number: 12,
    oid: 20012,
    doc: 'bytes in use of sealed batches; a row a byte',
    columns: ARRANGEMENT,
  }),
  mz_arrangement_heap_capacity_raw: counted({
    number: 13,
    oid: 20013,
    doc: 'bytes allocated for sealed batches; a row a byte',
    columns: ARRANGEMENT,
  }),
  mz_arrangement_heap_allocations_raw: counted({
    number: 14,
    oid: 20014,
    doc: 'buffers of sealed batches; a row a buffer',
    columns: ARRANGEMENT,
  }),
  mz_arrangement_batches_raw: counted({
    number: 29,
    oid: 20029,
    doc: 'sealed batches that live; a row a batch',
    columns: ARRANGEMENT,
  }),
  mz_arrangement_records_raw: counted({
    number: 30,
    oid: 20030,
    doc: 'updates in sealed batches; a row an update',
    columns: ARRANGEMENT,
  }),
  mz_arrangement_sharing_raw: counted({
    number: 31,
    oid: 20031,
    doc: 'handles by which an arrangement is read; a row a handle',
    columns: ARRANGEMENT,
  }),
  mz_arrangement_batcher_records_raw: counted({
    number: 32,
    oid: 20032,
    doc: 'updates that wait to be sealed; a row an update',
    columns: ARRANGEMENT,
  }),
  mz_arrangement_batcher_size_raw: counted({
    number: 33,
    oid: 20033,
    doc: 'bytes in use of what waits to be sealed; a row a byte',
    columns: ARRANGEMENT,
  }),
  mz_arrangement_batcher_capacity_raw: counted({
    number: 34,
    oid: 20034,
    doc: 'bytes allocated for what waits to be sealed; a row a byte',
    columns: ARRANGEMENT,
  }),
  mz_arrangement_batcher_allocations_raw: counted({
    number: 35,
    oid: 20035,
    doc: 'buffers of what waits to be sealed; a row a buffer',
    columns: ARRANGEMENT,
  }),
} as const satisfies Record<string, LogRelation>;
