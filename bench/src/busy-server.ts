/**
 * The server of the busy workload, in a process of its own: in memory, or on the data directory that is its argument. Tells how late
 * its event loop runs: `report` gives the delays since the last one.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { silentLogger } from '../../packages/tidemark/src/base/clock.ts';
import { startServer } from '../../packages/tidemark/src/server/server.ts';

/** The histogram's values are times between two turns of a timer with this period. */
const RESOLUTION_MS = 2;

export interface LoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export type FromBusyServer =
  | { readonly kind: 'ready'; readonly port: number }
  | { readonly kind: 'delay'; readonly delay: LoopDelay };

const send = (m: FromBusyServer): void => void process.send!(m);

const server = await startServer({
  dataDir: process.argv[2] ?? null,
  listen: { host: '127.0.0.1', port: 0 },
  http: { host: '127.0.0.1', port: 0 },
  logger: { ...silentLogger, warn: console.warn, error: console.error },
  onFenced: (error) => {
    throw error;
  },
});
const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
histogram.enable();

process.on('message', (m) => {
  if (m === 'report') {
    const ms = (ns: number): number => Math.max(0, ns / 1e6 - RESOLUTION_MS);
    const delay = {
      p50: ms(histogram.percentile(50)),
      p99: ms(histogram.percentile(99)),
      max: ms(histogram.max),
    };
    histogram.reset();
    send({ kind: 'delay', delay });
    return;
  }
  void server.close().then(() => process.exit(0));
});
send({ kind: 'ready', port: server.pg.port });
