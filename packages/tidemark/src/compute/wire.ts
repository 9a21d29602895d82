/**
 * Commands as structured-clonable data: datums that are objects of a class lose it when they cross a thread, so they travel tagged.
 * Typed arrays, big integers and infinities cross as they are.
 */
import { SqlArray, SqlList, SqlRecord } from '../repr/array.ts';
import { Interval } from '../repr/interval.ts';
import { Numeric } from '../repr/numeric.ts';
import type { Command } from './protocol.ts';

const CLASSES = {
  numeric: Numeric,
  interval: Interval,
  array: SqlArray,
  list: SqlList,
  record: SqlRecord,
} as const;
const TAG = '$class';
const tagOf = new Map<object, string>(Object.entries(CLASSES).map(([tag, c]) => [c.prototype, tag]));

/** Copies plain data, `each` deciding about objects first; undefined leaves them to the copy. */
function walk(value: unknown, each: (o: object) => unknown): unknown {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  const replaced = each(value);
  if (replaced !== undefined) return replaced;
  if (Array.isArray(value)) return value.map((v) => walk(v, each));
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, walk(v, each)]));
}

function pack(value: unknown): unknown {
  return walk(value, (o) => {
    const tag = tagOf.get(Object.getPrototypeOf(o) as object);
    return tag === undefined ? undefined : { [TAG]: tag, fields: pack({ ...o }) };
  });
}

function unpack(value: unknown): unknown {
  return walk(value, (o) => {
    if (!(TAG in o)) return undefined;
    const { [TAG]: tag, fields } = o as { [TAG]: keyof typeof CLASSES; fields: unknown };
    return Object.assign(Object.create(CLASSES[tag].prototype as object) as object, unpack(fields));
  });
}

export const packCommand = (command: Command): unknown => pack(command);
export const unpackCommand = (message: unknown): Command => unpack(message) as Command;
