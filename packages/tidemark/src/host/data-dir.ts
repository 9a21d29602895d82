/**
 * A data directory on this machine:
 *
 *     FORMAT         the version of everything in it
 *     lock.db        held exclusively by the one process that writes; the kernel lets go when it dies
 *     lock-2.db …    the same, of the generations after the first
 *     owner.json     who that is, for the message to a second one
 *     consensus.db   consensus, by any number of connections
 *     parts/         blobs
 *
 * The lock is SQLite's: Node has no call for file locks, and this one dies with its process, `kill -9` included.
 * The environment's generation and the number of its start stand in consensus: a writable open counts a start,
 * which fences the starts before it; a generation is raised by promotion alone.
 *
 * A lock for each generation: an old leader that hangs, and so neither writes nor lets go, keeps only what nobody wants any more. What
 * it may still try is refused by the shards, which know the generation; the lock only spares a second process that. A promotion
 * takes the lock of the generation it is about to raise, so of two candidates one goes on.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, open, readdir, rename, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SqlError } from '../base/error.ts';
import type { Consensus } from '../persist/consensus.ts';
import { DiskBlob, syncDirectory } from './disk-blob.ts';
import { ioError, isMissing } from './io-error.ts';
import { isBusy, isBusyCode, SqliteConsensus } from './sqlite-consensus.ts';

export const FORMAT_VERSION = 1;
const FORMAT_LINE = /^tidemark data directory, format (\d+)\n$/;
const OWN_NAMES = new Set(['lock.db', 'lock.db-journal', 'owner.json', 'FORMAT.tmp']);

/** Key = the version it starts from. Each step leaves the directory readable by the version after it. */
const UPGRADES: Readonly<Record<number, (path: string) => Promise<void>>> = {};

/** Which run of the engine this is. */
export interface Epoch {
  readonly generation: number;
  readonly start: number;
}

interface StoredEpoch extends Epoch {
  /** Random, of whoever wrote it: what tells the directory from a copy of it. */
  readonly tag?: string;
}

/** A process that stands by has other things to do than to wait for a leader that may hang. */
const STANDBY_BUSY_MS = 2000;

const EPOCH_KEY = 'environment';

export interface DataDirOptions {
  /** Reads only, beside a process that writes: takes no lock and counts no start. */
  readonly readOnly?: boolean;
  /** How long a read-only opener waits for a transaction of the writer, which may hang. */
  readonly busyMs?: number;
}

export class DataDir {
  readonly path: string;
  readonly blob: DiskBlob;
  readonly consensus: SqliteConsensus;
  #lock: Lock | null;
  #epoch: Epoch;

  private constructor(path: string, lock: Lock | null, consensus: SqliteConsensus, epoch: Epoch) {
    this.path = path;
    this.blob = new DiskBlob(partsPath(path));
    this.consensus = consensus;
    this.#lock = lock;
    this.#epoch = epoch;
  }

  /** Opens the directory, making it if it is missing or empty. */
  static async open(path: string, options: DataDirOptions = {}): Promise<DataDir> {
    const readOnly = options.readOnly ?? false;
    if (readOnly) {
      checkFormat(path, await readFormat(path));
      const consensus = new SqliteConsensus(consensusPath(path), {
        busyMs: options.busyMs ?? STANDBY_BUSY_MS,
      });
      return new DataDir(path, null, consensus, (await readEpoch(consensus)) ?? { generation: 1, start: 0 });
    }
    await makeDirectory(path).catch((e) => {
      throw ioError(`data directory ${path} could not be made`, e);
    });
    await refuseStrangers(path);
    const lock = await lockCurrent(path);
    try {
      announce(path);
      await upgrade(path);
      const consensus = new SqliteConsensus(consensusPath(path));
      const epoch = await countStart(consensus);
      const dir = new DataDir(path, lock, consensus, epoch);
      await dir.blob.clean();
      return dir;
    } catch (e) {
      lock.release();
      throw e;
    }
  }

  get epoch(): Epoch {
    return this.#epoch;
  }

  /** As it stands in consensus now, where a promotion elsewhere raises it. */
  storedEpoch(): Promise<Epoch | null> {
    return readEpoch(this.consensus);
  }

  /**
   * Two processes over one directory read the same, those over two, one of them a copy of the other even, do not. The inode is for copies that
   * were made since the last start.
   */
  async identity(): Promise<string> {
    const { ino } = await stat(consensusPath(this.path), { bigint: true });
    return `${(await readStored(this.consensus))?.tag} ${ino}`;
  }

  get writable(): boolean {
    return this.#lock !== null;
  }

  /** What a read-only opener is once it is promoted. */
  get nextEpoch(): Epoch {
    return { generation: this.#epoch.generation + 1, start: 1 };
  }

  /**
   * Makes a read-only opener the writer, as the generation after the one that it found. Refused when another has become that
   * meanwhile. The generation before is fenced by whoever raises the shards' own.
   */
  async promote(): Promise<Epoch> {
    if (this.#lock !== null) return this.#epoch;
    const next = this.nextEpoch;
    const lock = takeLock(this.path, next.generation);
    try {
      await writeEpoch(this.consensus, (e) => {
        if ((e?.generation ?? 1) >= next.generation) throw superseded(this.path, e!.generation);
        return next;
      });
    } catch (e) {
      lock.release();
      throw isBusy(e) ? hangs(this.path) : e;
    }
    this.consensus.bePatient();
    announce(this.path);
    this.#lock = lock;
    this.#epoch = next;
    forgetLocks(this.path, next.generation);
    await this.blob.clean();
    return next;
  }

  close(): void {
    this.consensus.close();
    this.#lock?.release();
    this.#lock = null;
  }
}

/** What a worker thread opens by itself. */
export const consensusPath = (path: string): string => join(path, 'consensus.db');
export const partsPath = (path: string): string => join(path, 'parts');

// ---- lock -----------------------------------------------------------------------------------------------------

interface Lock {
  release(): void;
}

const ownerPath = (path: string): string => join(path, 'owner.json');

const lockPath = (path: string, generation: number): string =>
  join(path, generation === 1 ? 'lock.db' : `lock-${generation}.db`);

/** The lock of the generation that is the present one, also when that is raised meanwhile. */
async function lockCurrent(path: string): Promise<Lock> {
  for (;;) {
    const generation = await currentGeneration(path);
    const lock = takeLock(path, generation);
    if ((await currentGeneration(path)) === generation) {
      forgetLocks(path, generation);
      return lock;
    }
    lock.release();
  }
}

async function currentGeneration(path: string): Promise<number> {
  if (!existsSync(consensusPath(path))) return 1;
  const consensus = new SqliteConsensus(consensusPath(path));
  try {
    return (await readEpoch(consensus))?.generation ?? 1;
  } finally {
    consensus.close();
  }
}

/** Those of generations that are over; who still holds one holds a file without a name. */
function forgetLocks(path: string, generation: number): void {
  for (let g = generation - 1; g > 0 && existsSync(lockPath(path, g)); g--)
    rmSync(lockPath(path, g), { force: true });
}

/** It stopped while it held the file: SQLite lets nobody write until it goes on or ends. */
const hangs = (path: string): SqlError =>
  new SqlError(
    'object_in_use',
    `data directory ${path} is held by ${holderOf(path)}, which stopped in the middle of a write`,
    {
      hint: 'end that process, and promote this one again',
    },
  );

const superseded = (path: string, generation: number): SqlError =>
  new SqlError(
    'object_in_use',
    `another process was promoted to generation ${generation} of data directory ${path}`,
    {
      hint: 'start this one again, to stand by for the new leader',
    },
  );

function takeLock(path: string, generation: number): Lock {
  let db: DatabaseSync;
  try {
    db = new DatabaseSync(lockPath(path, generation));
  } catch (e) {
    throw ioError(`data directory ${path} could not be locked`, e);
  }
  try {
    db.exec('PRAGMA busy_timeout = 0; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (e) {
    db.close();
    if (isBusyCode(e)) throw inUse(path);
    throw ioError(`data directory ${path} could not be locked`, e);
  }
  return { release: () => db.close() };
}

/** Says to others who writes here. */
function announce(path: string): void {
  const about = { pid: process.pid, host: hostname(), since: new Date().toISOString() };
  try {
    writeFileSync(ownerPath(path), `${JSON.stringify(about)}\n`);
  } catch (e) {
    throw ioError(`data directory ${path} could not be locked`, e);
  }
}

function holderOf(path: string): string {
  try {
    const { pid, host, since } = JSON.parse(readFileSync(ownerPath(path), 'utf8')) as Record<string, unknown>;
    return `process ${String(pid)} on ${String(host)}, since ${String(since)}`;
  } catch {
    // Its owner is just about to write who it is.
    return 'another process';
  }
}

function inUse(path: string): SqlError {
  return new SqlError('object_in_use', `data directory ${path} is in use by ${holderOf(path)}`, {
    hint: 'one process writes a directory: stop that one first, stand by for it with --read-only, or use another directory',
  });
}

// ---- format ---------------------------------------------------------------------------------------------------

async function readFormat(path: string): Promise<string | null> {
  try {
    return readFileSync(join(path, 'FORMAT'), 'utf8');
  } catch (e) {
    if (isMissing(e)) return null;
    throw ioError(`data directory ${path} could not be read`, e);
  }
}

/** The version that a FORMAT file states. */
function checkFormat(path: string, text: string | null): number {
  const version = Number(FORMAT_LINE.exec(text ?? '')?.[1] ?? Number.NaN);
  if (Number.isNaN(version)) throw stranger(path);
  if (version > FORMAT_VERSION)
    throw new SqlError(
      'object_not_in_prerequisite_state',
      `data directory ${path} has format ${version}, and this version knows formats up to ${FORMAT_VERSION}`,
      { hint: 'open it with the version that wrote it, or a later one' },
    );
  return version;
}

const stranger = (path: string): SqlError =>
  new SqlError('undefined_file', `${path} is not a data directory`, {
    detail: 'it has no FORMAT file that this version understands',
  });

/** A directory that is neither ours nor empty is left alone. */
async function refuseStrangers(path: string): Promise<void> {
  const text = await readFormat(path);
  if (text !== null) checkFormat(path, text);
  else if ((await readdir(path)).some((name) => !OWN_NAMES.has(name))) throw stranger(path);
}

async function upgrade(path: string): Promise<void> {
  const text = await readFormat(path);
  let version = text === null ? FORMAT_VERSION : checkFormat(path, text);
  if (text === null) {
    mkdirSync(partsPath(path), { recursive: true });
    await writeFormat(path, version);
  }
  for (; version < FORMAT_VERSION; version++) {
    const step = UPGRADES[version];
    if (step === undefined)
      throw new SqlError(
        'object_not_in_prerequisite_state',
        `data directory ${path} has format ${version}, which is too old`,
      );
    await step(path);
    await writeFormat(path, version + 1);
  }
}

async function writeFormat(path: string, version: number): Promise<void> {
  const file = await open(join(path, 'FORMAT.tmp'), 'w');
  try {
    await file.writeFile(`tidemark data directory, format ${version}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(join(path, 'FORMAT.tmp'), join(path, 'FORMAT'));
  await syncDirectory(path);
}

// ---- epoch ----------------------------------------------------------------------------------------------------

const decoded = (value: Uint8Array): StoredEpoch => JSON.parse(new TextDecoder().decode(value));

async function readStored(consensus: Consensus): Promise<StoredEpoch | null> {
  const head = await consensus.head(EPOCH_KEY);
  return head === null ? null : decoded(head.value);
}

async function readEpoch(consensus: Consensus): Promise<Epoch | null> {
  const stored = await readStored(consensus);
  return stored === null ? null : { generation: stored.generation, start: stored.start };
}

async function writeEpoch(consensus: Consensus, next: (current: Epoch | null) => Epoch): Promise<Epoch> {
  for (;;) {
    const head = await consensus.head(EPOCH_KEY);
    const epoch = next(head === null ? null : decoded(head.value));
    const stored: StoredEpoch = { ...epoch, tag: randomBytes(8).toString('hex') };
    const value = new TextEncoder().encode(JSON.stringify(stored));
    const op = { key: EPOCH_KEY, expected: head?.seqno ?? null, value, reset: true };
    const [result] = await consensus.compareAndSet([op], 'each');
    if (result!.applied) return epoch;
  }
}

const countStart = (consensus: Consensus): Promise<Epoch> =>
  writeEpoch(consensus, (e) => ({ generation: e?.generation ?? 1, start: (e?.start ?? 0) + 1 }));

/** With the directories above it. Node's `recursive` tries for ever where a system makes no directories, /proc for one (node 24.21). */
async function makeDirectory(path: string, isLastTry = false): Promise<void> {
  await mkdir(path).catch(async (e: NodeJS.ErrnoException) => {
    if (e.code === 'EEXIST' && (await stat(path)).isDirectory()) return;
    if (isLastTry || !isMissing(e)) throw e;
    await makeDirectory(dirname(path));
    await makeDirectory(path, true);
  });
}
