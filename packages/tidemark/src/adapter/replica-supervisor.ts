/**
 * Keeps one replica connected: connects it, notices that it was lost, and connects it anew after a pause that doubles up to half a minute.
 * A replica that stayed for a minute starts over with the shortest pause.
 */
import type { CancelTimer, Timers } from '../base/clock.ts';
import type { ReplicaId } from '../base/ids.ts';
import type { ReplicaConnection } from '../compute/protocol.ts';
import type { ComputeInstance } from '../controller/instance.ts';
import type { ReplicaIntrospection } from '../introspection/logging-config.ts';

export interface SupervisorOptions {
  readonly replicaId: ReplicaId;
  readonly instance: ComputeInstance;
  readonly introspection?: ReplicaIntrospection | undefined;
  /** A promise where the replica is reached over a network: it is offline until that is fulfilled. */
  readonly connect: () => ReplicaConnection | Promise<ReplicaConnection>;
  readonly timers: Timers;
  readonly onStatus: (status: 'online' | 'offline', reason: string | null) => void;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
const STABLE_MS = 60_000;

export class ReplicaSupervisor {
  readonly #o: SupervisorOptions;
  #pauseMs = FIRST_PAUSE_MS;
  #cancel: CancelTimer | null = null;
  #stopped = false;
  #attempts = 0;

  constructor(options: SupervisorOptions) {
    this.#o = options;
    options.instance.expectReplica(options.replicaId);
  }

  start(): void {
    if (this.#stopped) return;
    const attempt = ++this.#attempts;
    const connection = this.#o.connect();
    if (!(connection instanceof Promise)) return this.#connected(connection);
    connection.then(
      (c) => {
        if (!this.#stopped && attempt === this.#attempts) this.#connected(c);
        else void c.close();
      },
      (error: unknown) => {
        if (attempt === this.#attempts) this.lost(error instanceof Error ? error.message : String(error));
      },
    );
  }

  #connected(connection: ReplicaConnection): void {
    const { instance, replicaId, introspection } = this.#o;
    instance.addReplica(replicaId, connection, introspection);
    this.#o.onStatus('online', null);
    this.#cancel = this.#o.timers.after(STABLE_MS, () => {
      this.#pauseMs = FIRST_PAUSE_MS;
    });
  }

  async restart(): Promise<void> {
    this.#attempts++;
    this.#cancel?.();
    this.#o.onStatus('offline', 'restarted');
    await this.#o.instance.removeReplica(this.#o.replicaId, 'restarted');
    this.start();
  }

  lost(reason: string): void {
    if (this.#stopped) return;
    this.#cancel?.();
    this.#o.onStatus('offline', reason);
    this.#cancel = this.#o.timers.after(this.#pauseMs, () => this.start());
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
  }

  /** `left`: one in a process of its own goes on without this environment. */
  async stop(why: 'dropped' | 'left'): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#o.instance.removeReplica(this.#o.replicaId, why);
  }
}
