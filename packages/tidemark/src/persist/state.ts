/**
 * A shard's state and how it changes: pure. The log of a shard's key in consensus holds entries of two kinds: the
 * whole state, or changes to the one before. Applying the entries in order gives everyone the same state.
 *
 * An entry is a byte for the format, the length of a JSON text, the CRC-32 of the rest, the text, and the bytes of
 * inline parts. Its cost is that of what changed: a tick of a table 60 bytes, a single-row insert 350.
 */
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import { type Frontier, fromNullable, MIN_TIME, type Timestamp, toNullable } from '../time/timestamp.ts';
import type { Seqno, Versioned } from './consensus.ts';
import { crc32 } from './crc32.ts';
import type { Fence, Part, ShardBatch, ShardSchema } from './shard-types.ts';

export interface HoldState {
  readonly since: Timestamp;
  /** Wall clock; null: durable, until released by name. */
  readonly expiresAtMs: number | null;
}

/** A blob that the state no longer names. */
export interface Garbage {
  readonly bytes: number;
  readonly atMs: number;
}

/** One version of a shard; `apply` makes the next and leaves this one alone. */
export interface ShardState {
  readonly seqno: Seqno;
  readonly schema: ShardSchema;
  readonly since: Timestamp;
  readonly upper: Frontier;
  readonly fence: Fence;
  readonly takenOverAt: Frontier;
  /** Id of the next batch. */
  readonly nextBatch: number;
  /** In order of time and not overlapping; a gap holds nothing. */
  readonly batches: readonly ShardBatch[];
  readonly holds: ReadonlyMap<string, HoldState>;
  readonly garbage: ReadonlyMap<string, Garbage>;
  /** Tokens of the latest entries, so that a writer that lost the answer finds out what became of its entry. */
  readonly tokens: readonly string[];
  /** Bytes of the last whole entry, and of all entries after it: when to write the next whole one. */
  readonly wholeBytes: number;
  readonly changeBytes: number;
}

export type Change =
  | { readonly op: 'upper'; readonly upper: Frontier }
  | {
      readonly op: 'append';
      readonly lower: Timestamp;
      readonly upper: Frontier;
      readonly parts: readonly Part[];
    }
  | {
      readonly op: 'hold';
      readonly holdId: string;
      readonly since: Timestamp;
      readonly expiresAtMs: number | null;
    }
  | { readonly op: 'release'; readonly holdId: string }
  | { readonly op: 'fence'; readonly fence: Fence; readonly takenOverAt: Frontier }
  /** Adjacent batches become one, or none if nothing is left; blobs that the new one does not name are garbage. */
  | {
      readonly op: 'merge';
      readonly ids: readonly number[];
      readonly parts: readonly Part[];
      readonly atMs: number;
    }
  | { readonly op: 'collected'; readonly keys: readonly string[] };

const TOKENS_KEPT = 32;

export function initialState(
  schema: ShardSchema,
  since: Timestamp,
  upper: Frontier,
  fence: Fence,
): ShardState {
  return {
    seqno: 0,
    schema,
    since,
    upper,
    fence,
    takenOverAt: 0,
    nextBatch: 1,
    batches: [],
    holds: new Map(),
    garbage: new Map(),
    tokens: [],
    wholeBytes: 0,
    changeBytes: 0,
  };
}

type Draft = { -readonly [K in keyof ShardState]: ShardState[K] };

/** The state after the changes, as entry `state.seqno + 1`, written with `token`. */
export function apply(state: ShardState, changes: readonly Change[], token: string): ShardState {
  const draft: Draft = { ...state, seqno: state.seqno + 1 };
  draft.tokens = [...state.tokens.slice(-(TOKENS_KEPT - 1)), token];
  for (const c of changes) applyOne(draft, c);
  return draft;
}

function applyOne(draft: Draft, c: Change): void {
  switch (c.op) {
    case 'upper':
      assert(c.upper >= draft.upper, 'an upper does not go back');
      draft.upper = c.upper;
      break;
    case 'append': {
      assert(c.lower >= draft.upper, 'a batch begins at the upper');
      const id = draft.nextBatch++;
      draft.batches = [...draft.batches, { id, lower: c.lower, upper: c.upper, parts: c.parts }];
      draft.upper = c.upper;
      break;
    }
    case 'hold': {
      const holds = new Map(draft.holds).set(c.holdId, { since: c.since, expiresAtMs: c.expiresAtMs });
      setHolds(draft, holds);
      break;
    }
    case 'release': {
      const holds = new Map(draft.holds);
      holds.delete(c.holdId);
      setHolds(draft, holds);
      break;
    }
    case 'fence':
      draft.fence = c.fence;
      draft.takenOverAt = c.takenOverAt;
      break;
    case 'merge':
      merge(draft, c.ids, c.parts, c.atMs);
      break;
    case 'collected': {
      const garbage = new Map(draft.garbage);
      for (const k of c.keys) garbage.delete(k);
      draft.garbage = garbage;
      break;
    }
  }
}

/** The since follows the least hold; without holds it stays. */
function setHolds(draft: Draft, holds: ReadonlyMap<string, HoldState>): void {
  draft.holds = holds;
  let least = Number.POSITIVE_INFINITY;
  for (const h of holds.values()) least = Math.min(least, h.since);
  if (least !== Number.POSITIVE_INFINITY) draft.since = Math.max(draft.since, least);
}

function merge(draft: Draft, ids: readonly number[], parts: readonly Part[], atMs: number): void {
  const at = draft.batches.findIndex((b) => b.id === ids[0]);
  const merged = draft.batches.slice(at, at + ids.length);
  assert(
    at >= 0 && merged.length === ids.length && merged.every((b, i) => b.id === ids[i]),
    'merged batches stand side by side in the state',
  );
  const kept = new Set(parts.map((p) => p.key));
  const garbage = new Map(draft.garbage);
  for (const b of merged)
    for (const p of b.parts)
      if (p.key !== null && !kept.has(p.key)) garbage.set(p.key, { bytes: p.bytes, atMs });
  draft.garbage = garbage;
  const batches = draft.batches.slice();
  if (parts.length === 0) batches.splice(at, ids.length);
  else
    batches.splice(at, ids.length, {
      id: draft.nextBatch++,
      lower: merged[0]!.lower,
      upper: merged.at(-1)!.upper,
      parts,
    });
  draft.batches = batches;
}

// ---- entries ----------------------------------------------------------------------------------------------

const FORMAT = 1;
const HEAD = 9;
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

type PartJson = [
  key: string | null,
  inlineBytes: number,
  rows: number,
  retractions: number,
  bytes: number,
  min: number,
  max: number,
];
type BatchJson = { id: number; lower: number; upper: number | null; parts: PartJson[] };
type StateJson = {
  schema: ShardSchema;
  since: number;
  upper: number | null;
  fence: Fence;
  takenOverAt: number | null;
  nextBatch: number;
  batches: BatchJson[];
  holds: [string, HoldState][];
  garbage: [string, Garbage][];
  tokens: readonly string[];
};
type ChangeJson = Record<string, unknown> & { op: Change['op'] };
type EntryJson = { token: string; state: StateJson } | { token: string; changes: ChangeJson[] };

class Tail {
  readonly pieces: Uint8Array[] = [];
  part = (p: Part): PartJson => {
    if (p.inline !== null) this.pieces.push(p.inline);
    return [p.key, p.inline?.length ?? 0, p.rows, p.retractions, p.bytes, p.minTime, p.maxTime];
  };
}

function finish(json: EntryJson, tail: Tail): Uint8Array<ArrayBuffer> {
  const text = encoder.encode(JSON.stringify(json));
  let n = HEAD + text.length;
  for (const p of tail.pieces) n += p.length;
  const out = new Uint8Array(n);
  out[0] = FORMAT;
  const view = new DataView(out.buffer);
  view.setUint32(1, text.length, true);
  out.set(text, HEAD);
  let at = HEAD + text.length;
  for (const p of tail.pieces) {
    out.set(p, at);
    at += p.length;
  }
  view.setUint32(5, crc32(out.subarray(HEAD)), true);
  return out;
}

/** The entry that moves an upper and nothing else, as it was written last. */
let moved: { readonly token: string; readonly upper: Frontier; readonly value: Uint8Array<ArrayBuffer> } = {
  token: '',
  upper: MIN_TIME,
  value: new Uint8Array(0),
};

/** A commit moves the uppers of some fifty shards alike: one entry for all of them. Entries are never written to. */
export function encodeChanges(changes: readonly Change[], token: string): Uint8Array<ArrayBuffer> {
  const [first] = changes;
  if (first?.op !== 'upper' || changes.length > 1) return encodeAll(changes, token);
  const { upper } = first;
  if (moved.token !== token || moved.upper !== upper)
    moved = { token, upper, value: encodeAll(changes, token) };
  return moved.value;
}

function encodeAll(changes: readonly Change[], token: string): Uint8Array<ArrayBuffer> {
  const tail = new Tail();
  const json = changes.map((c): ChangeJson => {
    switch (c.op) {
      case 'append':
      case 'merge': {
        const parts = c.parts.map(tail.part);
        return c.op === 'append' ? { ...c, upper: toNullable(c.upper), parts } : { ...c, parts };
      }
      case 'upper':
        return { ...c, upper: toNullable(c.upper) };
      case 'fence':
        return { ...c, takenOverAt: toNullable(c.takenOverAt) };
      default:
        return { ...c };
    }
  });
  return finish({ token, changes: json }, tail);
}

export function encodeState(s: ShardState, token: string): Uint8Array<ArrayBuffer> {
  const tail = new Tail();
  const state: StateJson = {
    schema: s.schema,
    since: s.since,
    upper: toNullable(s.upper),
    fence: s.fence,
    takenOverAt: toNullable(s.takenOverAt),
    nextBatch: s.nextBatch,
    batches: s.batches.map((b) => ({
      id: b.id,
      lower: b.lower,
      upper: toNullable(b.upper),
      parts: b.parts.map(tail.part),
    })),
    holds: [...s.holds],
    garbage: [...s.garbage],
    tokens: s.tokens,
  };
  return finish({ token, state }, tail);
}

/**
 * The upper that an entry sets, without the state before it; null if it leaves the upper alone. For whoever tells others of
 * moves: what it cannot read it leaves to the readers to report.
 */
export function upperSet(entry: Versioned): Frontier | null {
  let json: EntryJson;
  try {
    const { buffer, byteOffset, length } = entry.value;
    const end = HEAD + new DataView(buffer, byteOffset, length).getUint32(1, true);
    json = JSON.parse(decoder.decode(entry.value.subarray(HEAD, end))) as EntryJson;
  } catch {
    return null;
  }
  if ('state' in json) return fromNullable(json.state.upper);
  const last = json.changes.findLast((c) => c.op === 'upper' || c.op === 'append');
  return last === undefined ? null : fromNullable(last['upper'] as number | null);
}

/** The state after the entry; `state` is null before the first. Throws on what no version of ours wrote. */
export function applyEntry(state: ShardState | null, entry: Versioned, shardId: string): ShardState {
  const fail = (detail: string, cause?: unknown) =>
    new SqlError('data_corrupted', `the state of shard ${shardId} is corrupt at entry ${entry.seqno}`, {
      detail,
      cause,
    });
  const bytes = entry.value;
  if (bytes[0] !== FORMAT) throw fail(`its format is ${bytes[0]}, and ${FORMAT} is the only one known`);
  if (bytes.length < HEAD) throw fail(`it has ${bytes.length} bytes`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(5, true) !== crc32(bytes.subarray(HEAD))) throw fail('its checksum is wrong');
  let json: EntryJson;
  let at = HEAD + view.getUint32(1, true);
  try {
    json = JSON.parse(decoder.decode(bytes.subarray(HEAD, at))) as EntryJson;
  } catch (cause) {
    throw fail('it does not parse', cause);
  }
  const part = ([key, n, rows, retractions, size, minTime, maxTime]: PartJson): Part => {
    const inline = key === null ? bytes.slice(at, at + n) : null;
    if (at + n > bytes.length) throw fail('an inline part ends after it');
    at += n;
    return { key, inline, rows, retractions, bytes: size, minTime, maxTime };
  };
  if ('state' in json) {
    const s = json.state;
    return {
      ...s,
      seqno: entry.seqno,
      upper: fromNullable(s.upper),
      takenOverAt: fromNullable(s.takenOverAt),
      batches: s.batches.map((b) => ({ ...b, upper: fromNullable(b.upper), parts: b.parts.map(part) })),
      holds: new Map(s.holds),
      garbage: new Map(s.garbage),
      wholeBytes: bytes.length,
      changeBytes: 0,
    };
  }
  if (state === null || state.seqno + 1 !== entry.seqno)
    throw fail(`it follows ${entry.seqno - 1}, and the reader stands at ${state?.seqno ?? 0}`);
  const changes = json.changes.map((c) => decodeChange(c, part));
  return { ...apply(state, changes, json.token), changeBytes: state.changeBytes + bytes.length };
}

function decodeChange(c: ChangeJson, part: (p: PartJson) => Part): Change {
  const frontier = (v: unknown): Frontier => fromNullable(v as number | null);
  switch (c.op) {
    case 'append':
      return {
        op: 'append',
        lower: c['lower'] as number,
        upper: frontier(c['upper']),
        parts: (c['parts'] as PartJson[]).map(part),
      };
    case 'merge':
      return {
        op: 'merge',
        ids: c['ids'] as number[],
        parts: (c['parts'] as PartJson[]).map(part),
        atMs: c['atMs'] as number,
      };
    case 'upper':
      return { op: 'upper', upper: frontier(c['upper']) };
    case 'fence':
      return { op: 'fence', fence: c['fence'] as Fence, takenOverAt: frontier(c['takenOverAt']) };
    default:
      return c as Change;
  }
}

/**
 * The entry for the state `next`: whole when changes since the last whole one outweigh it, so that a log is at
 * most about twice its state (and 2 KiB) and the cost of whole entries is that of the changes.
 */
export function encodeNext(
  next: ShardState,
  changes: readonly Change[],
  token: string,
): { value: Uint8Array<ArrayBuffer>; reset: boolean; state: ShardState } {
  const value = encodeChanges(changes, token);
  if (next.seqno > 1 && next.changeBytes + value.length <= Math.max(next.wholeBytes, 2048))
    return { value, reset: false, state: { ...next, changeBytes: next.changeBytes + value.length } };
  const whole = encodeState(next, token);
  return {
    value: whole,
    reset: true,
    state: { ...next, wholeBytes: whole.length, changeBytes: 0 },
  };
}
