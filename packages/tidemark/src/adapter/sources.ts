/**
 * File sources: loaded once, off this thread, into parts of their shard; then the shard joins the tables and its upper follows the
 * clock. Until then it is not readable: what reads it waits. A load that was cut short by a restart begins anew.
 */

import { assert } from '../base/assert.ts';
import { nowMicros } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import type { GlobalId } from '../base/ids.ts';
import type { ItemEntity } from '../catalog/entities.ts';
import type { Part } from '../persist/shard-types.ts';
import type { Options } from '../plan/statement/plan.ts';
import { planStatement } from '../plan/statement.ts';
import { emptyBatch } from '../repr/batch.ts';
import type { ColumnDesc, RelationDesc, Row } from '../repr/types.ts';
import { sameType, typeToString } from '../repr/types.ts';
import { parseStatement } from '../sql/parse.ts';
import {
  FILE_FORMATS,
  type FileDescription,
  type FileFormat,
  type FileOrigin,
  type FileProgress,
  type FileReader,
} from '../storage/file-source.ts';
import { onlyOptions } from './ddl/options.ts';
import type { Environment } from './environment.ts';
import { storedContext } from './items.ts';

/** How often progress becomes visible. */
const PROGRESS_MS = 500;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
/** Conditions of the host that end by themselves. */
const PASSING: ReadonlySet<string> = new Set(['disk_full', 'io_error', 'connection_failure']);

const running = new WeakMap<Environment, Map<GlobalId, AbortController>>();

function loadsOf(env: Environment): Map<GlobalId, AbortController> {
  let loads = running.get(env);
  if (loads === undefined) running.set(env, (loads = new Map()));
  return loads;
}

export const loadSource = {
  origin(path: string, options: Options): FileOrigin {
    onlyOptions(options, ['format', 'header', 'delimiter'], 'a file source');
    const format = String(options['format'] ?? path.slice(path.lastIndexOf('.') + 1)).toLowerCase();
    if (!(FILE_FORMATS as readonly string[]).includes(format))
      throw new SqlError('invalid_parameter_value', `unknown file format "${format}"`, {
        hint: `FORMAT is one of ${FILE_FORMATS.join(', ')}`,
      });
    const { header, delimiter } = options;
    return {
      path,
      format: format as FileFormat,
      ...(header !== undefined && { header: header === true || header === 'true' }),
      ...(delimiter !== undefined && { delimiter: String(delimiter) }),
    };
  },

  /** The file's columns; those that the statement lists must be among them, and give the types. */
  columns(described: RelationDesc, stated: readonly ColumnDesc[]): RelationDesc {
    if (stated.length === 0) return described;
    for (const c of stated) {
      const found = described.columns.find((d) => d.name === c.name);
      if (found === undefined)
        throw new SqlError('undefined_column', `the file has no column "${c.name}"`, {
          hint: `its columns are ${described.columns.map((d) => d.name).join(', ')}`,
        });
      if (!sameType(found.type, c.type))
        throw new SqlError(
          'datatype_mismatch',
          `column "${c.name}" of the file has type ${typeToString(found.type)}, not ${typeToString(c.type)}`,
          {
            hint: 'leave the column list out, and cast in a view',
          },
        );
    }
    return { columns: stated, keys: [] };
  },

  start(env: Environment, entity: ItemEntity, origin: FileOrigin, described: FileDescription): void {
    const abort = new AbortController();
    loadsOf(env).set(entity.id, abort);
    void loadUntilDone(env, entity, origin, described, abort.signal).finally(() =>
      loadsOf(env).delete(entity.id),
    );
  },

  /**
   * Of a process that has just begun to write. A source that is loaded is told to be; a load that was cut short begins anew, what was
   * staged is collected as garbage.
   */
  resume(env: Environment, entity: ItemEntity): void {
    const { rows, bytes, upper } = env.collections.shard(entity.id).info();
    if (upper > 0) {
      status(env, entity, 'running', null);
      statistics(env, entity.id, { rowsRead: rows, bytesRead: bytes }, rows, true);
      return;
    }
    const again = async (): Promise<void> => {
      const origin = loadSource.originOf(env, entity);
      const described = await env.options.files.describe(origin);
      loadSource.start(env, entity, origin, described);
    };
    again().catch((error: unknown) => loadSource.failed(env, entity, error));
  },

  failed(env: Environment, entity: ItemEntity, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    env.options.logger.error({ source: entity.name, error: message }, 'a source could not be loaded');
    status(env, entity, 'stalled', message);
    if (isPassing(error)) return;
    env.unreadable.set(entity.id, message);
    env.clusters.tellReaders();
  },

  /** Where a stored source reads from. */
  originOf(env: Environment, entity: ItemEntity): FileOrigin {
    const plan = planStatement(parseStatement(entity.createSql), storedContext(env.catalog, ''));
    assert(plan?.kind === 'createSource' && plan.from.kind === 'file', `${entity.id} is a file source`);
    return loadSource.origin(plan.from.path, plan.originOptions);
  },

  stop(env: Environment, id: GlobalId): void {
    loadsOf(env).get(id)?.abort();
    env.unreadable.delete(id);
    env.setLive([
      { table: 'mz_source_statuses', key: id, rows: [] },
      { table: 'mz_source_statistics', key: id, rows: [] },
    ]);
  },

  stopAll(env: Environment): void {
    for (const abort of loadsOf(env).values()) abort.abort();
  },
};

const isPassing = (error: unknown): boolean => error instanceof SqlError && PASSING.has(error.code);

function status(
  env: Environment,
  entity: ItemEntity,
  state: 'starting' | 'running' | 'stalled',
  error: string | null,
): void {
  const now = BigInt(nowMicros(env.options.clock));
  const row: Row = [entity.id, entity.name, 'file', now, state, error];
  env.setLive([{ table: 'mz_source_statuses', key: entity.id, rows: [row] }]);
}

function statistics(
  env: Environment,
  id: GlobalId,
  p: FileProgress,
  known: number | null,
  committed: boolean,
): void {
  const of = known === null ? null : BigInt(known);
  const row: Row = [id, BigInt(p.rowsRead), of, BigInt(p.bytesRead), committed];
  env.setLive([{ table: 'mz_source_statistics', key: id, rows: [row] }]);
}

/** A full disk or a store that does not answer is waited out; what is wrong with the file itself is not. */
async function loadUntilDone(
  env: Environment,
  entity: ItemEntity,
  origin: FileOrigin,
  described: FileDescription,
  signal: AbortSignal,
): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS))
    try {
      return await load(env, entity, origin, described, signal);
    } catch (error) {
      if (signal.aborted) return;
      loadSource.failed(env, entity, error);
      if (!isPassing(error)) return;
      await new Promise<void>((resolve) => {
        const cancel = env.options.timers.after(pauseMs, resolve);
        signal.addEventListener('abort', () => {
          cancel();
          resolve();
        });
      });
    }
}

async function load(
  env: Environment,
  entity: ItemEntity,
  origin: FileOrigin,
  described: FileDescription,
  signal: AbortSignal,
): Promise<void> {
  const shard = env.collections.shard(entity.id);
  const desc = entity.desc!;
  status(env, entity, 'starting', null);
  const parts: Part[] = [];
  let last: FileProgress = { rowsRead: 0, bytesRead: 0 };
  let shownAt = 0;
  const noErrors = emptyBatch(['bytes']);
  const onBatch: Parameters<FileReader['read']>[2] = async (batch, progress) => {
    // All rows carry the load's time, the shard's since.
    parts.push(...(await shard.stageParts({ oks: { ...batch, times: shard.since }, errs: noErrors })));
    last = progress;
    const now = env.options.clock.nowMs();
    if (now < shownAt + PROGRESS_MS) return;
    shownAt = now;
    statistics(env, entity.id, progress, described.rowsKnown, false);
  };
  try {
    await env.options.files.read(origin, desc, onBatch, signal);
    signal.throwIfAborted();
  } catch (error) {
    // No append was tried that names them.
    await shard.discardParts(parts).catch(() => undefined);
    throw error;
  }
  await env.group.write({ join: [{ shard, store: 'durable', parts }] });
  statistics(env, entity.id, last, last.rowsRead, true);
  status(env, entity, 'running', null);
}
