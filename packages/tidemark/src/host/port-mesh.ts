/**
 * The mesh of workers on threads: a message port to each other worker. Frontiers are gathered, and go with the batch that is sent next or
 * when the worker says so: each message wakes a thread and costs both sides some 10 µs, and at a tick of the tables every exchange of
 * every dataflow has a frontier to tell.
 */
import type { MessagePort } from 'node:worker_threads';
import type { Mesh, MeshMessage } from '../dataflow/mesh.ts';
import { batchBuffers } from '../repr/batch.ts';

/** Dataflow, channel and frontier of each, then what was sent after them. */
interface PeerMessage {
  readonly frontiers: Float64Array<ArrayBuffer>;
  readonly batch: MeshMessage | null;
}

type BatchMessage = MeshMessage & { readonly kind: 'batch' };

export class PortMesh implements Mesh {
  readonly #ports: readonly (MessagePort | null)[];
  readonly #frontiers: number[][];

  /** `ports`: to each other worker, by index; null at the own one. */
  constructor(ports: readonly (MessagePort | null)[]) {
    this.#ports = ports;
    this.#frontiers = ports.map(() => []);
  }

  onReceived(receive: (from: number, messages: Iterable<MeshMessage>) => void): void {
    for (const [from, port] of this.#ports.entries())
      port?.on('message', (m: PeerMessage) => receive(from, unpacked(m)));
  }

  send(to: number, message: MeshMessage): void {
    if (message.kind === 'batch') this.#post(to, message);
    else this.#frontiers[to]!.push(message.dataflow, message.channel, message.frontier);
  }

  flush(): void {
    for (let to = 0; to < this.#frontiers.length; to++)
      if (this.#frontiers[to]!.length > 0) this.#post(to, null);
  }

  #post(to: number, batch: BatchMessage | null): void {
    const frontiers = Float64Array.from(this.#frontiers[to]!);
    this.#frontiers[to]!.length = 0;
    const message: PeerMessage = { frontiers, batch };
    this.#ports[to]!.postMessage(message, batch === null ? [] : batchBuffers(batch.batch));
  }
}

function* unpacked({ frontiers, batch }: PeerMessage): Iterable<MeshMessage> {
  for (let i = 0; i < frontiers.length; i += 3)
    yield {
      kind: 'frontier',
      dataflow: frontiers[i]!,
      channel: frontiers[i + 1]!,
      frontier: frontiers[i + 2]!,
    };
  if (batch !== null) yield batch;
}
