/** What the environment's thread and a worker thread say to each other, and what a worker is started with. */
import type { MessagePort } from 'node:worker_threads';
import type { GlobalId } from '../base/ids.ts';
import type { SharedBudget } from '../compute/memory-budget.ts';
import type { FrontiersResponse, Response } from '../compute/protocol.ts';

export interface WorkerData {
  readonly index: number;
  readonly peers: number;
  readonly incarnation: string;
  /** The same for all threads that share pins. */
  readonly processTag: string;
  /** Where durable shards are; null: in the memory of the environment. */
  readonly dataDir: string | null;
  /** Of all workers of the replica together; null: no limit. */
  readonly budget: SharedBudget | null;
  /** The environment's stores. */
  readonly durablePort: MessagePort;
  readonly memoryPort: MessagePort;
  /** To each other worker, by index; null at the own one. */
  readonly peerPorts: readonly (MessagePort | null)[];
}

export type FromWorker =
  | { readonly kind: 'responses'; readonly responses: readonly FoldedResponse[] }
  | {
      readonly kind: 'log';
      readonly level: 'debug' | 'info' | 'warn' | 'error';
      readonly fields: object;
      readonly message: string;
    }
  /** `reason`: as statuses say it. */
  | { readonly kind: 'failed'; readonly reason: string; readonly message: string }
  | { readonly kind: 'closed' };

/** Commands are `CommandTexts`, in their order. */
export type ToWorker =
  | { readonly kind: 'commands'; readonly commands: readonly string[] }
  | { readonly kind: 'close' };

/** A response, or the same frontiers of several exports in a row: what all indexes at rest say each second. */
export type FoldedResponse =
  | Exclude<Response, FrontiersResponse>
  | (FrontiersResponse & { readonly sameOf?: readonly GlobalId[] });

export function folded(responses: readonly Response[]): FoldedResponse[] {
  const out: FoldedResponse[] = [];
  let first: FrontiersResponse | undefined;
  let others: GlobalId[] = [];
  const end = (): void => {
    if (first !== undefined) out.push(others.length === 0 ? first : { ...first, sameOf: others });
    first = undefined;
    others = [];
  };
  for (const r of responses)
    if (r.kind === 'frontiers' && first !== undefined && sameFrontiers(first, r)) others.push(r.id);
    else {
      end();
      if (r.kind === 'frontiers') first = r;
      else out.push(r);
    }
  end();
  return out;
}

const sameFrontiers = (a: FrontiersResponse, b: FrontiersResponse): boolean =>
  a.worker === b.worker && a.write === b.write && a.input === b.input && a.output === b.output;

/** In the order in which they were said. */
export function* unfolded(responses: readonly FoldedResponse[]): Iterable<Response> {
  for (const r of responses)
    if (r.kind !== 'frontiers' || r.sameOf === undefined) yield r;
    else {
      const { sameOf, ...first } = r;
      yield first;
      for (const id of sameOf) yield { ...first, id };
    }
}
