/** Durations in query parameters: a number and a unit, as people write them in probes (`10s`, `500ms`, `1.5m`). */
const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const PATTERN = new RegExp(`^(\\d{1,15}(?:\\.\\d{1,3})?)(${Object.keys(UNIT_MS).join('|')})$`);

/** The units, for messages. */
export const DURATION_UNITS: readonly string[] = Object.keys(UNIT_MS);

/** Whole milliseconds, or null: not a duration, or finer than a millisecond. A bare 0 needs no unit. */
export function parseDurationMs(text: string): number | null {
  if (text === '0') return 0;
  const [, amount, unit] = PATTERN.exec(text) ?? [];
  if (amount === undefined) return null;
  const ms = Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS];
  return Number.isSafeInteger(ms) ? ms : null;
}
