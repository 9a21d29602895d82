/**
 * Plans of queries that are asked again: dashboards and readiness checks send the same text several times a second, and planning one
 * over a few views takes milliseconds of the thread that serves every connection.
 *
 * Two steps, each bounded. A text gives the statements that it parsed to before, the same objects. A statement gives the plan that it
 * had, if nothing that planning asked has another answer now: the catalog (by its revision), the names and the settings in reach, and
 * which views are indexed. What asked for the moment or for the session itself is planned each time, and so is what has parameters.
 */
import type { GlobalId } from '../base/ids.ts';
import type { EvalContext } from '../expr/functions.ts';
import type { StatementContext } from '../plan/statement.ts';
import type { Statement } from '../sql/ast-statement.ts';
import { parseStatements } from '../sql/parse.ts';

type Parsed = ReturnType<typeof parseStatements>;

const MAX_TEXTS = 500;
/** A long text is seldom sent twice, and is a load to keep. */
const MAX_TEXT_LENGTH = 20_000;
/** Of one statement, for sessions that differ in what they have set. */
const MAX_PLANS = 8;

interface Entry<T> {
  readonly revision: number;
  readonly key: string;
  /** What planning asked about indexed views, and heard. */
  readonly indexed: ReadonlyMap<GlobalId, boolean>;
  readonly made: T;
}

export class PlanCache {
  /** In the order of their last use. */
  readonly #texts = new Map<string, Parsed>();
  #plans = new WeakMap<Statement, Entry<unknown>[]>();
  /** For tests: plans that were used again. */
  hits = 0;

  parse(text: string): Parsed {
    const known = this.#texts.get(text);
    if (known !== undefined) {
      this.#texts.delete(text);
      this.#texts.set(text, known);
      return known;
    }
    const parsed = parseStatements(text);
    if (text.length > MAX_TEXT_LENGTH) return parsed;
    this.#texts.set(text, parsed);
    if (this.#texts.size > MAX_TEXTS) this.#texts.delete(this.#texts.keys().next().value!);
    return parsed;
  }

  /** What `make` makes of a statement in a context, now or before. `revision`: of the catalog. */
  plan<T>(
    statement: Statement,
    context: StatementContext,
    o: { readonly revision: number; readonly make: (context: StatementContext) => T },
  ): T {
    if (!CACHED.has(statement.kind) || (context.paramValues?.length ?? 0) > 0) return o.make(context);
    const key = keyOf(context);
    const entries = this.#plans.get(statement)?.filter((e) => e.revision === o.revision) ?? [];
    const found = entries.find((e) => e.key === key && stands(e, context));
    if (found !== undefined) {
      this.hits++;
      return found.made as T;
    }
    const indexed = new Map<GlobalId, boolean>();
    const { watched, isUsed } = watch(context.eval);
    const made = o.make({
      ...context,
      eval: watched,
      indexedViews: (id) => {
        const is = context.indexedViews?.(id) === true;
        indexed.set(id, is);
        return is;
      },
    });
    if (isUsed()) return made;
    const kept = entries.filter((e) => e.key !== key).slice(-MAX_PLANS + 1);
    this.#plans.set(statement, [...kept, { revision: o.revision, key, indexed, made }]);
    return made;
  }
}

/** Plans of others are made once, or hold more than what the catalog says. */
const CACHED: ReadonlySet<Statement['kind']> = new Set<Statement['kind']>(['selectStatement', 'showObjects']);

function keyOf({ names, eval: e, cluster, describe, paramTypes }: StatementContext): string {
  const types = paramTypes?.map((t) => t?.name).join() ?? '';
  return JSON.stringify([names.database, names.searchPath, e.timeZone, cluster, describe === true, types]);
}

const stands = (e: Entry<unknown>, context: StatementContext): boolean =>
  [...e.indexed].every(([id, was]) => (context.indexedViews?.(id) === true) === was);

/** The same context, which remembers whether it was asked for what another call would answer otherwise. */
function watch(context: EvalContext): { readonly watched: EvalContext; readonly isUsed: () => boolean } {
  let used = false;
  const asked = <T>(value: T): T => {
    used = true;
    return value;
  };
  const { timeZone, catalog } = context;
  const watched: EvalContext = {
    timeZone,
    get nowMicros() {
      return asked(context.nowMicros!);
    },
    get mzNow() {
      return asked(context.mzNow!);
    },
    get session() {
      return asked(context.session!);
    },
    ...(catalog !== undefined && { catalog }),
  };
  return { watched, isUsed: () => used };
}
