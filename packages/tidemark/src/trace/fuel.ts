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
