/**
 * Which generation this process is, and its promotion:
 *
 *   GET  /api/leader/status    200: `role`, `generation`, `caughtUp`, and what is `missing` and why
 *   POST /api/leader/promote   200 once this process writes, with its status; 409 with what is missing while it is not caught up, or
 *                              when another process was promoted. The body, if any, is `{ "force": true }`
 *
 * To promote takes the token where there is one, as `authorization: Bearer …`, and always does off loopback. A page of another origin
 * is refused: a browser would carry its request to loopback for it.
 */
import type { Context, Hono } from 'hono';
import { SqlError } from '../base/error.ts';
import { parameters } from './parameters.ts';

export interface LeaderStatusBody {
  readonly role: string;
  readonly generation: number;
  readonly caughtUp: boolean;
  readonly missing: readonly object[];
}

export interface LeaderDeps {
  status(): LeaderStatusBody;
  /** Rejects where it is refused. */
  promote(options: { readonly force: boolean }): Promise<void>;
  /** Whether who sends this `authorization` may promote; by a comparison that takes the same time for all. */
  mayPromote(authorization: string | undefined): boolean;
}

export function leaderRoutes(app: Hono, leader: LeaderDeps): void {
  app.get('/api/leader/status', (c) => {
    parameters(c, []);
    return c.json(leader.status());
  });
  app.post('/api/leader/promote', async (c) => {
    if (!leader.mayPromote(c.req.header('authorization')))
      return refusal(c, 401, 'a promotion takes the token that the server was started with', {
        hint: 'send it as "authorization: Bearer …"; it is set by TIDEMARK_HTTP_TOKEN, and off loopback required',
      });
    if (!isSameOrigin(c)) return refusal(c, 403, 'a page of another origin may not promote', {});
    parameters(c, []);
    const force = forced(await c.req.text());
    try {
      await leader.promote({ force });
    } catch (error) {
      const refused = error instanceof SqlError && REFUSED.has(error.code);
      if (!refused) throw error;
      const { message, sqlstate: code, detail, hint } = error;
      return c.json({ error: { code, message, detail, hint }, ...leader.status() }, 409);
    }
    return c.json(leader.status());
  });
}

/** Not caught up; another process is the next generation. */
const REFUSED: ReadonlySet<string> = new Set(['object_not_in_prerequisite_state', 'object_in_use']);

function refusal(c: Context, status: 401 | 403, message: string, more: { readonly hint?: string }): Response {
  const { sqlstate: code, hint } = new SqlError('insufficient_privilege', message, more);
  return c.json({ error: { code, message, hint } }, status);
}

function isSameOrigin(c: Context): boolean {
  const origin = c.req.header('origin');
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === c.req.header('host');
}

function forced(body: string): boolean {
  if (body.trim() === '') return false;
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    parsed = undefined;
  }
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) {
    const { force = false, ...rest } = parsed as Record<string, unknown>;
    if (typeof force === 'boolean' && Object.keys(rest).length === 0) return force;
  }
  throw new SqlError('invalid_parameter_value', 'the body is not understood', {
    hint: 'leave it out, or send {"force": true}',
  });
}
