/**
 * Reads of this cluster: which replica answers, what is held meanwhile, and how each read ends. One that may run anywhere goes to the
 * replica that answers soonest, and to another when that one is lost or its dataflow fails there.
 *
 * A read that finds no replica connected waits for one, as it waits for what is not hydrated: the cluster has one, and it is started or
 * dialled. One that was running on the replica that was lost ends: it may be why that was lost, and would take the next life down too.
 */
import type { SqlError } from '../base/error.ts';
import type { GlobalId, ReplicaId } from '../base/ids.ts';
import type { PeekCommand, PeekResponse } from '../compute/protocol.ts';
import type { Batch } from '../repr/batch.ts';
import type { Hold } from '../time/hold-set.ts';
import { Copies, type CopiesOptions } from './copies.ts';
import { maintains } from './failures.ts';
import { mayCome, refuseForEver } from './members.ts';
import { canceled, Peeks, type RunningPeek } from './peeks.ts';
import type { Replica } from './replica.ts';

export interface PeekOptions extends Omit<PeekCommand, 'kind' | 'uuid'> {
  /** Where it must run; undefined: wherever the answer is nearest, and elsewhere when that replica is lost. */
  readonly replicaId?: ReplicaId | undefined;
  readonly signal?: AbortSignal;
}

export interface ReadsOptions extends CopiesOptions {
  readonly uuid: () => string;
  /** Keeps the target readable. */
  readonly hold: (command: PeekCommand) => Hold;
}

export class Reads {
  readonly #o: ReadsOptions;
  readonly copies: Copies;
  readonly #peeks = new Peeks();

  constructor(options: ReadsOptions) {
    this.#o = options;
    this.copies = new Copies(options);
  }

  get size(): number {
    return this.#peeks.size + this.copies.size;
  }

  /** Rows with multiplicities as diffs, finished. */
  async peek(options: PeekOptions): Promise<Batch> {
    const { replicaId, signal, ...request } = options;
    if (signal?.aborted) throw canceled();
    const command: PeekCommand = { kind: 'peek', uuid: this.#o.uuid(), ...request };
    const failure = this.#o.failure(command.target.id);
    if (failure !== undefined) throw failure;
    refuseForEver(this.#o, replicaId);
    const hold = this.#o.hold(command);
    const peek = this.#peeks.start(command, replicaId);
    const onAbort = () => this.#end(peek, canceled());
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      this.#run(peek, command.uuid);
      return await peek.answer;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      hold.release();
    }
  }

  /** On the replica that is to answer, if it is there. */
  #run(peek: RunningPeek, uuid: string): void {
    const { command, wanted } = peek;
    const replica = wanted === undefined ? this.#nearest(command) : this.#o.replicas.get(wanted);
    if (replica === undefined) return;
    // Of a shard any replica can give what is there.
    const failedHere = command.target.kind === 'index' ? replica.failures.get(command.target.id) : undefined;
    if (failedHere !== undefined) return this.#peeks.fail(peek, failedHere);
    this.#peeks.run(peek, replica, uuid);
    replica.send(peek.command);
  }

  /** A replica is connected: it may be the one that was waited for. */
  joined(): void {
    for (const p of this.#peeks.matching((q) => q.replicaId === undefined)) this.#run(p, p.command.uuid);
  }

  /** The replica that answers soonest: one that is there, else one that is hydrated, else any where it has not failed. */
  #nearest({ target, timestamp }: PeekCommand): Replica | undefined {
    const c = this.#o.collections.get(target.id);
    const rank = (r: Replica): number => {
      if (target.kind === 'shard' || c === undefined) return 0;
      if (!maintains(r, c) || r.failures.has(c.id)) return -1;
      return r.write(c.id) > timestamp ? 2 : r.isHydrated(c.id) ? 1 : 0;
    };
    let nearest: Replica | undefined;
    let highest = -1;
    for (const replica of this.#o.replicas.values()) {
      const here = rank(replica);
      if (here <= highest) continue;
      nearest = replica;
      highest = here;
    }
    return nearest;
  }

  receive(replica: Replica, r: PeekResponse): void {
    this.#peeks.receive(replica.id, r);
  }

  /** What is read went, or will not go on anywhere. */
  endTarget(id: GlobalId, error: () => SqlError): void {
    this.copies.fail(id, error());
    for (const p of this.#peeks.matching((q) => q.command.target.id === id)) this.#end(p, error());
  }

  /** Ends each peek whose target has failed. */
  endFailed(failure: (target: GlobalId) => SqlError | undefined): void {
    for (const p of this.#peeks.matching(() => true)) {
      const error = failure(p.command.target.id);
      if (error !== undefined) this.#end(p, error);
    }
  }

  /**
   * A replica is gone, or the indexes `targets` on it: reads that may move begin anew elsewhere, the others end. So does who waits for one
   * that the cluster does not have any more.
   */
  leave(replicaId: ReplicaId, error: () => SqlError, targets?: ReadonlySet<GlobalId>): void {
    this.copies.leave(replicaId, error, targets);
    const leaves = (p: RunningPeek): boolean =>
      p.replicaId === undefined
        ? !mayCome(this.#o, p.wanted)
        : p.replicaId === replicaId &&
          (targets === undefined || (p.command.target.kind === 'index' && targets.has(p.command.target.id)));
    for (const peek of this.#peeks.matching(leaves))
      if (peek.wanted !== undefined || this.#nearest(peek.command) === undefined) this.#end(peek, error());
      else {
        this.#cancel(peek);
        this.#run(peek, this.#o.uuid());
      }
  }

  #end(peek: RunningPeek, error: Error): void {
    this.#peeks.fail(peek, error);
    this.#cancel(peek);
  }

  #cancel({ replicaId, command: { uuid } }: RunningPeek): void {
    if (replicaId !== undefined) this.#o.replicas.get(replicaId)?.send({ kind: 'cancelPeek', uuid });
  }
}
