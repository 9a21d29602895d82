/** Log relations about what runs: operators, channels, time taken, messages, progress. */
import { listOf, type } from '../repr/types.ts';
import {
  col,
  counted,
  type LogColumn,
  type LogRelation,
  nullable,
  perWorker,
  WORKER,
} from './log-relation.ts';

const operator = col('id', 'uint8', 'the operator, unique on its worker');

/** A count for each channel and pair of workers. */
const CHANNEL_COUNT: readonly LogColumn[] = [
  col('channel_id', 'uint8', 'the channel'),
  col('from_worker_id', 'uint8', 'the worker that sent'),
  col('to_worker_id', 'uint8', 'the worker that it was sent to'),
];

export const RUNTIME_RELATIONS = {
  mz_dataflow_operators_per_worker: perWorker({
    number: 18,
    doc: 'the operators of every dataflow; its scopes and the dataflow itself are operators too',
    columns: [operator, WORKER, col('name', 'text', 'what it is called')],
    key: ['id'],
  }),
  mz_dataflow_addresses_per_worker: perWorker({
    number: 19,
    doc: 'where operators and channels stand: indexes of the scopes around it, the dataflow first',
    columns: [
      col('id', 'uint8', 'the operator, or the channel: they share one sequence'),
      WORKER,
      col(
        'address',
        listOf(type('uint8')),
        "the operator's own; for a channel that of the scope of its ends",
      ),
    ],
    key: ['id'],
  }),
  mz_dataflow_channels_per_worker: perWorker({
    number: 20,
    doc: 'the edges between operators; their scope stands in the addresses',
    columns: [
      col('id', 'uint8', 'the channel'),
      WORKER,
      col('from_index', 'uint8', 'the sender, by its index in the scope'),
      col('from_port', 'uint8', 'the output that sends'),
      col('to_index', 'uint8', 'the receiver, by its index in the scope'),
      col('to_port', 'uint8', 'the input that receives'),
      col('type', 'text', 'what it carries'),
    ],
    key: ['id'],
  }),
  mz_scheduling_elapsed_raw: counted({
    number: 21,
    doc: 'time that operators took; a row a nanosecond',
    columns: [operator, WORKER],
  }),
  mz_compute_operator_durations_histogram_raw: counted({
    number: 22,
    doc: 'how long single runs of operators took; a row a run',
    columns: [
      operator,
      WORKER,
      col('duration_ns', 'uint8', 'the smallest power of two that is at least the nanoseconds it took'),
    ],
  }),
  mz_scheduling_parks_histogram_raw: counted({
    number: 23,
    doc: 'how long a worker with nothing to do slept; a row a sleep',
    columns: [
      WORKER,
      col('slept_for_ns', 'uint8', 'the smallest power of two that is at least the nanoseconds it slept'),
      nullable(
        'requested_ns',
        'uint8',
        'what it asked for, rounded alike; NULL when it waited for work alone',
      ),
    ],
  }),
  mz_message_counts_sent_raw: counted({
    number: 24,
    doc: 'rows that were sent over a channel; a row a row',
    columns: CHANNEL_COUNT,
  }),
  mz_message_counts_received_raw: counted({
    number: 25,
    doc: 'rows that were received over a channel; a row a row',
    columns: CHANNEL_COUNT,
  }),
  mz_message_batch_counts_sent_raw: counted({
    number: 26,
    doc: 'batches that were sent over a channel; a row a batch',
    columns: CHANNEL_COUNT,
  }),
  mz_message_batch_counts_received_raw: counted({
    number: 27,
    doc: 'batches that were received over a channel; a row a batch',
    columns: CHANNEL_COUNT,
  }),
  mz_dataflow_operator_reachability_raw: counted({
    number: 28,
    doc: 'where operators stand in time: what each output may still send, what each input is past',
    columns: [
      col('id', 'uint8', 'the scope that the operator stands in'),
      WORKER,
      col('source', 'uint8', 'the operator, by its index in the scope'),
      col('port', 'uint8', 'its output, or its input'),
      col(
        'update_type',
        'text',
        '`source`: an output may still send at the time; `target`: the frontier of an input',
      ),
      nullable('time', 'mz_timestamp', 'the time'),
    ],
  }),
} as const satisfies Record<string, LogRelation>;
