/** Where a node process is that does not end: asked through its inspector, which answers also while the process loops. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

interface CallFrame {
  readonly functionName: string;
  readonly location: {
    readonly scriptId: string;
    readonly lineNumber: number;
    readonly columnNumber: number;
  };
}

/** What the inspector sends: answers with an id, and events. */
interface Message {
  readonly method?: string;
  readonly params?: {
    readonly scriptId?: string;
    readonly url?: string;
    readonly callFrames?: readonly CallFrame[];
  };
}

/** How long the process has to open its inspector, and then to be found in JavaScript. */
const PATIENCE_MS = 2_000;

/**
 * The call stack of the main thread, outermost last, or a line that says that it only waits. The process must have been
 * started with `--inspect-port=0`; it stands still afterwards.
 */
export async function stackOf(child: ChildProcess): Promise<string> {
  const url = inspectorUrl(child);
  child.kill('SIGUSR1');
  const opened = await Promise.race([url, sleep(PATIENCE_MS, null, { ref: false })]);
  if (opened === null) return '  its inspector does not answer';
  const socket = new WebSocket(opened);
  try {
    await once(socket, 'open');
    const stack = pausedAt(socket);
    for (const [id, method] of ['Debugger.enable', 'Debugger.pause'].entries())
      socket.send(JSON.stringify({ id, method }));
    const found = await Promise.race([stack, sleep(PATIENCE_MS, null, { ref: false })]);
    return found ?? '  it runs no code and waits for an event';
  } finally {
    socket.close();
  }
}

/** Where the inspector listens, which node says on stderr. */
async function inspectorUrl(child: ChildProcess): Promise<string | null> {
  for await (const line of createInterface({ input: child.stderr! })) {
    const found = /^Debugger listening on (ws:.*)$/.exec(line);
    if (found !== null) return found[1]!;
  }
  return null;
}

/** The lines of the stack once the process has stopped; scripts are told before that. */
function pausedAt(socket: WebSocket): Promise<string> {
  const urls = new Map<string | undefined, string | undefined>();
  const text = ({ functionName, location: at }: CallFrame): string =>
    `    at ${functionName || '<anonymous>'} (${urls.get(at.scriptId)}:${at.lineNumber + 1}:${at.columnNumber + 1})`;
  return new Promise((resolve) => {
    socket.addEventListener('message', ({ data }) => {
      const { method, params = {} } = JSON.parse(String(data)) as Message;
      if (method === 'Debugger.scriptParsed') urls.set(params.scriptId, params.url);
      if (method === 'Debugger.paused') resolve((params.callFrames ?? []).map(text).join('\n'));
    });
  });
}
