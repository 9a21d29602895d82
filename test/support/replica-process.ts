/** A replica as a child process: the command line's `replica` over a data directory. */
import { CliProcess } from './cli-process.ts';

const READY = /^tidemark replica ready listen=[\d.]+:(\d+) workers=\d+$/m;

export interface ReplicaProcessOptions {
  readonly dataDir: string;
  readonly workers: number;
  readonly port?: number;
  readonly host?: string;
  readonly token?: string;
}

export class ReplicaProcess extends CliProcess {
  constructor(o: ReplicaProcessOptions) {
    const listen = `${o.host ?? '127.0.0.1'}:${o.port ?? 0}`;
    const { TIDEMARK_REPLICA_TOKEN: _, ...env } = process.env;
    super(
      ['replica', '--data', o.dataDir, '--listen', listen, '--workers', `${o.workers}`],
      o.token === undefined ? env : { ...env, TIDEMARK_REPLICA_TOKEN: o.token },
    );
  }

  /** The port that it listens on. */
  async ready(): Promise<number> {
    const found = await this.says(READY);
    if (found === null) throw new Error(`the replica did not come up: ${this.output}\n${this.log}`);
    return Number(found[1]);
  }
}
