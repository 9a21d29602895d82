/**
 * An export on one worker: what it reports and logs. A step that can have moved its frontiers reads them and says what moved: to the
 * controller, to the log, and to its lifecycle. Everything that reads progress stands in this file.
 *
 * Three frontiers, each with one definition:
 * - progress: what this worker has computed, before any sink: the sink's probe, an index's lesser trace upper
 * - write: an index's trace upper; a sink's write frontier (a view's: the shard's upper on the owner, empty elsewhere)
 * - output: write, met with progress where there is a sink; while a sink may not write its part is left out
 */
import type { GlobalId } from '../base/ids.ts';
import type { EventClock, ExportLog } from '../introspection/compute-log.ts';
import {
  type InstallReason,
  Lifecycle,
  type StartReason,
  type Transition,
} from '../introspection/lifecycle.ts';
import { EMPTY, type Frontier, isEmpty, MIN_TIME, meet, type Timestamp } from '../time/timestamp.ts';
import type { IndexTraces } from './peeks.ts';
import { ProgressReporter, type SnapshotProgress } from './progress.ts';
import type { FrontiersResponse, LifecycleResponse, Response } from './protocol.ts';
import type { Sink, SinkAnswers } from './sink/sink.ts';

export interface CollectionOptions {
  readonly id: GlobalId;
  readonly worker: number;
  readonly asOf: Timestamp;
  readonly installedNs: number;
  readonly reason: InstallReason;
  /** Index of its dataflow. */
  readonly life: number;
  /** The most bytes that the arrangements of its dataflow took. */
  readonly peakBytes: () => number;
  /** How much of its snapshot is through. Absent: nobody follows it. */
  readonly snapshot?: SnapshotProgress;
  readonly clock: EventClock;
  readonly log: ExportLog | null;
  /** What the dataflow reads, and how far each has come on this worker. */
  readonly imports: ReadonlyMap<GlobalId, () => Frontier>;
  readonly send: (response: Response) => void;
}

/** What a collection's frontiers are read from; known once its dataflow is built. */
export type Output =
  | { readonly kind: 'index'; readonly traces: IndexTraces }
  | { readonly kind: 'sink'; readonly sink: Sink };

export class Collection {
  readonly id: GlobalId;
  readonly asOf: Timestamp;
  readonly log: ExportLog | null;
  readonly #o: CollectionOptions;
  readonly #lifecycle: Lifecycle;
  readonly #told: LifecycleResponse[] = [];
  readonly #snapshot: ProgressReporter | undefined;
  #peakBytes = 0;
  #output: Output | undefined;
  #write: Frontier = MIN_TIME;
  #outputFrontier: Frontier = MIN_TIME;
  #input: Frontier = MIN_TIME;
  /** The least that the controller hears of, nothing below it: the as-of, of a retained dataflow the one it was requested with. */
  #reportFrom: Timestamp;

  constructor(options: CollectionOptions) {
    this.#o = options;
    this.#reportFrom = options.asOf;
    this.id = options.id;
    this.asOf = options.asOf;
    this.log = options.log;
    const { lifecycle, transitions } = Lifecycle.install(options.installedNs, options.reason);
    this.#lifecycle = lifecycle;
    const { id, worker, life, snapshot, send } = options;
    this.#snapshot = snapshot && new ProgressReporter({ id, worker, life, progress: snapshot, send });
    this.#respond(transitions);
  }

  attach(output: Output): void {
    this.#output = output;
  }

  get traces(): IndexTraces | undefined {
    return this.#output?.kind === 'index' ? this.#output.traces : undefined;
  }

  get startedNs(): number | undefined {
    return this.#lifecycle.startedNs;
  }

  #respond(transitions: readonly Transition[]): void {
    const { id, worker, asOf, life, clock, send } = this.#o;
    for (const t of transitions) {
      const response: LifecycleResponse = {
        kind: 'lifecycle',
        worker,
        id,
        stage: t.stage,
        occurredAt: clock.micros(t.ns),
        reason: t.reason,
        asOf,
        life,
        ...(t.stage === 'hydrated' && { peakBytes: this.peakBytes }),
      };
      this.#told.push(response);
      send(response);
    }
  }

  get told(): readonly LifecycleResponse[] {
    return this.#told;
  }

  /** A dataflow that has ended by itself is asked no more. */
  get peakBytes(): number {
    this.#peakBytes = Math.max(this.#peakBytes, this.#o.peakBytes());
    return this.#peakBytes;
  }

  /** For a controller that connects anew: the stages as they were told, and every frontier past `asOf` from the next report on. */
  repeat(asOf: Timestamp): void {
    this.#reportFrom = asOf;
    this.#write = MIN_TIME;
    this.#outputFrontier = MIN_TIME;
    this.#input = MIN_TIME;
    for (const response of this.#told) this.#o.send(response);
    this.#snapshot?.repeat();
  }

  /** The computation was unblocked. */
  started(reason: StartReason): void {
    const ns = this.#o.clock.ns();
    const transitions = this.#lifecycle.start(ns, reason);
    if (transitions.length === 0) return;
    this.log?.started(ns, reason);
    this.#respond(transitions);
  }

  /** Stamped when the permission is applied, not at the next report. */
  allowWrites(): void {
    const writes = this.#output?.kind === 'sink' ? this.#output.sink.writes : null;
    if (writes === null) return;
    writes.allow();
    if (this.#lifecycle.isBlocked) this.#stage((ns) => this.#lifecycle.writeUnblocked(ns));
  }

  /** The log back-fills `started` by the same rule; only the new stage is an event. */
  #stage(step: (ns: number) => readonly Transition[]): void {
    const ns = this.#o.clock.ns();
    const transitions = step(ns);
    const last = transitions.at(-1);
    if (last === undefined) return;
    this.log?.stage(ns, last.stage);
    this.#respond(transitions);
  }

  get #answers(): SinkAnswers | null {
    return this.#output?.kind === 'sink' ? this.#output.sink.answers : null;
  }

  get progress(): Frontier {
    const o = this.#output;
    if (o === undefined) return MIN_TIME;
    return o.kind === 'index' ? meet(o.traces.oks.upper, o.traces.errs.upper) : o.sink.progress;
  }

  get dataflowIndex(): number {
    return this.#o.life;
  }

  /** Nothing is to be said of it until a frontier of its dataflow, or of its sink, moves. */
  get isSettled(): boolean {
    const l = this.#lifecycle;
    const writes = this.#output?.kind === 'sink' ? this.#output.sink.writes : null;
    return l.isHydrated && l.outputNs !== undefined && (writes === null || !writes.isOwner || l.isWritten);
  }

  /** Says what moved since the last call. */
  report(): void {
    const o = this.#output;
    if (o === undefined) return;
    const progress = this.progress;
    const write = o.kind === 'index' ? progress : o.sink.writeFrontier;
    const mayWrite = o.kind === 'index' || (o.sink.writes?.allowed ?? true);
    const output = mayWrite ? meet(write, progress) : progress;
    let input = EMPTY;
    for (const [id, frontier] of this.#o.imports) {
      const f = frontier();
      this.log?.importFrontier(id, f);
      input = meet(input, f);
    }
    this.#frontiers(write, input, output);
    if (output > this.asOf) this.#outputPassed();
    this.#stages(o, progress, write);
    this.#snapshot?.step(this.#o.clock.ns(), this.#lifecycle.isHydrated);
  }

  #frontiers(write: Frontier, input: Frontier, output: Frontier): void {
    const moved = (now: Frontier, before: Frontier): boolean => now > before && now > this.#reportFrom;
    const response: { -readonly [K in keyof FrontiersResponse]: FrontiersResponse[K] } = {
      kind: 'frontiers',
      worker: this.#o.worker,
      id: this.id,
    };
    if (moved(write, this.#write)) {
      response.write = write;
      this.#write = write;
      this.log?.frontier(write);
    }
    if (moved(input, this.#input)) response.input = this.#input = input;
    if (moved(output, this.#outputFrontier)) response.output = this.#outputFrontier = output;
    const moves = response.write ?? response.input ?? response.output;
    if (moves !== undefined && this.#answers === null) this.#o.send(response);
  }

  #outputPassed(): void {
    if (this.#lifecycle.outputNs !== undefined) return;
    const ns = this.#o.clock.ns();
    const transitions = this.#lifecycle.outputPassed(ns);
    this.log?.outputPassed(ns);
    this.#respond(transitions);
  }

  #stages(o: Output, progress: Frontier, write: Frontier): void {
    const l = this.#lifecycle;
    if (progress > this.asOf && !l.isHydrated) this.#stage((ns) => l.computed(ns));
    const writes = o.kind === 'sink' ? o.sink.writes : null;
    if (writes === null || !writes.isOwner || !l.isHydrated || l.isWritten) return;
    // Not before every worker has computed: the owner's own progress says nothing about the others'.
    if (writes.computed <= this.asOf) return;
    if (!writes.allowed) {
      this.#stage((ns) => l.writeBlocked(ns));
      return;
    }
    if (l.isBlocked) this.#stage((ns) => l.writeUnblocked(ns));
    if (write > this.asOf && write > writes.firstWrite) this.#stage((ns) => l.written(ns));
  }

  /** Ends it: what was not reported empty is. Nothing is logged about it afterwards. */
  drop(): void {
    if (this.#answers !== null) this.#answers.dropped();
    else this.#reportEnd();
    this.log?.drop();
    const traces = this.traces;
    traces?.oks.dispose();
    traces?.errs.dispose();
  }

  #reportEnd(): void {
    const left = {
      ...(!isEmpty(this.#write) && { write: EMPTY }),
      ...(!isEmpty(this.#input) && { input: EMPTY }),
      ...(!isEmpty(this.#outputFrontier) && { output: EMPTY }),
    };
    if (Object.keys(left).length > 0)
      this.#o.send({ kind: 'frontiers', worker: this.#o.worker, id: this.id, ...left });
  }
}

/** `restless`: one of them is to be asked again though nothing moves. */
export function reportAll(collections: Iterable<Collection>): 'settled' | 'restless' {
  let settled = true;
  for (const c of collections) {
    c.report();
    if (!c.isSettled) settled = false;
  }
  return settled ? 'settled' : 'restless';
}
