/** The one place that knows every sink. */
import type { Scope } from '../../dataflow/builder.ts';
import type { OksErrs } from '../../operators/state/stateful-operator.ts';
import type { SinkExport } from '../protocol.ts';
import { copyToSink } from './copy-to.ts';
import { viewSink } from './materialized-view.ts';
import { metricSink } from './metrics.ts';
import type { BuildSink, Sink, SinkContext } from './sink.ts';
import { subscribeSink } from './subscribe.ts';

const SINKS = {
  'materialized-view': viewSink,
  metrics: metricSink,
  subscribe: subscribeSink,
  'copy-to': copyToSink,
} satisfies { readonly [K in SinkExport['kind']]: BuildSink<Extract<SinkExport, { kind: K }>> };

export function buildSink(scope: Scope, desired: OksErrs, sink: SinkExport, context: SinkContext): Sink {
  return (SINKS[sink.kind] as BuildSink<SinkExport>)(scope, desired, sink, context);
}
