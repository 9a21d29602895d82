/**
 * A replica that outlives its connections. It owns the workers of one life at a time and gives them to one client at a time, the last
 * that was accepted: their state goes on between two, and the workers reconcile it with what the next client asks for.
 *
 * A client begins with hello and createInstance. Refused: another version of the protocol, another generation, an earlier start of the
 * environment. A later generation is served once the data says that it leads, by workers started anew; so are logs that are
 * configured otherwise. What workers said before they saw a client's hello is not for that client.
 */
import type { Logger } from '../base/clock.ts';
import { OOM } from '../compute/memory-budget.ts';
import {
  type Command,
  PROTOCOL_VERSION,
  type ReplicaConnection,
  type Response,
} from '../compute/protocol.ts';

export interface ReplicaHostOptions {
  readonly workers: number;
  /** Starts workers without state. */
  readonly startLife: (incarnation: string) => ReplicaConnection;
  readonly newIncarnation: () => string;
  /** The generation that leads, as the data has it. */
  readonly leadingGeneration: () => Promise<number>;
  readonly logger: Logger;
}

export interface ReplicaClient {
  respond(response: Response): void;
  /** Before any response: what it asks for is being served. */
  accepted(): void;
  /** It is served no more. */
  ended(reason: string): void;
}

type Hello = Extract<Command, { kind: 'hello' }>;
type CreateInstance = Extract<Command, { kind: 'createInstance' }>;

interface Life {
  readonly connection: ReplicaConnection;
  /** How its logs are configured; null before its first client. */
  logging: string | null;
  /** Of each worker: hellos that it has not answered yet. */
  readonly unanswered: number[];
}

export class ReplicaHost {
  readonly #o: ReplicaHostOptions;
  #life: Life | null;
  #client: Attachment | null = null;
  #epoch: { readonly generation: number; readonly start: number } | null = null;
  #closing: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(options: ReplicaHostOptions) {
    this.#o = options;
    this.#life = this.#start();
  }

  #start(): Life {
    const connection = this.#o.startLife(this.#o.newIncarnation());
    const life: Life = { connection, logging: null, unanswered: new Array<number>(this.#o.workers).fill(0) };
    connection.onResponse = (r) => this.#receive(life, r);
    connection.onLost = (reason) => {
      if (this.#life !== life) return;
      this.#life = null;
      // The environment knows this word.
      this.#dismiss(reason === OOM ? OOM : `the replica's workers were lost: ${reason}`);
    };
    return life;
  }

  /** The replica was dropped, says the client that is served. */
  retire(attachment: Attachment): void {
    if (this.#client === attachment) this.#restart();
  }

  /** Gives up all state. The next client finds workers of a new incarnation. */
  #restart(): void {
    const old = this.#life;
    this.#life = null;
    if (old !== null) this.#closing = Promise.all([this.#closing, old.connection.close()]);
  }

  #receive(life: Life, r: Response): void {
    if (this.#life !== life) return;
    if (r.kind === 'hello') life.unanswered[r.worker]!--;
    if (life.unanswered[r.worker] === 0) this.#client?.client.respond(r);
  }

  #dismiss(reason: string): void {
    const client = this.#client;
    this.#client = null;
    client?.end(reason);
  }

  attach(client: ReplicaClient): Attachment {
    return new Attachment(client, {
      accept: (attachment, hello, instance) => this.#accept(attachment, hello, instance),
      send: (command) => this.#life?.connection.send(command),
      detach: (attachment) => {
        if (this.#client === attachment) this.#client = null;
      },
    });
  }

  /** Makes it the client that is served, and gives null; or why not. */
  async #accept(attachment: Attachment, hello: Hello, instance: CreateInstance): Promise<string | null> {
    const { version, generation, start } = hello;
    if (version !== PROTOCOL_VERSION)
      return `the replica speaks version ${PROTOCOL_VERSION} of the protocol, and the environment version ${version}`;
    const own = this.#epoch;
    if (own !== null && generation !== own.generation) {
      const over = generation > own.generation && (await this.#o.leadingGeneration()) >= generation;
      if (!over || this.#epoch !== own)
        return `the replica serves generation ${own.generation}, not ${generation}`;
      if (attachment.isEnded) return null;
      this.#restart();
    } else if (own !== null && start < own.start)
      return `the replica serves start ${own.start} of the environment, and ${start} came before it`;
    if (this.#closed) return 'the replica is stopping';
    this.#dismiss('another connection of the environment took its place');
    this.#epoch = { generation, start };
    this.#client = attachment;
    const logging = JSON.stringify(instance.logging);
    if (this.#life !== null && this.#life.logging !== null && this.#life.logging !== logging) this.#restart();
    const life = (this.#life ??= this.#start());
    life.logging = logging;
    for (let i = 0; i < life.unanswered.length; i++) life.unanswered[i]!++;
    return null;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#dismiss('the replica is stopping');
    this.#restart();
    await this.#closing;
  }
}

interface Door {
  accept(attachment: Attachment, hello: Hello, instance: CreateInstance): Promise<string | null>;
  send(command: Command): void;
  detach(attachment: Attachment): void;
}

/** A client's side of the host: commands wait until it is accepted. */
export class Attachment {
  readonly client: ReplicaClient;
  readonly #door: Door;
  #waiting: Command[] | null = [];
  #hello: Hello | null = null;
  #ended = false;

  constructor(client: ReplicaClient, door: Door) {
    this.client = client;
    this.#door = door;
  }

  send(command: Command): void {
    if (this.#ended) return;
    if (this.#waiting === null) {
      this.#door.send(command);
      return;
    }
    this.#waiting.push(command);
    if (this.#hello === null) {
      if (command.kind === 'hello') this.#hello = command;
      else this.end(`a connection begins with hello, not with ${command.kind}`);
    } else if (this.#waiting.length === 2) {
      if (command.kind === 'createInstance') void this.#ask(this.#hello, command);
      else this.end(`hello is followed by createInstance, not by ${command.kind}`);
    }
  }

  async #ask(hello: Hello, instance: CreateInstance): Promise<void> {
    const refusal = await this.#door.accept(this, hello, instance);
    if (this.#ended) return;
    if (refusal !== null) return this.end(refusal);
    this.client.accepted();
    const waiting = this.#waiting!;
    this.#waiting = null;
    for (const command of waiting) this.#door.send(command);
  }

  get isEnded(): boolean {
    return this.#ended;
  }

  end(reason: string): void {
    if (this.#ended) return;
    this.detach();
    this.client.ended(reason);
  }

  detach(): void {
    this.#ended = true;
    this.#door.detach(this);
  }
}
