/**
 * A replica in a process of its own: workers on threads, over a data directory that an environment writes, served to it over TCP. It takes
 * no lock and counts no start. Parts and consensus each thread opens for itself; what others write is noticed by looking, and shards in the
 * memory of the environment are read over the connection.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type Socket } from 'node:net';
import type { Logger } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import type { Response } from '../compute/protocol.ts';
import { unpackCommand } from '../compute/wire.ts';
import { MemoryPins } from '../persist/pins.ts';
import { remoteStores } from '../persist/rpc.ts';
import { Shards, type Stores } from '../persist/shards.ts';
import { Compactor } from './compactor.ts';
import { consensusPath, DataDir } from './data-dir.ts';
import { DirectoryWatch } from './directory-watch.ts';
import { FramedSocket, outOfTurn } from './framed-socket.ts';
import { type BoundAddress, bindServer } from './listen.ts';
import { nodeClock, nodeRandom, nodeTimers } from './node-clock.ts';
import { memoryPartCodec, nodePartCodec } from './part-codec.ts';
import {
  dataFrame,
  FRAME_VERSION,
  type Frame,
  HANDSHAKE_MS,
  jsonFrame,
  type Login,
  proofOf,
  readData,
  readJson,
  readText,
  sameProof,
} from './replica-frames.ts';
import { type Attachment, ReplicaHost } from './replica-host.ts';
import type { StoreSet } from './shard-access.ts';
import { SwitchedStores } from './switched-stores.ts';
import { ThreadReplica } from './thread-replica.ts';

export interface ReplicaServerOptions {
  readonly listen: BoundAddress;
  readonly dataDir: string;
  readonly workers: number;
  /** Required off loopback; absent: whoever reaches the port may connect. */
  readonly token?: string;
  readonly logger: Logger;
}

export interface RunningReplica {
  readonly address: BoundAddress;
  close(): Promise<void>;
}

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|localhost|::1)$/;
/** Connections at a time, those that have not logged in among them. */
const MAX_CONNECTIONS = 64;

export async function serveReplica(o: ReplicaServerOptions): Promise<RunningReplica> {
  if (o.token === undefined && !LOOPBACK.test(o.listen.host))
    throw new SqlError(
      'invalid_authorization_specification',
      `listening on ${o.listen.host} requires a token`,
      { hint: 'set TIDEMARK_REPLICA_TOKEN, for the environment too' },
    );
  const dir = await DataDir.open(o.dataDir, { readOnly: true });
  const watch = new DirectoryWatch({
    path: consensusPath(o.dataDir),
    timers: nodeTimers,
    logger: o.logger,
  });
  const stopWatching = watch.follow();
  const memory = new SwitchedStores();
  const processTag = randomBytes(6).toString('hex');
  const compactor: Compactor = new Compactor({
    dataDir: o.dataDir,
    processTag,
    logger: o.logger,
    stores: () => stores.durable.stores,
  });
  const stores = openStores({ dir, watch, memory, compactor, processTag, logger: o.logger });
  const host = new ReplicaHost({
    workers: o.workers,
    startLife: (incarnation) =>
      new ThreadReplica({
        workers: o.workers,
        stores,
        dataDir: o.dataDir,
        processTag,
        incarnation,
        logger: o.logger,
      }),
    newIncarnation: () => randomBytes(8).toString('hex'),
    leadingGeneration: async () => (await dir.storedEpoch())?.generation ?? 0,
    logger: o.logger,
  });
  const seats = new Set<Seat>();
  const server = createServer((socket) => {
    const seat: Seat = new Seat(socket, { ...o, dir, host, memory, onEnd: () => seats.delete(seat) });
    seats.add(seat);
  });
  server.maxConnections = MAX_CONNECTIONS;
  const release = async (): Promise<void> => {
    await compactor.close();
    await host.close();
    for (const s of seats) s.end('the replica is stopping');
    stopWatching();
    await stores.durable.close();
    await stores.memory.close();
    dir.close();
  };
  try {
    const address = await bindServer(server, o.listen);
    return {
      address,
      close: async () => {
        const closed = new Promise((resolve) => server.close(resolve));
        await release();
        await closed;
      },
    };
  } catch (error) {
    await release();
    throw error;
  }
}

/** What the threads share: notices and pins of durable shards; shards in the memory of whatever environment is connected. */
function openStores(o: {
  readonly dir: DataDir;
  readonly watch: DirectoryWatch;
  readonly memory: SwitchedStores;
  readonly compactor: Compactor;
  readonly processTag: string;
  readonly logger: Logger;
}): StoreSet {
  const { dir, watch, memory, compactor, processTag, logger } = o;
  const common = { clock: nodeClock, timers: nodeTimers, random: nodeRandom, logger, processTag };
  const pins = new MemoryPins();
  // The environment reads what is written here.
  pins.elsewhere = true;
  const { blob, consensus } = dir;
  return {
    durable: new Shards({
      ...common,
      codec: nodePartCodec,
      blob,
      consensus,
      watch,
      pins,
      mergeElsewhere: compactor.merge,
    }),
    memory: new Shards({ ...common, codec: memoryPartCodec, ...memory }),
  };
}

interface SeatOptions extends ReplicaServerOptions {
  readonly dir: Pick<DataDir, 'identity'>;
  readonly host: ReplicaHost;
  readonly memory: SwitchedStores;
  readonly onEnd: () => void;
}

/** A connection: a handshake, then a client of the host. */
class Seat {
  readonly #o: SeatOptions;
  readonly #socket: FramedSocket;
  readonly #challenge = randomBytes(16).toString('hex');
  readonly #timeout: NodeJS.Timeout;
  #hasLogin = false;
  #isOver = false;
  #attachment: Attachment | null = null;
  /** The environment's side of the shards in its memory. */
  #store: { readonly remote: Stores & { close(): void }; hear: (message: unknown) => void } | null = null;
  #responses: Response[] = [];

  constructor(socket: Socket, options: SeatOptions) {
    this.#o = options;
    this.#socket = new FramedSocket(socket, {
      onFrame: (f) => this.#receive(f),
      onEnd: (reason) => this.#ended(reason),
    });
    this.#timeout = setTimeout(() => this.end('no login came'), HANDSHAKE_MS);
    this.#socket.send(
      jsonFrame('greeting', { tidemark: 'replica', version: FRAME_VERSION, challenge: this.#challenge }),
    );
  }

  #receive(f: Frame): void {
    const attachment = this.#attachment;
    if (attachment === null) {
      if (f.kind !== 'login' || this.#hasLogin) throw outOfTurn(f);
      this.#hasLogin = true;
      this.#login(readJson(f) as Login);
      return;
    }
    if (f.kind === 'command') attachment.send(unpackCommand(readText(f)));
    else if (f.kind === 'store') this.#store?.hear(readData(f));
    else if (f.kind === 'retire') this.#o.host.retire(attachment);
    else throw outOfTurn(f);
  }

  #login(login: Login): void {
    const { token = '', workers, dir } = this.#o;
    if (login.version !== FRAME_VERSION)
      return this.end(`the replica speaks version ${FRAME_VERSION} of the frames`);
    if (!sameProof(login.proof, proofOf(token, 'environment', this.#challenge)))
      return this.end("the environment's token is not the replica's");
    if (login.workers !== workers)
      return this.end(`the replica has ${workers} workers, and ${login.workers} were asked for`);
    dir.identity().then(
      (directory) => this.#seated(login, directory),
      (error: Error) => this.end(`the replica's data directory: ${error.message}`),
    );
  }

  /** `directory`: its own. */
  #seated(login: Login, directory: string): void {
    const { token = '', host } = this.#o;
    if (login.directory !== directory)
      return this.end('the replica is over another data directory than the environment');
    if (this.#isOver) return;
    clearTimeout(this.#timeout);
    this.#socket.send(jsonFrame('welcome', { proof: proofOf(token, 'replica', String(login.challenge)) }));
    this.#socket.trust();
    this.#attachment = host.attach({
      respond: (r) => this.#respond(r),
      accepted: () => this.#accepted(),
      ended: (reason) => this.end(reason),
    });
  }

  #accepted(): void {
    let hear: (message: unknown) => void = () => undefined;
    const remote = remoteStores({
      post: (message) => this.#socket.send(dataFrame('store', message)),
      onMessage: (handler) => {
        hear = handler;
      },
    });
    this.#store = { remote, hear: (message) => hear(message) };
    this.#o.memory.use(remote);
  }

  /** Those of one turn go together. */
  #respond(r: Response): void {
    this.#responses.push(r);
    if (this.#responses.length > 1) return;
    queueMicrotask(() => this.#socket.send(dataFrame('responses', this.#responses.splice(0))));
  }

  end(reason: string): void {
    this.#socket.end(reason, jsonFrame('ended', { message: reason }));
  }

  #ended(reason: string): void {
    this.#isOver = true;
    clearTimeout(this.#timeout);
    this.#o.logger.info({ reason }, 'a connection ended');
    this.#attachment?.detach();
    if (this.#store !== null) {
      this.#store.remote.close();
      this.#o.memory.leave(this.#store.remote);
    }
    this.#o.onEnd();
  }
}
