/**
 * The stores of one thread, used from another: calls and answers over a message port. Bytes are transferred, not
 * copied, where their buffer is theirs alone. Notices go both ways: the serving side relays them, so that the
 * writers and readers of all its ports hear of each other.
 *
 * What fails on the serving side fails on the calling side with the same SqlError. When the port ends, `close` of
 * the serving side lets go of the pins that the other side held.
 */
import { AssertionError } from '../base/assert.ts';
import { type ErrorCode, SqlError } from '../base/error.ts';
import type { Blob } from './blob.ts';
import type { CasMode, CasOp, CasResult, Consensus, Seqno, Versioned } from './consensus.ts';
import type { MergeElsewhere } from './log.ts';
import type { Pins } from './pins.ts';
import type { Stores } from './shards.ts';
import type { ShardNotice, ShardWatch } from './watch.ts';

/** Both ends of a worker's channel, or one end of a MessageChannel; delivers in order. */
export interface StorePort {
  post(message: unknown, transfer: ArrayBuffer[]): void;
  /** One handler a port. */
  onMessage(handler: (message: unknown) => void): void;
}

/** Method -> arguments and answer: the one list of what crosses the port. */
interface Calls {
  get: { args: [key: string]; answer: Uint8Array<ArrayBuffer> | null };
  put: { args: [key: string, bytes: Uint8Array]; answer: undefined };
  delete: { args: [key: string]; answer: undefined };
  listBlobs: { args: [prefix: string]; answer: string[] };
  head: { args: [key: string]; answer: Versioned | null };
  read: { args: [key: string, after: Seqno]; answer: Versioned[] };
  compareAndSet: { args: [ops: readonly CasOp[], mode: CasMode]; answer: CasResult[] };
  remove: { args: [key: string]; answer: undefined };
  listKeys: { args: [prefix: string]; answer: string[] };
  pin: { args: [keys: readonly string[]]; answer: undefined };
  pinned: { args: [keys: readonly string[]]; answer: string[] };
  readElsewhere: { args: []; answer: boolean };
  merge: { args: [shardId: string, ids: readonly number[]]; answer: 'merged' | 'outrun' | 'here' };
}
type Method = keyof Calls;

type ToServer =
  | { readonly t: 'call'; readonly id: number; readonly method: Method; readonly args: readonly unknown[] }
  | { readonly t: 'unpin'; readonly keys: readonly string[] }
  | { readonly t: 'publish'; readonly notices: readonly ShardNotice[] }
  | { readonly t: 'subscribe' | 'unsubscribe'; readonly shardId: string };
type ToClient =
  | { readonly t: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly t: 'error'; readonly id: number; readonly error: WireError }
  | { readonly t: 'notices'; readonly notices: readonly ShardNotice[] };

interface WireError {
  /** null: not an error for users. */
  readonly code: ErrorCode | null;
  readonly message: string;
  readonly detail: string | undefined;
  readonly hint: string | undefined;
}

type Handlers = { readonly [M in Method]: (...args: Calls[M]['args']) => Promise<unknown> };

function handlersOf({ blob, consensus, pins, mergeElsewhere }: Omit<Stores, 'watch'>): Handlers {
  return {
    get: (key) => blob.get(key),
    put: (key, bytes) => blob.put(key, bytes),
    delete: (key) => blob.delete(key),
    listBlobs: (prefix) => blob.list(prefix),
    head: (key) => consensus.head(key),
    read: (key, after) => consensus.read(key, after),
    compareAndSet: (ops, mode) => consensus.compareAndSet(ops, mode),
    remove: (key) => consensus.remove(key),
    listKeys: (prefix) => consensus.list(prefix),
    pin: (keys) => pins.pin(keys),
    pinned: (keys) => pins.pinned(keys),
    readElsewhere: () => pins.readElsewhere(),
    merge: async (shardId, ids) => (await mergeElsewhere?.(shardId, ids)) ?? 'here',
  };
}

/** Pins that pass through, counted, so that they can be let go for a side that is gone. */
class CountedPins implements Pins {
  readonly #pins: Pins;
  readonly #held = new Map<string, number>();

  constructor(pins: Pins) {
    this.#pins = pins;
  }

  async pin(keys: readonly string[]): Promise<void> {
    for (const k of keys) this.#held.set(k, (this.#held.get(k) ?? 0) + 1);
    await this.#pins.pin(keys);
  }

  unpin(keys: readonly string[]): void {
    for (const k of keys) {
      const n = (this.#held.get(k) ?? 0) - 1;
      if (n > 0) this.#held.set(k, n);
      else this.#held.delete(k);
    }
    this.#pins.unpin(keys);
  }

  pinned(keys: readonly string[]): Promise<string[]> {
    return this.#pins.pinned(keys);
  }

  readElsewhere(): Promise<boolean> {
    return this.#pins.readElsewhere();
  }

  close(): void {
    for (const [key, n] of this.#held) this.#pins.unpin(new Array<string>(n).fill(key));
    this.#held.clear();
  }
}

/** Serves `stores` to the other end of the port. */
export function serveStores(port: StorePort, stores: Stores): { close(): void } {
  const { watch } = stores;
  const pins = new CountedPins(stores.pins);
  const subscriptions = new Map<string, () => void>();
  const handlers = handlersOf({ ...stores, pins });
  const post = (message: ToClient, transfer: ArrayBuffer[] = []) => port.post(message, transfer);
  // A commit moves some fifty shards at once: their notices are one message, as soon as whoever published them is done.
  let noticed: ShardNotice[] = [];
  const tell = () => {
    if (noticed.length > 0) post({ t: 'notices', notices: noticed });
    noticed = [];
  };
  const notice = (n: ShardNotice) => {
    if (noticed.push(n) === 1) void Promise.resolve().then(tell);
  };
  const answer = async (id: number, method: Method, args: readonly unknown[]) => {
    try {
      const value = await (handlers[method] as (...a: readonly unknown[]) => Promise<unknown>)(...args);
      // A blob's reader owns what it gets, so it may be handed on.
      const transfer = method === 'get' && value !== null ? [(value as Uint8Array<ArrayBuffer>).buffer] : [];
      post({ t: 'answer', id, value }, transfer);
    } catch (e) {
      post({ t: 'error', id, error: toWire(e) });
    }
  };
  port.onMessage((raw) => {
    const m = raw as ToServer;
    switch (m.t) {
      case 'call':
        void answer(m.id, m.method, m.args);
        break;
      case 'unpin':
        pins.unpin(m.keys);
        break;
      case 'publish':
        watch.publish(m.notices);
        break;
      case 'subscribe':
        subscriptions.set(m.shardId, watch.subscribe(m.shardId, notice));
        break;
      case 'unsubscribe':
        subscriptions.get(m.shardId)?.();
        subscriptions.delete(m.shardId);
        break;
    }
  });
  return {
    close() {
      for (const end of subscriptions.values()) end();
      subscriptions.clear();
      noticed = [];
      pins.close();
    },
  };
}

function toWire(e: unknown): WireError {
  if (e instanceof SqlError) return { code: e.code, message: e.message, detail: e.detail, hint: e.hint };
  return {
    code: null,
    message: e instanceof Error ? e.message : String(e),
    detail: undefined,
    hint: undefined,
  };
}

/** The stores that the other end of the port serves. After `close`, what is still asked fails. */
export function remoteStores(port: StorePort): Stores & { close(): void } {
  const client = new StoreClient(port);
  return { ...client.stores(), close: () => client.close() };
}

class StoreClient {
  readonly #port: StorePort;
  readonly #asked = new Map<number, { resolve: (v: unknown) => void; reject: (e: unknown) => void }>();
  readonly #listeners = new Map<string, Set<(notice: ShardNotice) => void>>();
  #id = 0;
  #closed = false;

  constructor(port: StorePort) {
    this.#port = port;
    port.onMessage((raw) => this.#receive(raw as ToClient));
  }

  close(): void {
    this.#closed = true;
    for (const { reject } of this.#asked.values()) reject(portClosed());
    this.#asked.clear();
  }

  #post(message: ToServer): void {
    if (!this.#closed) this.#port.post(message, []);
  }

  #call<M extends Method>(method: M, ...args: Calls[M]['args']): Promise<Calls[M]['answer']> {
    if (this.#closed) return Promise.reject(portClosed());
    const id = this.#id++;
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve: resolve as (v: unknown) => void, reject });
      this.#post({ t: 'call', id, method, args });
    });
  }

  #receive(m: ToClient): void {
    if (m.t === 'notices') {
      for (const n of m.notices) for (const f of [...(this.#listeners.get(n.shardId) ?? [])]) f(n);
      return;
    }
    const asked = this.#asked.get(m.id);
    this.#asked.delete(m.id);
    if (m.t === 'answer') asked?.resolve(m.value);
    else {
      const { code, message, detail, hint } = m.error;
      asked?.reject(
        code === null ? new AssertionError(message) : new SqlError(code, message, { detail, hint }),
      );
    }
  }

  stores(): Stores {
    const blob: Blob = {
      get: (key) => this.#call('get', key),
      put: (key, bytes) => this.#call('put', key, compact(bytes)),
      delete: (key) => this.#call('delete', key),
      list: (prefix) => this.#call('listBlobs', prefix),
    };
    const consensus: Consensus = {
      head: (key) => this.#call('head', key),
      read: (key, after) => this.#call('read', key, after),
      compareAndSet: (ops, mode) =>
        this.#call(
          'compareAndSet',
          ops.map((op) => ({ ...op, value: compact(op.value) })),
          mode,
        ),
      remove: (key) => this.#call('remove', key),
      list: (prefix) => this.#call('listKeys', prefix),
    };
    const pins: Pins = {
      pin: (keys) => this.#call('pin', keys),
      unpin: (keys) => this.#post({ t: 'unpin', keys }),
      pinned: (keys) => this.#call('pinned', keys),
      readElsewhere: () => this.#call('readElsewhere'),
    };
    const watch: ShardWatch = {
      publish: (notices) => this.#post({ t: 'publish', notices }),
      subscribe: (shardId, listener) => this.#subscribe(shardId, listener),
    };
    const mergeElsewhere: MergeElsewhere = (shardId, ids) => this.#call('merge', shardId, ids);
    return { blob, consensus, pins, watch, mergeElsewhere };
  }

  #subscribe(shardId: string, listener: (notice: ShardNotice) => void): () => void {
    let set = this.#listeners.get(shardId);
    if (set === undefined) {
      this.#listeners.set(shardId, (set = new Set()));
      this.#post({ t: 'subscribe', shardId });
    }
    set.add(listener);
    return () => {
      if (!set.delete(listener) || set.size > 0) return;
      this.#listeners.delete(shardId);
      this.#post({ t: 'unsubscribe', shardId });
    };
  }
}

/** A message clones a view's whole buffer: a small view of a large one is copied first. */
const compact = (bytes: Uint8Array): Uint8Array =>
  bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();

const portClosed = (): SqlError =>
  new SqlError('connection_failure', 'the connection to the store was closed');
