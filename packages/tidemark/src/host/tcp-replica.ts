/**
 * A replica in a process of its own, as the environment sees it: a connection over TCP. Whoever dials serves the shards in its memory to
 * the other side. The connection is lost when the replica ends it, when the socket does, or when the other side falls
 * silent; dialling again is the supervisor's.
 */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import type { Command, ReplicaConnection, Response } from '../compute/protocol.ts';
import { packCommand } from '../compute/wire.ts';
import { serveStores } from '../persist/rpc.ts';
import type { Stores } from '../persist/shards.ts';
import { FramedSocket, outOfTurn } from './framed-socket.ts';
import {
  badFrame,
  dataFrame,
  type Ended,
  FRAME_VERSION,
  type Frame,
  frame,
  type Greeting,
  HANDSHAKE_MS,
  jsonFrame,
  type Login,
  proofOf,
  readData,
  readJson,
  sameProof,
  textFrame,
  type Welcome,
} from './replica-frames.ts';

export interface DialOptions {
  /** `host:port`. */
  readonly address: string;
  /** That the replica must have. */
  readonly workers: number;
  readonly token: string;
  /** What identifies the data directory. */
  readonly directory: string;
  /** Of the shards in the environment's memory. */
  readonly memory: Stores;
}

/** Resolves when both sides have shown who they are. */
export function dialReplica(options: DialOptions): Promise<ReplicaConnection> {
  const { host, port } = parseAddress(options.address);
  const replica = new TcpReplica(options, connect({ host, port }));
  return replica.welcomed;
}

function parseAddress(text: string): { readonly host: string; readonly port: number } {
  const m = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(text);
  assert(m !== null, `the address of a replica was looked at when it was created: ${text}`);
  return { host: (m[1] ?? m[2])!, port: Number(m[3]) };
}

class TcpReplica implements ReplicaConnection {
  readonly workers: number;
  onResponse: (response: Response) => void = () => undefined;
  onLost: (reason: string) => void = () => undefined;
  readonly welcomed: Promise<ReplicaConnection>;
  readonly #o: DialOptions;
  readonly #socket: FramedSocket;
  readonly #challenge = randomBytes(16).toString('hex');
  readonly #timeout: NodeJS.Timeout;
  #welcome!: (replica: ReplicaConnection) => void;
  #refuse!: (error: Error) => void;
  #stage: 'dialled' | 'greeted' | 'welcomed' | 'closing' = 'dialled';
  #store: { hear: (message: unknown) => void; close: () => void } | null = null;

  constructor(options: DialOptions, socket: Socket) {
    this.workers = options.workers;
    this.#o = options;
    this.welcomed = new Promise((resolve, reject) => {
      this.#welcome = resolve;
      this.#refuse = reject;
    });
    this.#socket = new FramedSocket(socket, {
      onFrame: (f) => this.#receive(f),
      onEnd: (reason) => this.#end(reason),
    });
    this.#timeout = setTimeout(
      () => this.#socket.end(`no answer within ${HANDSHAKE_MS / 1000} s`),
      HANDSHAKE_MS,
    );
  }

  #receive(f: Frame): void {
    if (f.kind === 'ended') return this.#socket.end((readJson(f) as Ended).message);
    if (f.kind === 'greeting' && this.#stage === 'dialled') return this.#login(readJson(f) as Greeting);
    if (f.kind === 'welcome' && this.#stage === 'greeted') return this.#welcomed(readJson(f) as Welcome);
    if (this.#stage !== 'welcomed') throw outOfTurn(f);
    if (f.kind === 'responses') for (const r of readData(f) as Response[]) this.onResponse(r);
    else if (f.kind === 'store') this.#store!.hear(readData(f));
    else throw outOfTurn(f);
  }

  #login(greeting: Greeting): void {
    if (greeting.tidemark !== 'replica') throw badFrame('what listens there is not a replica');
    if (greeting.version !== FRAME_VERSION)
      throw badFrame(`the replica speaks version ${greeting.version} of the frames, not ${FRAME_VERSION}`);
    this.#stage = 'greeted';
    const proof = proofOf(this.#o.token, 'environment', String(greeting.challenge));
    const { workers, directory } = this.#o;
    const login: Login = { version: FRAME_VERSION, workers, directory, challenge: this.#challenge, proof };
    this.#socket.send(jsonFrame('login', login));
  }

  #welcomed(welcome: Welcome): void {
    if (!sameProof(welcome.proof, proofOf(this.#o.token, 'replica', this.#challenge)))
      throw badFrame('the replica does not know the token');
    this.#stage = 'welcomed';
    clearTimeout(this.#timeout);
    this.#socket.trust();
    let hear: (message: unknown) => void = () => undefined;
    const served = serveStores(
      {
        post: (message) => this.#socket.send(dataFrame('store', message)),
        onMessage: (handler) => {
          hear = handler;
        },
      },
      this.#o.memory,
    );
    this.#store = { hear: (message) => hear(message), close: () => served.close() };
    this.#welcome(this);
  }

  #end(reason: string): void {
    clearTimeout(this.#timeout);
    this.#store?.close();
    this.#refuse(new SqlError('connection_failure', `replica at ${this.#o.address}: ${reason}`));
    if (this.#stage === 'welcomed') this.onLost(reason);
  }

  send(command: Command): void {
    this.#socket.send(textFrame('command', packCommand(command)));
  }

  /** The replica goes on; the next connection finds its state. */
  async close(): Promise<void> {
    this.#stage = 'closing';
    this.#socket.end('closed');
  }

  async retire(): Promise<void> {
    this.#stage = 'closing';
    this.#socket.end('dropped', frame('retire'));
  }
}
