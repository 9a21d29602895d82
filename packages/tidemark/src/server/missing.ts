/** What is missing, as HTTP tells it: instants as text. */
export function missingBody<M extends { readonly since: number | null }>(
  m: M,
): Omit<M, 'since'> & { readonly since: string | null } {
  return { ...m, since: m.since === null ? null : new Date(m.since / 1000).toISOString() };
}
