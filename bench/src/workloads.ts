/**
 * The hydration workloads: their SQL, what each contestant must answer, and how much faster than @tanstack/db-ivm the
 * engine is meant to be. An answer is lines of text, sorted; it is recomputed here with plain maps.
 */
import { CUSTOMERS, makeOrders, makeRegions, STATUS } from './data.ts';

export type WorkloadName = 'W1' | 'W2' | 'W3';

export interface Workload {
  readonly what: string;
  /** The maintained view; null: an index of `orders` itself. */
  readonly view: string | null;
  readonly indexColumn: number;
  readonly requiredRatio: number;
}

/** W1 reads the orders of this customer. */
export const READ_CUSTOMER = 4711;

export const WORKLOADS: Readonly<Record<WorkloadName, Workload>> = {
  W1: {
    what: 'index of orders by customer_id, one key read',
    view: null,
    indexColumn: 1,
    requiredRatio: 6,
  },
  W2: {
    what: 'count and sum by customer_id',
    view: 'SELECT customer_id, count(*), sum(amount) FROM orders GROUP BY customer_id',
    indexColumn: 0,
    requiredRatio: 20,
  },
  W3: {
    what: 'orders joined with customers, count and sum by region',
    view: 'SELECT c.region, count(*), sum(o.amount) FROM orders o JOIN customers c ON o.customer_id = c.id GROUP BY c.region',
    indexColumn: 0,
    requiredRatio: 20,
  },
};

export const line = (...cells: readonly (string | number | bigint)[]): string => cells.join(',');

/** The right answer, from the data alone. */
export function expected(workload: WorkloadName, n: number): readonly string[] {
  const orders = makeOrders(n);
  if (workload === 'W1') {
    const lines: string[] = [];
    for (let i = 0; i < n; i++)
      if (orders.customer[i] === READ_CUSTOMER)
        lines.push(line(orders.id[i]!, READ_CUSTOMER, orders.amount[i]!, STATUS[orders.status[i]!]!));
    return lines.sort();
  }
  const regions = workload === 'W3' ? makeRegions() : null;
  const groups = new Map<string | number, { count: number; sum: number }>();
  for (let i = 0; i < n; i++) {
    const customer = orders.customer[i]!;
    const key = regions === null ? customer : regions[customer]!;
    let g = groups.get(key);
    if (g === undefined) groups.set(key, (g = { count: 0, sum: 0 }));
    g.count++;
    g.sum += orders.amount[i]!;
  }
  if (groups.size > CUSTOMERS) throw new Error('there are more groups than customers');
  return [...groups].map(([key, g]) => line(key, g.count, g.sum)).sort();
}

export const isWorkload = (name: string): name is WorkloadName => Object.hasOwn(WORKLOADS, name);
