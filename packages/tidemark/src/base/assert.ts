/** A broken invariant of ours, never a user's mistake: the message states the relation that does not hold. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/** Always on: a wrong row in a maintained view costs more than the branch. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** For the default branch of a switch over a closed union: a forgotten case does not compile. */
export function unreachable(value: never, what: string): never {
  throw new AssertionError(`${what}: unexpected ${JSON.stringify(value)}`);
}
