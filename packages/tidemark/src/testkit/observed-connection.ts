/** A connection to a replica that tells what passes, and may change what is sent. */
import type { Command, ReplicaConnection, Response } from '../compute/protocol.ts';

export interface Observer {
  readonly note: (what: string) => void;
  /** What the replica gets instead of a command; null: nothing. */
  readonly onCommand: (command: Command) => Command | null;
  /** The environment has heard it. */
  readonly onHeard: (response: Response) => void;
}

export function observed(replica: ReplicaConnection, o: Observer): ReplicaConnection {
  const note = (what: string, message: Command | Response): void => {
    const id = 'id' in message ? ` ${message.id}` : '';
    const stage = message.kind === 'lifecycle' ? ` ${message.stage} of worker ${message.worker}` : '';
    o.note(`${what} ${message.kind}${id}${stage}`);
  };
  const connection: ReplicaConnection = {
    workers: replica.workers,
    onResponse: () => undefined,
    onLost: () => undefined,
    send: (command) => {
      const changed = o.onCommand(command);
      if (changed === null) return;
      note('<-', changed);
      replica.send(changed);
    },
    close: () => replica.close(),
    ...(replica.retire && { retire: () => replica.retire!() }),
  };
  replica.onResponse = (r) => {
    note('->', r);
    connection.onResponse(r);
    o.onHeard(r);
  };
  replica.onLost = (reason) => connection.onLost(reason);
  return connection;
}
