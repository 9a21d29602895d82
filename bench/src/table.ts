/** Rows of text in columns: the first two to the left, figures to the right. */
const LEFT = 2;

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((h, k) => Math.max(h.length, ...rows.map((r) => r[k]!.length)));
  const text = (r: readonly string[]): string =>
    r
      .map((cell, k) => (k < LEFT ? cell.padEnd(widths[k]!) : cell.padStart(widths[k]!)))
      .join('  ')
      .trimEnd();
  return [text(head), ...rows.map(text)].join('\n');
}
