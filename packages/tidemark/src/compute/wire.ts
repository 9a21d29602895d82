/**
 * Commands as text, for a thread or a socket: JSON, with a tag where JSON has no word (big integers, what only floats have, bytes,
 * datums of a class). A plan of a thousand small objects crosses threads as one string: the structured clone of the objects took a
 * tenth of the environment's thread under status queries.
 */
import { assert } from '../base/assert.ts';
import type { GlobalId } from '../base/ids.ts';
import { SqlArray, SqlList, SqlRecord } from '../repr/array.ts';
import { Interval } from '../repr/interval.ts';
import { Numeric } from '../repr/numeric.ts';
import type { Frontier } from '../time/timestamp.ts';
import type { Command } from './protocol.ts';

const CLASSES = {
  numeric: Numeric,
  interval: Interval,
  array: SqlArray,
  list: SqlList,
  record: SqlRecord,
} as const;
const tagOf = new Map<object, string>(Object.entries(CLASSES).map(([tag, c]) => [c.prototype, tag]));

/** A tagged value is an object with this key: the tag; `of` holds what it says. */
const TAG = '$';

function pack(value: unknown): unknown {
  switch (typeof value) {
    case 'bigint':
      return { [TAG]: 'bigint', of: `${value}` };
    case 'number':
      if (Number.isFinite(value) && !Object.is(value, -0)) return value;
      return { [TAG]: 'number', of: Object.is(value, -0) ? '-0' : `${value}` };
    case 'object':
      return value === null ? null : packObject(value);
    default:
      return value;
  }
}

function packObject(value: object): unknown {
  if (Array.isArray(value)) return value.map(pack);
  if (value instanceof Uint8Array) return { [TAG]: 'bytes', of: Array.from(value) };
  assert(!ArrayBuffer.isView(value), 'commands hold no columns');
  const out: Record<string, unknown> = {};
  for (const key of Object.keys(value)) out[key] = pack((value as Record<string, unknown>)[key]);
  const tag = tagOf.get(Object.getPrototypeOf(value) as object);
  return tag === undefined ? out : { [TAG]: tag, of: out };
}

/** In place: what JSON.parse made is nobody else's. */
function unpack(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const o = value as Record<string, unknown>;
  if (typeof o[TAG] === 'string') return untag(o[TAG], o['of']);
  for (const key in o) {
    const v = o[key];
    if (typeof v === 'object' && v !== null) o[key] = unpack(v);
  }
  return o;
}

function untag(tag: string, of: unknown): unknown {
  switch (tag) {
    case 'bigint':
      return BigInt(of as string);
    case 'number':
      return Number(of);
    case 'bytes':
      return Uint8Array.from(of as number[]);
    default:
      assert(Object.hasOwn(CLASSES, tag), `a command has a tag that is known, not ${tag}`);
      return Object.assign(
        Object.create(CLASSES[tag as keyof typeof CLASSES].prototype as object) as object,
        unpack(of),
      );
  }
}

/** Equal texts: equal data, made by the same code. */
export const packData = (value: object): string => JSON.stringify(pack(value));

export const packCommand = (command: Command): string => JSON.stringify(pack(command));
export const unpackCommand = (text: string): Command => unpack(JSON.parse(text)) as Command;

/** What indexes at rest get, all of them the same each second: one text. */
interface SameCompaction {
  readonly kind: 'sameCompaction';
  readonly ids: readonly GlobalId[];
  readonly frontier: Frontier;
}

/** Commands in their order, as texts; those in a row that let collections compact to the same time share one. */
export class CommandTexts {
  #texts: string[] = [];
  #ids: GlobalId[] = [];
  #frontier: Frontier = 0;

  get isEmpty(): boolean {
    return this.#texts.length === 0 && this.#ids.length === 0;
  }

  add(command: Command): void {
    if (command.kind === 'allowCompaction') {
      if (command.frontier !== this.#frontier) this.#endRow();
      this.#frontier = command.frontier;
      this.#ids.push(command.id);
      return;
    }
    this.#endRow();
    this.#texts.push(packCommand(command));
  }

  #endRow(): void {
    if (this.#ids.length === 0) return;
    const row: SameCompaction = { kind: 'sameCompaction', ids: this.#ids, frontier: this.#frontier };
    this.#texts.push(packData(row));
    this.#ids = [];
  }

  /** All that were added since the last call. */
  take(): readonly string[] {
    this.#endRow();
    const texts = this.#texts;
    this.#texts = [];
    return texts;
  }
}

/** The commands of one of those texts. */
export function unpackCommands(text: string): readonly Command[] {
  const c = unpack(JSON.parse(text)) as Command | SameCompaction;
  if (c.kind !== 'sameCompaction') return [c];
  return c.ids.map((id) => ({ kind: 'allowCompaction', id, frontier: c.frontier }));
}
