/**
 * The data of all workloads, the same for every contestant: `orders(id, customer_id of 10,000, amount, status of 4)` and
 * `customers(id, region of 20)`, from an xorshift32 with fixed seeds. Kept by column: a million objects would be the garbage
 * collector's figures and nobody else's.
 */
export const CUSTOMERS = 10_000;
export const STATUS: readonly string[] = ['new', 'paid', 'shipped', 'returned'];

/** xorshift32; yields integers below n. */
function generator(seed: number): (n: number) => number {
  let s = seed;
  return (n) => {
    s ^= s << 13;
    s ^= s >>> 17;
    s ^= s << 5;
    return Math.floor(((s >>> 0) * n) / 4294967296);
  };
}

export class Orders {
  readonly id: Int32Array<ArrayBuffer>;
  readonly customer: Int32Array<ArrayBuffer>;
  readonly amount: Int32Array<ArrayBuffer>;
  /** Position in STATUS. */
  readonly status: Uint8Array<ArrayBuffer>;
  length = 0;

  constructor(capacity: number) {
    this.id = new Int32Array(capacity);
    this.customer = new Int32Array(capacity);
    this.amount = new Int32Array(capacity);
    this.status = new Uint8Array(capacity);
  }

  set(at: number, id: number, customer: number, amount: number, status: number): void {
    this.id[at] = id;
    this.customer[at] = customer;
    this.amount[at] = amount;
    this.status[at] = status;
  }

  copy(at: number, from: Orders, i: number): void {
    this.set(at, from.id[i]!, from.customer[i]!, from.amount[i]!, from.status[i]!);
  }
}

/** `spare`: room for rows that changes insert. */
export function makeOrders(n: number, spare = 0): Orders {
  const below = generator(0x9e3779b9);
  const orders = new Orders(n + spare);
  for (; orders.length < n; orders.length++)
    orders.set(orders.length, orders.length, below(CUSTOMERS), 1 + below(100_000), below(4));
  return orders;
}

/** The region of each customer. */
export function makeRegions(): readonly string[] {
  const below = generator(0x1234567);
  return Array.from({ length: CUSTOMERS }, () => `region-${String(below(20)).padStart(2, '0')}`);
}

/** One batch of changes: rows, and +1 or -1 for each. */
export interface Changes {
  readonly rows: Orders;
  readonly diffs: Float64Array<ArrayBuffer>;
}

/** Batches of a hundred inserts, deletes and replacements of live rows. `live` is changed along. */
export function makeChanges(live: Orders, rounds: number): Changes[] {
  const below = generator(0xc0ffee);
  let nextId = live.length;
  const batches: Changes[] = [];
  for (let round = 0; round < rounds; round++) {
    const rows = new Orders(200);
    const diffs: number[] = [];
    const put = (at: number, diff: number): void => {
      rows.copy(rows.length++, live, at);
      diffs.push(diff);
    };
    for (let i = 0; i < 100; i++) {
      const kind = below(3);
      if (kind === 0) {
        live.set(live.length, nextId++, below(CUSTOMERS), 1 + below(100_000), below(4));
        put(live.length++, 1);
        continue;
      }
      const at = below(live.length);
      put(at, -1);
      if (kind === 1) {
        live.copy(at, live, --live.length);
        continue;
      }
      const customer = below(4) === 0 ? below(CUSTOMERS) : live.customer[at]!;
      live.set(at, live.id[at]!, customer, 1 + below(100_000), below(4));
      put(at, 1);
    }
    batches.push({ rows, diffs: Float64Array.from(diffs) });
  }
  return batches;
}
