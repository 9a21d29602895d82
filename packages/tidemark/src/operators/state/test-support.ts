/**
 * For the tests of the rules: rows as JavaScript values, a driver that splits and delays them in every way a
 * dataflow may, and the comparison of what came out with a naive recomputation at every time.
 *
 * Blind to: what a wrong clock or scheduler would do, and to anything that the naive side gets wrong alike.
 */
import { assert } from '../../base/assert.ts';
import { type Batch, diffAt, timeAt } from '../../repr/batch.ts';
import { type Column, ColumnBuilder, i64ToBigInt, isNull } from '../../repr/column.ts';
import type { Kind } from '../../repr/types.ts';
import { EMPTY } from '../../time/timestamp.ts';
import { Fuel } from '../../trace/fuel.ts';
import { OpenTime } from './open-time.ts';
import type { StateRule } from './state-rule.ts';

export type Value = null | boolean | number | bigint | string;
export interface Update {
  readonly row: readonly Value[];
  readonly time: number;
  readonly diff: number;
}

/** Runs a property for as many seeds as RUNS says, from SEED on; a failure says how to replay it. */
export function forSeeds(
  env: Readonly<Record<string, string | undefined>>,
  property: (random: XorShift, seed: number) => void,
  runs = 60,
): void {
  const first = Number(env['SEED'] ?? 1);
  const last = first + Number(env['RUNS'] ?? runs);
  for (let seed = first; seed < last; seed++) {
    try {
      property(new XorShift(seed * 0x9e3779b1), seed);
    } catch (e) {
      if (e instanceof Error) e.message = `SEED=${seed} RUNS=1 replays: ${e.message}`;
      throw e;
    }
  }
}

export class XorShift {
  #s: number;
  constructor(seed: number) {
    this.#s = seed | 0 || 1;
    for (let k = 0; k < 8; k++) this.below(2);
  }
  below(n: number): number {
    let s = this.#s;
    s ^= s << 13;
    s ^= s >>> 17;
    s ^= s << 5;
    this.#s = s;
    return Math.floor(((s >>> 0) * n) / 4294967296);
  }
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
}

const encoder = new TextEncoder();
/** One character a byte: for encoded values (numeric, errors) in tests. */
export const bytesToText = (b: Uint8Array): string => String.fromCharCode(...b);
const textToBytes = (s: string): Uint8Array => Uint8Array.from(s, (c) => c.charCodeAt(0));

export function column(kind: Kind, values: readonly Value[]): Column {
  const b = new ColumnBuilder(kind);
  for (const v of values) {
    if (v === null) b.pushNull();
    else if (kind === 'bytes') b.pushBytes(textToBytes(v as string));
    else if (kind === 'i64') b.pushI64(BigInt(v as bigint));
    else b.pushNumber(Number(v));
  }
  return b.finish();
}

export function cell(c: Column, i: number): Value {
  if (isNull(c, i)) return null;
  if (c.kind === 'bytes')
    return bytesToText((c.values as Uint8Array).subarray(c.offsets[i]!, c.offsets[i + 1]!));
  if (c.kind === 'i64') return i64ToBigInt(c.values as Int32Array, i);
  if (c.kind === 'bool') return c.values[i] === 1;
  return c.values[i]!;
}

export function batchOf(kinds: readonly Kind[], updates: readonly Update[]): Batch {
  const times = updates.map((u) => u.time);
  const diffs = updates.map((u) => u.diff);
  return {
    length: updates.length,
    columns: kinds.map((k, c) =>
      column(
        k,
        updates.map((u) => u.row[c]!),
      ),
    ),
    times: times.every((t) => t === times[0]) ? times[0]! : Float64Array.from(times),
    diffs: diffs.every((d) => d === diffs[0]) ? diffs[0]! : Float64Array.from(diffs),
  };
}

/** One text for one row; tells NaN, -0, 1n and '1' apart. */
export const keyOf = (row: readonly Value[]): string =>
  row
    .map((v) =>
      typeof v === 'bigint'
        ? `${v}n`
        : Object.is(v, -0)
          ? '-0'
          : typeof v === 'string'
            ? JSON.stringify(v)
            : String(v),
    )
    .join(',');

export type Bag = Map<string, number>;

export function addTo(bag: Bag, key: string, diff: number): void {
  const d = (bag.get(key) ?? 0) + diff;
  if (d === 0) bag.delete(key);
  else bag.set(key, d);
}

export const encodeError = (code: string, message: string): Uint8Array =>
  encoder.encode(`${code}: ${message}`);

/** What came out: updates by time, oks and errs. */
export class Collected {
  readonly oks: Map<number, Bag> = new Map();
  readonly errs: Map<number, Bag> = new Map();
  /** Before this nothing may be emitted any more. */
  floor = 0;

  take(side: Map<number, Bag>, b: Batch): void {
    for (let i = 0; i < b.length; i++) {
      const t = timeAt(b, i);
      assert(t >= this.floor, `emitted at ${t} after ${this.floor} was complete`);
      const bag = side.get(t) ?? new Map<string, number>();
      side.set(t, bag);
      addTo(bag, keyOf(b.columns.map((c) => cell(c, i))), diffAt(b, i));
    }
  }

  /** The accumulated contents as of t. */
  at(side: Map<number, Bag>, t: number): Bag {
    const sum: Bag = new Map();
    for (const [time, bag] of side) if (time <= t) for (const [k, d] of bag) addTo(sum, k, d);
    return sum;
  }
}

/** Sends the updates through a rule in random batches, early ones too, with random fuel. */
export function drive(
  rule: StateRule,
  kinds: readonly Kind[],
  updates: readonly Update[],
  random: XorShift,
  fuelUnits: number = random.pick([1, 3, 40, Number.POSITIVE_INFINITY]),
): Collected {
  const time = new OpenTime(rule);
  const out = new Collected();
  const output = {
    oks: (b: Batch): void => out.take(out.oks, b),
    errs: (b: Batch): void => out.take(out.errs, b),
  };
  const work = (): boolean => time.work(new Fuel(fuelUnits), output);
  const waiting = [...updates].sort(() => random.below(3) - 1);
  const times = [...new Set(updates.map((u) => u.time))].sort((a, b) => a - b);
  for (const frontier of [...times, EMPTY]) {
    if (random.below(4) > 0 || frontier === EMPTY) while (!work());
    time.advance(frontier);
    out.floor = Math.min(time.held, frontier);
    while (waiting.some((u) => u.time === frontier)) {
      const size = 1 + random.below(7);
      const batch: Update[] = [];
      for (let k = 0; k < waiting.length && batch.length < size; )
        if (waiting[k]!.time === frontier || random.below(5) === 0) batch.push(...waiting.splice(k, 1));
        else k++;
      time.push(batchOf(kinds, batch));
      if (random.below(2) === 0) work();
    }
  }
  while (!work());
  assert(time.held === EMPTY, 'nothing is held at the end');
  return out;
}

/** Compares the output with `expected(contents)` at every time of the input. */
export function checkAgainst(
  out: Collected,
  updates: readonly Update[],
  expected: (rows: readonly { readonly row: readonly Value[]; readonly diff: number }[]) => {
    readonly oks: Bag;
    readonly errs: Bag;
  },
): void {
  for (const t of new Set(updates.map((u) => u.time))) {
    const contents = new Map<string, { row: readonly Value[]; diff: number }>();
    for (const u of updates) {
      if (u.time > t) continue;
      const k = keyOf(u.row);
      const e = contents.get(k);
      if (e === undefined) contents.set(k, { row: u.row, diff: u.diff });
      else e.diff += u.diff;
    }
    const want = expected([...contents.values()].filter((e) => e.diff !== 0));
    expectEqual(out.at(out.oks, t), want.oks, `oks at ${t}`);
    expectEqual(out.at(out.errs, t), want.errs, `errs at ${t}`);
  }
}

function expectEqual(got: Bag, want: Bag, what: string): void {
  const text = (b: Bag): string =>
    [...b]
      .map(([k, d]) => `${d} x ${k}`)
      .sort()
      .join('\n  ');
  assert(text(got) === text(want), `${what}: got\n  ${text(got)}\nwanted\n  ${text(want)}`);
}

/**
 * A random history whose contents are never negative at a complete time: rows come from `make`, and leave again.
 * Several changes of one row at one time are usual.
 */
export function history(random: XorShift, make: () => readonly Value[], length: number): Update[] {
  const live: { row: readonly Value[]; diff: number }[] = [];
  const updates: Update[] = [];
  let time = random.below(3);
  for (let k = 0; k < length; k++) {
    if (random.below(6) === 0) time += 1 + random.below(3);
    if (live.length > 0 && random.below(5) < 2) {
      const [gone] = live.splice(random.below(live.length), 1);
      updates.push({ row: gone!.row, time, diff: -gone!.diff });
    } else {
      const e = { row: make(), diff: random.below(4) === 0 ? 1 + random.below(4) : 1 };
      live.push(e);
      updates.push({ ...e, time });
    }
  }
  if (random.below(2) === 0)
    for (const e of live) updates.push({ row: e.row, time: time + 1, diff: -e.diff });
  return updates;
}
