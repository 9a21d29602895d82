/** Outcomes that a caller cannot go on from, as errors. */
import { AssertionError } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import type { Outcome } from './log.ts';

/** `outcome` as an error; a refusal where none is possible is a bug of ours. */
export function outcomeError(shardId: string, outcome: Exclude<Outcome, { kind: 'applied' }>): Error {
  if (outcome.kind === 'refused') return new AssertionError(`a write to shard ${shardId} is not refused`);
  return unknownOutcome(shardId, outcome.cause);
}

export function unknownOutcome(shardId: string, cause: unknown): SqlError {
  const code = cause instanceof SqlError ? cause.code : 'io_error';
  return new SqlError(code, `it is not known whether a write to shard ${shardId} was applied`, {
    detail: cause instanceof Error ? cause.message : String(cause),
    cause,
  });
}
