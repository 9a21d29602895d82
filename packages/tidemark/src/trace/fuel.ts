/**
 * Fuel: how much work one invocation may still do. A unit is about one row touched by one kernel (10 to 100 ns).
 * Everything that can run long (building, merging, scanning, joining) takes fuel, does some of its work, and is
 * called again; with any positive amount it makes progress, so a test may hand out a single unit.
 */
export class Fuel {
  remaining: number;

  constructor(units: number) {
    this.remaining = units;
  }

  get exhausted(): boolean {
    return this.remaining <= 0;
  }

  spend(units: number): void {
    this.remaining -= units;
  }

  /** How many of `wanted` units a kernel may do now: at least one, so that a started piece of work ends. */
  portion(wanted: number): number {
    const r = this.remaining;
    return wanted <= r ? wanted : Math.max(r, 1);
  }
}

/** For callers without a bound: tests, and work that is known to be small. */
export const unlimitedFuel = (): Fuel => new Fuel(Number.POSITIVE_INFINITY);

/** The fuel of the invocation under way, for a generator that runs over many of them. */
export class Pace {
  fuel: Fuel = new Fuel(0);

  /** Whether to yield now: `if (pace.spend(n)) yield;` */
  spend(units: number): boolean {
    this.fuel.remaining -= units;
    return this.fuel.remaining <= 0;
  }

  portion(wanted: number): number {
    return this.fuel.portion(wanted);
  }
}

/** Steps of a piece of work: yields where the fuel is spent. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** A piece of work that is done over many invocations. */
export class Paced<T> {
  readonly #pace = new Pace();
  readonly #steps: Steps<T>;

  constructor(begin: (pace: Pace) => Steps<T>) {
    this.#steps = begin(this.#pace);
  }

  /** Goes on; the result once it is done. */
  work(fuel: Fuel): T | undefined {
    this.#pace.fuel = fuel;
    const r = this.#steps.next();
    return r.done ? r.value : undefined;
  }
}
