/**
 * A dataflow of the protocol on one worker: imports, objects, exports, and the suspension that a Schedule lifts.
 *
 * It starts at once iff it imports nothing. Otherwise each export holds one token; a Schedule releases its export's, and so does
 * dropping an export that was not scheduled. When the last token is gone the imports open, and the start is logged
 * for the exports that live. With the last export dropped it never starts.
 */
import { assert } from '../base/assert.ts';
import { type GlobalId, idClass } from '../base/ids.ts';
import type { Scope } from '../dataflow/builder.ts';
import type { Dataflow } from '../dataflow/dataflow.ts';
import { Gate } from '../dataflow/gate.ts';
import type { Stream } from '../dataflow/ports.ts';
import type { Worker } from '../dataflow/worker.ts';
import type { EvalContext } from '../expr/functions.ts';
import type { DataflowLog, ExportLog } from '../introspection/compute-log.ts';
import type { StartReason } from '../introspection/lifecycle.ts';
import type { MetricsRegistry } from '../introspection/metrics-registry.ts';
import { type Arranged, arrange } from '../operators/arrange.ts';
import { asRows } from '../operators/as-rows.ts';
import { importFrozen, importTrace } from '../operators/import.ts';
import { inspect } from '../operators/inspect.ts';
import { probe } from '../operators/probe.ts';
import { Bundle } from '../render/bundle.ts';
import { type LirSpan, render } from '../render/render.ts';
import { type Batch, diffAt } from '../repr/batch.ts';
import { EMPTY, type Frontier, MIN_TIME, meet, type Timestamp } from '../time/timestamp.ts';
import { arrangementSpec } from '../trace/arranged-batch.ts';
import type { TraceHandle } from '../trace/trace.ts';
import { type Collection, reportAll } from './collection.ts';
import type { IndexTraces } from './peeks.ts';
import { PlanHydration } from './plan-hydration.ts';
import { SnapshotProgress } from './progress.ts';
import type {
  DataflowDescription,
  IndexExport,
  IndexImport,
  ObjectToBuild,
  Response,
  SinkExport,
} from './protocol.ts';
import { type ShardAccess, shardSource } from './shard-source.ts';
import type { SinkContext } from './sink/sink.ts';
import { buildSink } from './sink/sinks.ts';

export interface NewCollection {
  readonly id: GlobalId;
  readonly asOf: Timestamp;
  readonly dataflowIndex: number;
  readonly imports: ReadonlyMap<GlobalId, () => Frontier>;
  readonly snapshot: SnapshotProgress;
}

export interface DataflowOptions {
  readonly description: DataflowDescription;
  readonly worker: Worker;
  readonly shards: ShardAccess;
  readonly watch: (shardId: string, onUpper: (upper: Frontier) => void) => () => void;
  readonly generation: number;
  readonly metrics: MetricsRegistry;
  readonly openFile: SinkContext['openFile'];
  readonly evalContext: EvalContext;
  /** An index that lives on this worker. */
  readonly collection: (id: GlobalId) => Collection;
  readonly createCollection: (c: NewCollection) => Collection;
  readonly send: (response: Response) => void;
  /** Null: it is not logged. */
  readonly log: DataflowLog | null;
  readonly onChange: () => void;
  /** It ended: nothing more comes. */
  readonly onError: (error: unknown) => void;
  /** A write failed; it is tried again after a pause. */
  readonly onRetry: (error: unknown) => void;
  readonly pause: () => Promise<void>;
}

export class DataflowInstance {
  readonly exports: readonly GlobalId[];
  readonly #o: DataflowOptions;
  readonly #dataflow: Dataflow;
  readonly #gate = new Gate();
  readonly #snapshot: SnapshotProgress = new SnapshotProgress(() => this.#dataflow.queuedRecords);
  readonly #live = new Map<GlobalId, Collection>();
  readonly #tokens: Set<GlobalId>;
  readonly #compactedTo = new Map<GlobalId, Frontier>();
  #permitted: boolean;
  /** The host error that ended it. */
  failure: { readonly code: string; readonly message: string } | null = null;
  readonly #hydration: PlanHydration;

  constructor(options: DataflowOptions) {
    this.#o = options;
    const d = options.description;
    this.#permitted = d.mayWrite;
    this.exports = [...d.indexExports, ...d.sinkExports].map((e) => e.id);
    this.#tokens = new Set(this.exports);
    this.#hydration = new PlanHydration(d.asOf);
    const { worker } = options;
    // Named now, for the log; what each frontier is read from is known once the import is built.
    const unread = (): Frontier => MIN_TIME;
    const imports = new Map<GlobalId, () => Frontier>(
      [...d.shardImports, ...d.indexImports].map((i) => [i.id, unread]),
    );
    for (const id of this.exports)
      this.#live.set(
        id,
        options.createCollection({
          id,
          asOf: d.asOf,
          dataflowIndex: worker.nextDataflowIndex,
          imports,
          snapshot: this.#snapshot,
        }),
      );
    this.#dataflow = worker.buildDataflow(d.name, (scope) => this.#build(scope, imports), {
      urgent: this.exports.every((id) => idClass(id) === 'transient'),
    });
    this.#hydration.begin(this.#logs());
    if (d.shardImports.length + d.indexImports.length > 0) return;
    this.#tokens.clear();
    this.#start('inputs_available');
  }

  /** Without the exports that were dropped. */
  get description(): DataflowDescription {
    const { description: d } = this.#o;
    if (this.#live.size === this.exports.length) return d;
    return {
      ...d,
      indexExports: d.indexExports.filter((e) => this.#live.has(e.id)),
      sinkExports: d.sinkExports.filter((e) => this.#live.has(e.id)),
    };
  }

  get compactedTo(): ReadonlyMap<GlobalId, Frontier> {
    return this.#compactedTo;
  }

  get dataflowIndex(): number {
    return this.#dataflow.dataflowIndex;
  }

  /** How far the indexes that it keeps have come; nobody waits for one that has not started. */
  get keptUpTo(): Frontier {
    let f = EMPTY;
    if (this.#gate.isOpen)
      for (const c of this.#live.values()) if (c.traces !== undefined) f = meet(f, c.progress);
    return f;
  }

  get mayWrite(): boolean {
    return this.#permitted;
  }

  get live(): Iterable<Collection> {
    return this.#live.values();
  }

  allowWrites(): void {
    this.#permitted = true;
  }

  compacted(id: GlobalId, to: Frontier): void {
    this.#compactedTo.set(id, Math.max(to, this.#compactedTo.get(id) ?? MIN_TIME));
  }

  /**
   * From when it computes. The engine's own dataflows over logs are asked for from the beginning, whenever that is: logs read as
   * empty before what they have compacted to, the same on all workers.
   */
  get #computedFrom(): Timestamp {
    const { description: d, collection } = this.#o;
    if (d.internal !== true) return d.asOf;
    const since = (id: GlobalId): Frontier => {
      const { traces } = collection(id);
      return traces === undefined ? MIN_TIME : Math.max(traces.oks.since, traces.errs.since);
    };
    return Math.max(d.asOf, ...d.indexImports.map((i) => since(i.id)));
  }

  #build(scope: Scope, imports: Map<GlobalId, () => Frontier>): void {
    const { description: d } = this.#o;
    const asOf = this.#computedFrom;
    const bundles = new Map<GlobalId, Bundle>();
    /** Traces that an index of this dataflow can share instead of arranging again. */
    const shared = new Map<string, IndexTraces>();
    for (const i of d.shardImports) {
      const { oks, errs } = shardSource(scope, {
        id: i.id,
        shardId: i.shard,
        shards: this.#o.shards,
        asOf,
        until: d.until,
        gate: this.#gate,
        onError: this.#o.onError,
        onRows: this.#snapshot.import(),
      });
      const p = probe(scope, oks, `Frontier ${i.id}`);
      imports.set(i.id, () => p.frontier);
      bundles.set(
        i.id,
        new Bundle(
          i.desc.columns.map((c) => c.type),
          errs,
          oks,
        ),
      );
    }
    for (const i of d.indexImports) this.#importIndex(scope, i, { bundles, shared, imports, asOf });
    for (const o of d.objects) bundles.set(o.id, this.#render(scope, o, { bundles, asOf }));
    for (const e of d.indexExports) this.#exportIndex(scope, e, bundle(bundles, e.onId), shared);
    for (const s of d.sinkExports) this.#exportSink(scope, s, bundle(bundles, s.fromId));
  }

  #render(
    scope: Scope,
    o: ObjectToBuild,
    from: { readonly bundles: ReadonlyMap<GlobalId, Bundle>; readonly asOf: Timestamp },
  ): Bundle {
    const { evalContext, log, description } = this.#o;
    const context = { ...from, scope, evalContext, objectName: description.name };
    if (log === null) return render(o.plan, context);
    const spans: LirSpan[] = [];
    const onSpan = (span: LirSpan): void => {
      spans.push(span);
      this.#hydration.add(span);
    };
    const bundle = render(o.plan, { ...context, onSpan });
    log.plan(o.id, spans);
    return bundle;
  }

  *#logs(): Iterable<ExportLog> {
    for (const c of this.#live.values()) if (c.log !== null) yield c.log;
  }

  /** Says which nodes of its plans have computed their part, then what its exports say. */
  report(): 'settled' | 'restless' {
    this.#hydration.look(() => this.#logs());
    return reportAll(this.#live.values());
  }

  #importIndex(
    scope: Scope,
    i: IndexImport,
    into: {
      readonly bundles: Map<GlobalId, Bundle>;
      readonly shared: Map<string, IndexTraces>;
      readonly imports: Map<GlobalId, () => Frontier>;
      readonly asOf: Timestamp;
    },
  ): void {
    const { asOf } = into;
    const { until } = this.#o.description;
    const { traces } = this.#o.collection(i.id);
    assert(traces !== undefined, `import ${i.id} is an index`);
    const take = (handle: TraceHandle, what: string): Arranged => {
      const name = `Import ${i.id}${what}`;
      const gate = this.#gate;
      return i.frozenAt === undefined
        ? importTrace(scope, handle, { name, asOf, until, gate, onRows: this.#snapshot.import() })
        : importFrozen(scope, handle, { name, readAt: i.frozenAt, presentAt: asOf, gate });
    };
    // The trace runs ahead of what is let in while the dataflow is suspended.
    into.imports.set(i.id, () => meet(traces.oks.upper, traces.errs.upper));
    const types = i.desc.columns.map((c) => c.type);
    let bundle = into.bundles.get(i.onId);
    if (bundle === undefined) {
      bundle = new Bundle(types, asRows(scope, take(traces.errs, ' errors')));
      into.bundles.set(i.onId, bundle);
    }
    bundle.addArranged(i.key, take(traces.oks, ''));
    if (i.frozenAt === undefined) into.shared.set(`${i.onId} by ${i.key}`, traces);
  }

  #exportIndex(scope: Scope, e: IndexExport, from: Bundle, shared: ReadonlyMap<string, IndexTraces>): void {
    const c = this.#live.get(e.id)!;
    const counted = countErrors(scope, from.errs, c);
    const reuse = shared.get(`${e.onId} by ${e.key}`);
    if (reuse !== undefined) {
      // A second index over the same arrangement: its rows and bytes are the first one's, its errors it counts itself.
      probe(scope, counted, 'Errors');
      c.attach({ kind: 'index', traces: { oks: reuse.oks.clone(), errs: reuse.errs.clone() } });
      return;
    }
    const oks = from.arranged(scope, e.key);
    const errs = arrange(scope, counted, { name: 'ArrangeErrors', spec: arrangementSpec(['bytes'], [0]) });
    c.attach({
      kind: 'index',
      traces: { oks: oks.trace.clone() as TraceHandle, errs: errs.trace.clone() as TraceHandle },
    });
  }

  #exportSink(scope: Scope, s: SinkExport, from: Bundle): void {
    const c = this.#live.get(s.id)!;
    const desired = { oks: from.oks(scope), errs: countErrors(scope, from.errs, c) };
    const sink = buildSink(scope, desired, s, {
      ...this.#o,
      asOf: this.#o.description.asOf,
      mayWrite: this.#o.description.mayWrite,
    });
    c.attach({ kind: 'sink', sink });
  }

  /** A Schedule came for this export. Repeats say nothing. */
  release(id: GlobalId, reason: StartReason): void {
    if (!this.#tokens.delete(id) || this.#tokens.size > 0) return;
    this.#start(reason);
  }

  #start(reason: StartReason): void {
    if (this.#live.size === 0 || this.#gate.isOpen) return;
    this.#gate.open();
    for (const c of this.#live.values()) c.started(reason);
  }

  /** The export is gone. True when it was the last and the dataflow went with it. */
  dropExport(id: GlobalId): boolean {
    this.#live.delete(id);
    if (this.#live.size === 0) {
      this.#o.log?.exportsDropped();
      this.#dataflow.drop();
      return true;
    }
    this.release(id, 'inputs_available');
    return false;
  }

  drop(): void {
    this.#dataflow.drop();
  }
}

function bundle(bundles: ReadonlyMap<GlobalId, Bundle>, id: GlobalId): Bundle {
  const b = bundles.get(id);
  assert(b !== undefined, `collection ${id} is imported or built before it is exported`);
  return b;
}

/** Passes errors on and logs their number: linear in a batch, so only ever on error streams. */
function countErrors(scope: Scope, errs: Stream<Batch>, c: Collection): Stream<Batch> {
  return inspect(
    scope,
    errs,
    (batch) => {
      let n = 0;
      for (let i = 0; i < batch.length; i++) n += diffAt(batch, i);
      c.log?.errors(n);
    },
    'CountErrors',
  );
}
