/**
 * A metric sink: rows become samples of the owner's registry. Every worker sends its rows there; each publishes how far its own input is
 * complete, the owner how far it has folded. Nothing is durable, so its life ends with `hydrated`.
 */

import type { Scope } from '../../dataflow/builder.ts';
import { toWorker } from '../../dataflow/channel.ts';
import type { Stream } from '../../dataflow/ports.ts';
import { capture } from '../../operators/capture.ts';
import { exchangeRows } from '../../operators/exchange.ts';
import { probe } from '../../operators/probe.ts';
import type { OksErrs } from '../../operators/state/stateful-operator.ts';
import { type Batch, diffAt, timeAt } from '../../repr/batch.ts';
import { datumAt } from '../../repr/datum.ts';
import { textOf } from '../../repr/format.ts';
import { parseJson } from '../../repr/json-parse.ts';
import type { Datum, RelationDesc } from '../../repr/types.ts';
import { type Frontier, MIN_TIME, meet } from '../../time/timestamp.ts';
import { frontierOwner } from '../frontier-owner.ts';
import type { MetricSink } from '../protocol.ts';
import { MetricFold, type MetricRow } from './metric-fold.ts';
import type { Sink, SinkContext } from './sink.ts';

export function metricSink(scope: Scope, desired: OksErrs, sink: MetricSink, context: SinkContext): Sink {
  const owner = frontierOwner(sink.id, scope.host.peers);
  const isOwner = scope.host.index === owner;
  const oks = probe(scope, desired.oks, 'Computed');
  const errs = probe(scope, desired.errs, 'ComputedErrors');
  const computed = (): Frontier => meet(oks.frontier, errs.frontier);
  const fold = new MetricFold();
  const progress = { oks: MIN_TIME as Frontier, errs: MIN_TIME as Frontier };
  let folded: Frontier = MIN_TIME;
  const moved = (which: keyof typeof progress, frontier: Frontier): void => {
    progress[which] = frontier;
    const complete = meet(progress.oks, progress.errs);
    if (complete <= folded) return;
    fold.advance(complete);
    folded = complete;
    context.onChange();
  };
  const collect = (
    name: string,
    from: Stream<Batch>,
    take: (b: Batch, i: number) => void,
    which: keyof typeof progress,
  ) =>
    capture(
      scope,
      exchangeRows(scope, from, toWorker(owner), name),
      {
        batch(b) {
          for (let i = 0; i < b.length; i++) take(b, i);
        },
        frontier: (f) => moved(which, f),
      },
      `Fold${name}`,
    );
  const read = rowReader(sink.desc);
  collect('Samples', desired.oks, (b, i) => fold.add(timeAt(b, i), read(b, i), diffAt(b, i)), 'oks');
  collect('SampleErrors', desired.errs, (b, i) => fold.addErrors(timeAt(b, i), diffAt(b, i)), 'errs');
  if (isOwner) scope.onShutdown(publish(sink, fold, context));
  return {
    get progress() {
      return computed();
    },
    get writeFrontier() {
      return isOwner ? folded : computed();
    },
    writes: null,
    answers: null,
  };
}

function publish(sink: MetricSink, fold: MetricFold, { metrics }: SinkContext): () => void {
  const labels = [['sink', sink.id]] as const;
  return metrics.addSource(function* () {
    yield* fold.samples();
    yield {
      name: 'tidemark_metric_sink_invalid_rows',
      type: 'gauge',
      help: 'rows of a metric sink that are no samples',
      labels,
      value: fold.invalid,
    };
    yield {
      name: 'tidemark_metric_sink_frozen',
      type: 'gauge',
      help: 'whether the samples of a metric sink stand still, because its input has errors',
      labels,
      value: fold.isFrozen ? 1 : 0,
    };
  });
}

function rowReader({ columns }: RelationDesc): (b: Batch, i: number) => MetricRow {
  const at = (name: string): ((b: Batch, i: number) => Datum) => {
    const k = columns.findIndex((c) => c.name === name);
    return (b, i) => datumAt(columns[k]!.type, b.columns[k]!, i);
  };
  const [name, labels, value, type, help] = ['name', 'labels', 'value', 'type', 'help'].map(at);
  const valueType = columns.find((c) => c.name === 'value')!.type;
  const text = (d: Datum): string | null => d as string | null;
  return (b, i) => {
    const v = value!(b, i);
    const l = text(labels!(b, i));
    return {
      name: text(name!(b, i)),
      labels: l === null ? null : parseJson(l),
      value: v === null ? null : Number(textOf(valueType, v)),
      type: text(type!(b, i)),
      help: text(help!(b, i)),
    };
  };
}
