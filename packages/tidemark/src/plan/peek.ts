/**
 * Reads that need no dataflow: a constant, or steps over one arranged collection, looked up by key where the filter
 * holds the key's columns to literals.
 */
import type { ClusterId, GlobalId } from '../base/ids.ts';
import type { IndexItem } from '../catalog/catalog-reader.ts';
import type { Mfp, ScalarExpr } from '../expr/scalar.ts';
import { needsCanon, type Row } from '../repr/types.ts';
import { pruneMfp, takeMfp } from './mfp.ts';
import { type Mir, type MirConstant, plainKey } from './mir.ts';
import { isEquality } from './scalar-facts.ts';

export type FastPath =
  | { readonly kind: 'constant'; readonly rows: MirConstant['rows'] }
  | {
      readonly kind: 'index';
      readonly id: GlobalId;
      readonly index: GlobalId;
      readonly key: readonly number[];
      /** Keys to look up, each in the order of `key`; undefined: read everything. */
      readonly literals: readonly Row[] | undefined;
      /** Over the collection's columns; the predicates that the lookup answers are not in it. */
      readonly mfp: Mfp;
    };

export interface FastPathOptions {
  readonly cluster: ClusterId | undefined;
  readonly indexes: (id: GlobalId) => readonly IndexItem[];
}

/** Undefined: the plan needs a dataflow. */
export function fastPath(mir: Mir, options: FastPathOptions): FastPath | undefined {
  const { mfp, input } = takeMfp(mir);
  if (input.op === 'Constant' && mir.op === 'Constant') return { kind: 'constant', rows: input.rows };
  if (input.op !== 'Get') return undefined;
  const found = options.indexes(input.id).flatMap((index) => {
    const key = plainKey(index.keys);
    return index.cluster === options.cluster && key !== undefined ? [{ index: index.id, key }] : [];
  });
  for (const { index, key } of found) {
    const lookup = literalsFor(key, mfp);
    if (lookup !== undefined)
      return {
        kind: 'index',
        id: input.id,
        index,
        key,
        literals: lookup.rows,
        mfp: pruneMfp({ ...mfp, filter: lookup.rest }),
      };
  }
  const [any] = found;
  return any === undefined
    ? undefined
    : { kind: 'index', id: input.id, ...any, literals: undefined, mfp: pruneMfp(mfp) };
}

/** At most this many keys from a disjunction: beyond it a scan is no worse. */
const MAX_KEYS = 1000;

/** The rows to look up if every column of the key is held to literals, and the predicates that remain. */
function literalsFor(
  key: readonly number[],
  mfp: Mfp,
): { readonly rows: readonly Row[]; readonly rest: readonly ScalarExpr[] } | undefined {
  if (key.length === 0) return undefined;
  const used = new Set<ScalarExpr>();
  const values = key.map((column) => {
    for (const p of mfp.filter) {
      const list = valuesOf(p, column);
      if (list === undefined) continue;
      used.add(p);
      return list;
    }
    return undefined;
  });
  let rows: Row[] = [[]];
  for (const list of values) {
    if (list === undefined || rows.length * list.length > MAX_KEYS) return undefined;
    rows = rows.flatMap((row) => list.map((v) => [...row, v]));
  }
  return { rows, rest: mfp.filter.filter((p) => !used.has(p)) };
}

/** `#c = literal`, or such comparisons of one column under OR. A key whose bytes are not its equality is left to the filter. */
function valuesOf(p: ScalarExpr, column: number): readonly Row[number][] | undefined {
  if (p.kind === 'or') {
    const lists = p.args.map((a) => valuesOf(a, column));
    if (lists.some((l) => l === undefined)) return undefined;
    return [...new Set(lists.flatMap((l) => l!))];
  }
  if (!isEquality(p)) return undefined;
  const [a, b] = p.args;
  const [ref, value] = a.kind === 'column' ? [a, b] : [b, a];
  if (ref.kind !== 'column' || ref.index !== column || value.kind !== 'literal' || value.value === null)
    return undefined;
  if (needsCanon(ref.type) || ref.type.name !== value.type.name) return undefined;
  return [value.value];
}
