/** The data as the engine's columnar batches. */
import type { Batch } from '../../packages/tidemark/src/repr/batch.ts';
import { type Column, ColumnBuilder, NO_OFFSETS } from '../../packages/tidemark/src/repr/column.ts';
import type { Kind } from '../../packages/tidemark/src/repr/types.ts';
import { type Orders, STATUS } from './data.ts';

export const ORDER_KINDS: readonly Kind[] = ['i32', 'i32', 'i32', 'bytes'];
export const CUSTOMER_KINDS: readonly Kind[] = ['i32', 'bytes'];

const encoder = new TextEncoder();
const STATUS_BYTES = STATUS.map((s) => encoder.encode(s));

const ints = (values: Int32Array<ArrayBuffer>): Column => ({
  kind: 'i32',
  length: values.length,
  validity: null,
  values,
  offsets: NO_OFFSETS,
});

/** Rows [from, to) in arrays of their own. */
export function ordersBatch(
  orders: Orders,
  range: {
    readonly from: number;
    readonly to: number;
    readonly diffs: Batch['diffs'];
    readonly time: number;
  },
): Batch {
  const { from, to, diffs, time } = range;
  const status = new ColumnBuilder('bytes', to - from);
  for (let i = from; i < to; i++) status.pushBytes(STATUS_BYTES[orders.status[i]!]!);
  return {
    length: to - from,
    columns: [
      ints(orders.id.slice(from, to)),
      ints(orders.customer.slice(from, to)),
      ints(orders.amount.slice(from, to)),
      status.finish(),
    ],
    times: time,
    diffs,
  };
}

export function orderBatches(orders: Orders, rowsEach: number): Batch[] {
  const out: Batch[] = [];
  for (let from = 0; from < orders.length; from += rowsEach)
    out.push(ordersBatch(orders, { from, to: Math.min(from + rowsEach, orders.length), diffs: 1, time: 0 }));
  return out;
}

export function customersBatch(regions: readonly string[]): Batch {
  const region = new ColumnBuilder('bytes', regions.length);
  for (const r of regions) region.pushBytes(encoder.encode(r));
  return {
    length: regions.length,
    columns: [ints(Int32Array.from(regions, (_, i) => i)), region.finish()],
    times: 0,
    diffs: 1,
  };
}
