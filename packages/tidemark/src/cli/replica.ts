/** `tidemark replica`: workers in a process of their own, until a signal ends it. */
import { countBuffersInHeapLimits } from '../host/heap-policy.ts';
import type { BoundAddress } from '../host/listen.ts';
import { type RunningReplica, serveReplica } from '../host/replica-server.ts';
import { explain, stderrLogger, text } from './arguments.ts';

interface ReplicaOptions {
  readonly listen: BoundAddress;
  readonly data: string;
  readonly workers: number;
  readonly token?: string;
  readonly logLevel: string;
}

export async function replica(o: ReplicaOptions): Promise<void> {
  countBuffersInHeapLimits();
  let running: RunningReplica | undefined;
  let ending = false;
  const end = async (): Promise<void> => {
    if (ending) return;
    ending = true;
    await running?.close();
    process.exit(0);
  };
  process.on('SIGTERM', () => void end());
  process.on('SIGINT', () => void end());
  const token = o.token ?? process.env['TIDEMARK_REPLICA_TOKEN'];
  try {
    running = await serveReplica({
      listen: o.listen,
      dataDir: o.data,
      workers: o.workers,
      logger: stderrLogger(o.logLevel),
      ...(token !== undefined && { token }),
    });
  } catch (error) {
    process.stderr.write(`tidemark replica cannot start: ${explain(error)}\n`);
    process.exit(1);
  }
  process.stdout.write(`tidemark replica ready listen=${text(running.address)} workers=${o.workers}\n`);
}
