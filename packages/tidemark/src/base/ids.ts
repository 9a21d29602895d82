/**
 * Branded ids. Text forms are the ones users see: `u7` user, `s3` system, `si12` the index of a per-replica log,
 * `t5` transient (a peek's or subscribe's dataflow).
 */
declare const brand: unique symbol;
type Branded<T, B extends string> = T & { readonly [brand]: B };

/** A collection or object of the catalog, or a transient export. */
export type GlobalId = Branded<string, 'GlobalId'>;
export type ClusterId = Branded<string, 'ClusterId'>;
export type ReplicaId = Branded<string, 'ReplicaId'>;

export type IdClass = 'user' | 'system' | 'log' | 'transient';

export const userId = (n: number): GlobalId => `u${n}` as GlobalId;
export const systemId = (n: number): GlobalId => `s${n}` as GlobalId;
/** Of the same object, for clients that know oids alone. */
export const systemOid = (n: number): number => 20_000 + n;
export const logIndexId = (n: number): GlobalId => `si${n}` as GlobalId;

/** The class of an id, from its text. */
export function idClass(id: string): IdClass {
  if (id.startsWith('si')) return 'log';
  if (id.startsWith('s')) return 'system';
  if (id.startsWith('t')) return 'transient';
  return 'user';
}

/** Orders ids as people count: by class letter, then by number. */
export function compareIds(a: string, b: string): number {
  const [, ca, na] = /^([a-z]+)(\d+)$/.exec(a) ?? ['', a, '0'];
  const [, cb, nb] = /^([a-z]+)(\d+)$/.exec(b) ?? ['', b, '0'];
  return ca === cb ? Number(na) - Number(nb) : ca < cb ? -1 : 1;
}
