/** Arithmetic of keys: sets of columns on which no two rows agree. */
import type { ScalarExpr } from '../expr/scalar.ts';

/** `[]` promises at most one row. */
export type Keys = readonly (readonly number[])[];

/** Without duplicates and supersets. */
export function minimalKeys(keys: Keys): Keys {
  const sorted = [...keys].sort((a, b) => a.length - b.length);
  const out: (readonly number[])[] = [];
  for (const k of sorted) if (!out.some((o) => o.every((c) => k.includes(c)))) out.push(k);
  return out;
}

/**
 * A combination of one key an input; an input all of whose key columns are equal to columns before it adds nothing.
 * Keys are capped at a handful: their number multiplies.
 */
export function joinKeys(
  equivalences: readonly (readonly ScalarExpr[])[],
  inputs: readonly Keys[],
  widths: readonly number[],
): Keys {
  let keys: (readonly number[])[] = [[]];
  let offset = 0;
  widths.forEach((width, i) => {
    const bound = (c: number): boolean =>
      equivalences.some(
        (cls) =>
          cls.some((e) => e.kind === 'column' && e.index === c + offset) &&
          cls.some((e) => e.kind === 'literal' || (e.kind === 'column' && e.index < offset)),
      );
    const own = inputs[i].map((k) => k.filter((c) => i === 0 || !bound(c)).map((c) => c + offset));
    keys = minimalKeys(keys.flatMap((k) => own.map((o) => [...k, ...o]))).slice(
      0,
      8,
    ) as (readonly number[])[];
    offset += width;
  });
  return keys;
}
