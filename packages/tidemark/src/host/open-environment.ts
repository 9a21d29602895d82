/** An environment on this machine: a data directory or memory, workers on threads or in process. */
import { randomBytes } from 'node:crypto';
import { startEnvironment } from '../adapter/boot.ts';
import type { Environment } from '../adapter/environment.ts';
import { type Logger, silentLogger } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import type { ReplicaConnection } from '../compute/protocol.ts';
import { MemoryBlob } from '../persist/blob.ts';
import { MemoryConsensus } from '../persist/consensus.ts';
import { MemoryPins } from '../persist/pins.ts';
import { Shards } from '../persist/shards.ts';
import { Compactor } from './compactor.ts';
import { consensusPath, DataDir } from './data-dir.ts';
import { DirectoryWatch } from './directory-watch.ts';
import { ThreadFileReader } from './file-reader.ts';
import { InProcessReplica } from './in-process-replica.ts';
import { nodeClock, nodeRandom, nodeTimers } from './node-clock.ts';
import { memoryPartCodec, nodePartCodec } from './part-codec.ts';
import { ReplicasElsewhere } from './replicas-elsewhere.ts';
import { processUsage, threadUsage } from './resource-usage.ts';
import type { StoreSet } from './shard-access.ts';
import { ThreadReplica } from './thread-replica.ts';

export interface OpenOptions {
  /** Absent: everything in memory, gone at the end. */
  readonly dataDir?: string;
  readonly logger?: Logger;
  /** `threads`: each worker on a thread of its own; `inline`: on this one, for tests and small embeddings. */
  readonly workers?: 'threads' | 'inline';
  /** Workers of the default cluster, where it is made now; 1 if absent. */
  readonly defaultWorkers?: number;
  /** Stands by for the process that writes to the data directory, until it is promoted. */
  readonly readOnly?: boolean;
  /** Its own replicas, `host:port` by `cluster.replica`, for those that the catalog gives by address: those serve the leader. */
  readonly replicas?: ReadonlyMap<string, string>;
  /** Shown to replicas in processes of their own, which must have the same. */
  readonly replicaToken?: string;
  /** Another process took the data directory over: stop. */
  readonly onFenced?: (error: Error) => void;
}

export interface OpenedEnvironment {
  readonly env: Environment;
  close(): Promise<void>;
}

export async function openEnvironment(options: OpenOptions): Promise<OpenedEnvironment> {
  const logger = options.logger ?? silentLogger;
  const readOnly = options.readOnly ?? false;
  const dir = options.dataDir === undefined ? null : await DataDir.open(options.dataDir, { readOnly });
  if (dir === null && readOnly)
    throw new SqlError('invalid_parameter_value', 'what is in memory has no other process to stand by for');
  const processTag = randomBytes(6).toString('hex');
  // Looks where another process writes too: for one that stands by, and where there are replicas elsewhere.
  const watch =
    dir === null ? null : new DirectoryWatch({ path: consensusPath(dir.path), timers: nodeTimers, logger });
  const pins = new MemoryPins();
  const stopWatching = readOnly ? watch?.follow() : undefined;
  const compactor: Compactor | null =
    dir === null || options.workers === 'inline'
      ? null
      : new Compactor({ dataDir: dir.path, processTag, logger, stores: () => stores.durable.stores });
  const stores = openStores(dir === null || watch === null ? null : { dir, watch, pins, compactor }, {
    processTag,
    logger,
  });
  const { replicaToken: token } = options;
  const elsewhere = new ReplicasElsewhere({ dir, watch, pins, memory: stores.memory.stores, token });
  const standby =
    dir !== null && readOnly
      ? {
          claim: async () => void (await dir.promote()),
          onLeading: () => stopWatching?.(),
          replicas: options.replicas ?? new Map<string, string>(),
        }
      : undefined;
  const epoch = standby === undefined ? (dir?.epoch ?? { generation: 1, start: 1 }) : dir!.nextEpoch;
  try {
    const env = await startEnvironment({
      stores,
      ...epoch,
      clock: nodeClock,
      timers: nodeTimers,
      random: nodeRandom,
      logger,
      files: new ThreadFileReader(),
      createReplica: ({ workers, address, memoryLimitBytes }) =>
        address === undefined
          ? connect({ workers, memoryLimitBytes }, { options, stores, processTag, logger })
          : elsewhere.dial(address, workers),
      defaultWorkers: options.defaultWorkers ?? 1,
      ...(standby !== undefined && { standby }),
      onFenced: options.onFenced ?? ((error) => logger.error({ error }, 'another process has taken over')),
    });
    return {
      env,
      close: async () => {
        await compactor?.close();
        await env.close();
        stopWatching?.();
        elsewhere.close();
        dir?.close();
      },
    };
  } catch (error) {
    await compactor?.close();
    stopWatching?.();
    elsewhere.close();
    dir?.close();
    throw error;
  }
}

function openStores(
  durable: {
    readonly dir: DataDir;
    readonly watch: DirectoryWatch;
    readonly pins: MemoryPins;
    readonly compactor: Compactor | null;
  } | null,
  o: { readonly processTag: string; readonly logger: Logger },
): StoreSet {
  const common = { ...o, clock: nodeClock, timers: nodeTimers, random: nodeRandom };
  const memory = (): Shards =>
    new Shards({
      ...common,
      codec: memoryPartCodec,
      blob: new MemoryBlob(),
      consensus: new MemoryConsensus(),
    });
  if (durable === null) return { durable: memory(), memory: memory() };
  const { dir, watch, pins, compactor } = durable;
  const { blob, consensus } = dir;
  const mergeElsewhere = compactor?.merge;
  return {
    durable: new Shards({ ...common, codec: nodePartCodec, blob, consensus, watch, pins, mergeElsewhere }),
    memory: memory(),
  };
}

function connect(
  size: { readonly workers: number; readonly memoryLimitBytes: number | undefined },
  o: {
    readonly options: OpenOptions;
    readonly stores: StoreSet;
    readonly processTag: string;
    readonly logger: Logger;
  },
): ReplicaConnection {
  const incarnation = randomBytes(8).toString('hex');
  if (o.options.workers === 'inline')
    return new InProcessReplica({
      ...size,
      stores: o.stores,
      clock: nodeClock,
      timers: nodeTimers,
      logger: o.logger,
      incarnation,
      schedule: (f) => void setImmediate(f),
      // All workers are this thread.
      usage: (worker) => (worker === 0 ? [...processUsage(), ...threadUsage('worker 0')] : []),
    });
  return new ThreadReplica({
    ...size,
    stores: o.stores,
    dataDir: o.options.dataDir ?? null,
    processTag: o.processTag,
    incarnation,
    logger: o.logger,
  });
}
