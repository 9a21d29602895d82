/** Query parameters: each given once, and none that is not known, for one that is misspelt would otherwise be passed over. */
import type { Context } from 'hono';
import { SqlError } from '../base/error.ts';

export const invalid = (message: string, hint: string): SqlError =>
  new SqlError('invalid_parameter_value', message, { hint });

export function parameters<P extends string>(c: Context, known: readonly P[]): Partial<Record<P, string>> {
  const out: Partial<Record<P, string>> = {};
  for (const [name, values] of Object.entries(c.req.queries())) {
    if (!known.includes(name as P))
      throw invalid(
        `unknown parameter "${name}"`,
        known.length === 0 ? `${c.req.path} takes none` : `known are ${known.join(', ')}`,
      );
    if (values.length > 1)
      throw invalid(`parameter "${name}" is given ${values.length} times`, 'give it once');
    out[name as P] = values[0]!;
  }
  return out;
}
