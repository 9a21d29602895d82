/** Who may do what to a shard, and with which changes: pure functions of its state. */
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import type { Timestamp } from '../time/timestamp.ts';
import type { Append, AppendResult, Fence, FencedBy, Part } from './shard-types.ts';
import type { Change, ShardState } from './state.ts';

export type Decision = { readonly changes: readonly Change[] } | { readonly refused: Refusal };
export type Refusal = Exclude<AppendResult, { kind: 'ok' }>;

/** What stands between a writer and a shard, if anything does. */
export function fencedBy(holder: Fence, writer: Fence): FencedBy | null {
  if (holder.generation !== writer.generation) return 'generation';
  if ('start' in holder) return 'start' in writer && writer.start === holder.start ? null : 'start';
  return 'exportId' in writer && writer.exportId === holder.exportId ? null : 'export';
}

/** Parts are already encoded; without any, only the upper moves. */
export function decideAppend(
  shardId: string,
  s: ShardState,
  writer: Fence,
  bounds: Pick<Append, 'expectedUpper' | 'newUpper'>,
  parts: readonly Part[],
): Decision {
  const { expectedUpper: lower, newUpper: upper } = bounds;
  assert(lower < upper, `an append moves the upper of ${shardId} forward: ${lower} to ${upper}`);
  for (const p of parts)
    assert(
      p.rows === 0 || (p.minTime >= lower && p.maxTime < upper),
      `times of an append to ${shardId} lie in [${lower}, ${upper}): [${p.minTime}, ${p.maxTime}]`,
    );
  const by = fencedBy(s.fence, writer);
  if (by !== null) return { refused: { kind: 'fenced', shardId, by, holder: s.fence } };
  if (s.upper !== lower) return { refused: { kind: 'mismatch', shardId, upper: s.upper } };
  const filled = parts.filter((p) => p.rows > 0);
  return {
    changes: [filled.length === 0 ? { op: 'upper', upper } : { op: 'append', lower, upper, parts: filled }],
  };
}

/**
 * Makes `writer` the one that appends. A lesser generation or start is refused. Another export takes an output
 * over only as a replacement, and then the upper of that moment is kept.
 */
export function decideTakeOver(
  shardId: string,
  s: ShardState,
  writer: Fence,
  replacement: boolean,
): Decision {
  const { fence: holder } = s;
  const refuse = (by: FencedBy): Decision => ({ refused: { kind: 'fenced', shardId, by, holder } });
  if (fencedBy(holder, writer) === null) return { changes: [] };
  if (writer.generation < holder.generation) return refuse('generation');
  assert('start' in holder === 'start' in writer, `shard ${shardId} keeps its kind of writer`);
  if ('start' in holder && 'start' in writer) {
    if (writer.generation === holder.generation && writer.start < holder.start) return refuse('start');
    return { changes: [{ op: 'fence', fence: writer, takenOverAt: 0 }] };
  }
  const same = 'exportId' in holder && 'exportId' in writer && holder.exportId === writer.exportId;
  if (!same && !replacement) return refuse('export');
  return { changes: [{ op: 'fence', fence: writer, takenOverAt: same ? s.takenOverAt : s.upper }] };
}

/** A read at `asOf` is possible, now or once the upper has passed it. */
export function checkReadable(shardId: string, s: ShardState, asOf: Timestamp): void {
  if (asOf < s.since)
    throw new SqlError(
      'object_not_in_prerequisite_state',
      `shard ${shardId} cannot be read at ${asOf}, because it was compacted up to ${s.since}`,
    );
}

/** Holds whose time has come, but for those in `own`: their process is alive, we are it. */
export function expiredHolds(s: ShardState, nowMs: number, own: ReadonlySet<string>): Change[] {
  const out: Change[] = [];
  for (const [holdId, h] of s.holds)
    if (h.expiresAtMs !== null && h.expiresAtMs < nowMs && !own.has(holdId))
      out.push({ op: 'release', holdId });
  return out;
}
