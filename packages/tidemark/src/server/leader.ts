/** What the HTTP interface asks about generations. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Environment } from '../adapter/environment.ts';
import { leaderStatus, promote } from '../adapter/promotion.ts';
import type { LeaderDeps } from '../http/leader.ts';
import { missingBody } from './missing.ts';

export interface LeaderOptions {
  /** Who sends it may promote. */
  readonly token: string | undefined;
  /** Without a token: whether everybody may, as on loopback. */
  readonly open: boolean;
}

export function leaderDeps(env: Environment, { token, open }: LeaderOptions): LeaderDeps {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const wanted = token === undefined ? null : digest(`Bearer ${token}`);
  return {
    status: () => {
      const { missing, ...rest } = leaderStatus(env);
      return { ...rest, missing: missing.map(missingBody) };
    },
    promote: (options) => promote(env, options),
    mayPromote: (authorization) =>
      wanted === null ? open : timingSafeEqual(wanted, digest(authorization ?? '')),
  };
}
