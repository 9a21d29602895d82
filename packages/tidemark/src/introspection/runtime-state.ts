/** What the runtime log knows of operators and channels that live: written where things happen, read when they are told. */
import type { ChannelDescription, OperatorPorts } from '../dataflow/events.ts';
import { BUCKETS, Counters } from './counters.ts';
import { SideTable } from './events.ts';

export interface OperatorEntry {
  readonly operatorId: number;
  readonly address: readonly number[];
  readonly name: string;
  /** The scope that it stands in; null for a dataflow. */
  readonly scope: OperatorEntry | null;
  /** Null for a scope, and once it is shut down. */
  ports: OperatorPorts | null;
  /** Handles of its arrangement. */
  handles: number;
  /** What stands in it and is shut down but still read. */
  retained: number;
  shutDown: boolean;
}

/** Numbers of an arrangement, in the order of their counters. */
export const MEASURES = [
  'mz_arrangement_batches_raw',
  'mz_arrangement_records_raw',
  'mz_arrangement_sharing_raw',
  'mz_arrangement_heap_size_raw',
  'mz_arrangement_heap_capacity_raw',
  'mz_arrangement_heap_allocations_raw',
  'mz_arrangement_batcher_records_raw',
  'mz_arrangement_batcher_size_raw',
  'mz_arrangement_batcher_capacity_raw',
  'mz_arrangement_batcher_allocations_raw',
] as const;
export type Measure = (typeof MEASURES)[number];

/** Numbers of a channel, each for every worker. */
export const MESSAGES = [
  'mz_message_counts_sent_raw',
  'mz_message_batch_counts_sent_raw',
  'mz_message_counts_received_raw',
  'mz_message_batch_counts_received_raw',
] as const;

export class RuntimeState {
  readonly operators: SideTable<OperatorEntry> = new SideTable();
  readonly channels: SideTable<ChannelDescription> = new SideTable();
  /** Of an operator: nanoseconds, then runs by duration. */
  readonly elapsed: Counters = new Counters(1 + BUCKETS);
  readonly arrangements: Counters = new Counters(MEASURES.length);
  readonly messages: Counters;
  /** By the bucket slept: by the bucket requested, and last those without a request. */
  readonly parks: Counters = new Counters(BUCKETS + 1, BUCKETS);

  constructor(peers: number) {
    this.messages = new Counters(MESSAGES.length * peers);
  }
}
