/** What expressions may ask of a session: its user, settings, moment, and the catalog by its names. */
import { nowMicros } from '../base/clock.ts';
import type { NameContext } from '../catalog/catalog-reader.ts';
import { SERVER_VERSION } from '../catalog/settings.ts';
import type { EvalContext } from '../expr/functions.ts';
import { askCatalog } from './catalog-functions.ts';
import type { Environment } from './environment.ts';
import type { Settings } from './settings.ts';

interface SessionFacts {
  readonly user: string;
  readonly sessionId: number;
  readonly names: NameContext;
  readonly settings: Settings;
  /** Of the transaction; undefined: none is open. */
  readonly startedMicros: bigint | undefined;
  readonly mzNow: number | undefined;
}

export function evalContext(env: Environment, s: SessionFacts): EvalContext {
  const { catalog } = env;
  const facts = { catalog, names: s.names };
  return {
    timeZone: s.settings.get('timezone'),
    nowMicros: s.startedMicros ?? BigInt(nowMicros(env.options.clock)),
    ...(s.mzNow !== undefined && { mzNow: s.mzNow }),
    session: {
      user: s.user,
      database: s.names.database,
      schemas: s.names.searchPath.filter((name) => catalog.hasSchema([name], s.names)),
      backendPid: s.sessionId,
      standsBy: !env.leadership.mayWrite,
      version: `PostgreSQL ${SERVER_VERSION} (Tidemark)`,
      setting: (name) => s.settings.lookup(name),
    },
    catalog: (func, args) => askCatalog(facts, func, args),
  };
}
