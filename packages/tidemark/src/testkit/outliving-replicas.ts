/**
 * Replicas that live on when their connection ends or the environment restarts, as those in processes of their own do: the same host, workers on
 * the simulator's scheduler, and stores of their own over the same data.
 */
import type { Timers } from '../base/clock.ts';
import { silentLogger } from '../base/clock.ts';
import type { ReplicaId } from '../base/ids.ts';
import type { ReplicaConnection } from '../compute/protocol.ts';
import { type Attachment, ReplicaHost } from '../host/replica-host.ts';
import type { MemoryPins } from '../persist/pins.ts';
import type { Shards } from '../persist/shards.ts';

export interface OutlivingOptions {
  /** Workers without state. */
  readonly startLife: (replicaId: ReplicaId, workers: number) => ReplicaConnection;
  readonly leadingGeneration: () => number;
}

interface Resident {
  readonly host: ReplicaHost;
  /** Ends the connection as a cut cable does. */
  cut: (reason: string) => void;
}

export class OutlivingReplicas {
  readonly #o: OutlivingOptions;
  readonly #residents = new Map<ReplicaId, Resident>();

  constructor(options: OutlivingOptions) {
    this.#o = options;
  }

  connect(replicaId: ReplicaId, workers: number): ReplicaConnection {
    let resident = this.#residents.get(replicaId);
    if (resident === undefined) {
      const host = new ReplicaHost({
        workers,
        startLife: () => this.#o.startLife(replicaId, workers),
        newIncarnation: () => '',
        leadingGeneration: async () => this.#o.leadingGeneration(),
        logger: silentLogger,
      });
      this.#residents.set(replicaId, (resident = { host, cut: () => undefined }));
    }
    const { host } = resident;
    let over = false;
    const attachment: Attachment = host.attach({
      respond: (r) => {
        if (!over) connection.onResponse(r);
      },
      accepted: () => undefined,
      ended: (reason) => cut(reason),
    });
    const leave = async (): Promise<void> => {
      over = true;
      attachment.detach();
    };
    const cut = (reason: string): void => {
      if (over) return;
      void leave();
      connection.onLost(reason);
    };
    resident.cut = cut;
    const connection: ReplicaConnection = {
      workers,
      onResponse: () => undefined,
      onLost: () => undefined,
      send: (command) => attachment.send(command),
      close: leave,
      retire: async () => {
        host.retire(attachment);
        await leave();
      },
    };
    return connection;
  }

  cut(replicaId: ReplicaId): void {
    this.#residents.get(replicaId)?.cut('cut by the test');
  }

  cutAll(): void {
    for (const r of this.#residents.values()) r.cut('the environment was killed');
  }

  async close(): Promise<void> {
    for (const { host } of this.#residents.values()) await host.close();
  }
}

/** The timers of one process: with `kill` none of them fires any more. */
export class ProcessTimers implements Timers {
  readonly #timers: Timers;
  readonly #waiting = new Set<() => void>();
  #killed = false;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  after(delayMs: number, f: () => void): () => void {
    if (this.#killed) return () => undefined;
    const cancel = this.#timers.after(delayMs, () => {
      this.#waiting.delete(end);
      f();
    });
    const end = (): void => {
      this.#waiting.delete(end);
      cancel();
    };
    this.#waiting.add(end);
    return end;
  }

  kill(): void {
    this.#killed = true;
    for (const end of [...this.#waiting]) end();
  }
}

/** Blobs that such replicas read or stage are left alone for minutes, as where the catalog gives their address. */
export function knowOfReplicasElsewhere(shards: Shards, pins: MemoryPins): void {
  pins.elsewhere = true;
  const sweep = shards.sweep.bind(shards);
  shards.sweep = (keep) => sweep(keep, { stagedElsewhere: true });
}
