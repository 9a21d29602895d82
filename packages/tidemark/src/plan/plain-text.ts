/**
 * Text that two pieces of plain data share iff they are equal: the key by which plans and expressions are recognised. JSON, except
 * that it tells apart what JSON takes for one: infinities, NaN and null; 0 and -0.
 */

/** A replacer is called for each property, and most plans need none: only float literals and bigints do. */
export function plainText(value: unknown): string {
  try {
    const text = JSON.stringify(value);
    if (!text.includes('"float')) return text;
  } catch {
    // A bigint: JSON has none.
  }
  return JSON.stringify(value, (_, v: unknown) => {
    if (typeof v === 'bigint') return { bigint: v.toString() };
    return typeof v === 'number' && (!Number.isFinite(v) || Object.is(v, -0))
      ? { number: Object.is(v, -0) ? '-0' : `${v}` }
      : v;
  });
}
