/**
 * The rows of the object history against what replicas told: each row is a life, no life has two, and what a row says of it is what was
 * told. At rest, also: no life is without its row. Written without the code that keeps the rows.
 */
import assert from 'node:assert/strict';
import { idClass, systemId } from '../../../packages/tidemark/src/base/ids.ts';
import { HISTORY_TABLES } from '../../../packages/tidemark/src/catalog/builtins/history-tables.ts';
import type { LifecycleStage } from '../../../packages/tidemark/src/introspection/lifecycle.ts';
import type { TestEnvironment } from '../../../packages/tidemark/src/testkit/simulator.ts';
import type { ToldLife, ToldLives } from '../../../packages/tidemark/src/testkit/told-lives.ts';

const TABLE = HISTORY_TABLES.find((t) => t.name === 'mz_object_hydration_history')!;

interface Told {
  readonly at: (stage: LifecycleStage) => number | null;
  readonly life: ToldLife | null;
}

export interface HistoryRowsOptions {
  /** Of every process that has led, the present one too. */
  readonly told: readonly ToldLives[];
  /** Its row may be missing: who was to write it died, or was fenced, soon after. */
  readonly isExcused: (life: ToldLife) => boolean;
}

/** Of all workers the greatest; null until all of them told it. */
function greatest(life: ToldLife, stage: LifecycleStage): number | null {
  const told = life.stages.map((s) => s.get(stage)?.occurredAt);
  return told.some((at) => at === undefined) ? null : Math.round(Math.max(...(told as number[])));
}

function written(life: ToldLife, hydratedAt: number | null): number | null {
  const at = life.stages.map((s) => s.get('written')?.occurredAt).find((n) => n !== undefined);
  return at === undefined || hydratedAt === null ? null : Math.max(hydratedAt, Math.round(at));
}

/** By the key of their rows. */
function toldRows(all: readonly ToldLives[]): ReadonlyMap<string, Told> {
  const out = new Map<string, Told>();
  for (const { lives, unheard } of all) {
    for (const life of lives) {
      const installed = life.stages[0]!.get('installed');
      if (idClass(life.id) !== 'user' || installed === undefined) continue;
      const hydratedAt = greatest(life, 'hydrated');
      const at = (stage: LifecycleStage): number | null =>
        stage === 'written' ? written(life, hydratedAt) : hydratedAt;
      out.set(`${life.id} ${life.replicaId} ${Math.round(installed.occurredAt)}`, { at, life });
    }
    for (const [key, r] of unheard)
      if (r.worker === 0)
        out.set(`${r.id} ${key.split(' ')[0]} ${Math.round(r.installedAt)}`, { at: () => null, life: null });
  }
  return out;
}

const orNull = (value: unknown): number | null => (value === null ? null : Number(value));

export function checkHistoryRows(t: TestEnvironment, o: HistoryRowsOptions, isAtRest: boolean): void {
  const told = toldRows(o.told);
  const found = new Set<string>();
  for (const cells of t.env.builtinRows(systemId(TABLE.number))) {
    const row = Object.fromEntries(TABLE.columns.map((c, i) => [c.name, cells[i]]));
    const key = `${row['object_id']} ${row['replica_id']} ${row['installed_at']}`;
    assert.ok(!found.has(key), `${key}: one row for an episode`);
    found.add(key);
    const what = told.get(key);
    assert.ok(what !== undefined, `${key}: a row of a life that a replica told of`);
    const hydratedAt = orNull(row['hydrated_at']);
    const writtenAt = orNull(row['written_at']);
    assert.equal(row['status'] === 'hydrated', hydratedAt !== null, `${key}: status and instant agree`);
    for (const [column, least] of [
      ['ended_at', orNull(row['installed_at'])],
      ['written_at', hydratedAt],
    ] as const)
      assert.ok(row[column] === null || Number(row[column]) >= least!, `${key}: ${column} is not too early`);
    for (const column of ['queue_ns', 'compute_ns', 'blocked_ns', 'write_ns'])
      assert.ok(row[column] === null || Number(row[column]) >= 0, `${key}: ${column} is an interval`);
    // What is closed tells of itself once more, also what nobody has heard.
    if (what.life === null || what.life.closedOn.size > 0) continue;
    if (hydratedAt !== null) assert.equal(hydratedAt, what.at('hydrated'), `${key}: hydrated_at`);
    if (writtenAt !== null) assert.equal(writtenAt, what.at('written'), `${key}: written_at`);
    if (isAtRest && hydratedAt === null && row['ended_at'] === null)
      assert.equal(what.at('hydrated'), null, `${key}: it was told to be hydrated`);
  }
  if (!isAtRest) return;
  for (const [key, { life }] of told)
    if (life?.isKnown === true && !o.isExcused(life)) assert.ok(found.has(key), `${key}: it has a row`);
}
