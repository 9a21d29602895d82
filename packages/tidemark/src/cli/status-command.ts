/**
 * `tidemark status`: asks a running server over HTTP and draws the answer, once or again and again. The exit code tells readiness: 0 ready, 1 not
 * ready, 2 not asked: no answer, or a wrong argument.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { StatusReport } from '../adapter/status.ts';
import { renderStatus } from './status-view.ts';

export interface StatusOptions {
  /** Of the server's HTTP interface. */
  readonly url: URL;
  readonly cluster?: string;
  readonly json?: boolean;
  readonly watch?: boolean;
}

/** Where it draws. */
export interface Terminal {
  readonly isTTY: boolean;
  readonly columns: number;
  readonly color: boolean;
  write(text: string): void;
  fail(text: string): void;
}

const REDRAW_MS = 500;
const PLAIN_WIDTH = 120;
const ANSWER_MS = 10_000;
const CLEAR = '\u001b[H\u001b[2J';

export const EXIT = { ready: 0, notReady: 1, notAsked: 2 } as const;

/** Gives the exit code. Ends `--watch` with the signal. */
export async function showStatus(o: StatusOptions, terminal: Terminal, signal: AbortSignal): Promise<number> {
  const watching = o.watch === true && terminal.isTTY;
  let code: number = EXIT.notAsked;
  do {
    try {
      const report = await ask(o, signal);
      code = report.ready ? EXIT.ready : EXIT.notReady;
      draw(report, o, { ...terminal, clear: watching });
    } catch (error) {
      if (signal.aborted) return code;
      code = EXIT.notAsked;
      // What was drawn is no more.
      if (watching) terminal.write(CLEAR);
      terminal.fail(`tidemark status: ${whyNot(error, o.url)}\n`);
      if (error instanceof RefusedError) return code;
    }
    if (watching) await sleep(REDRAW_MS, undefined, { signal }).catch(() => undefined);
  } while (watching && !signal.aborted);
  return code;
}

/** The server answered that it will not. */
class RefusedError extends Error {}

async function ask(o: StatusOptions, signal: AbortSignal): Promise<StatusReport> {
  const url = new URL('/api/status', o.url);
  if (o.cluster !== undefined) url.searchParams.set('cluster', o.cluster);
  const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]) });
  const body = (await response.json()) as StatusReport | { readonly error: { readonly message: string } };
  if ('error' in body) throw new RefusedError(body.error.message);
  return body;
}

function whyNot(error: unknown, url: URL): string {
  if (error instanceof RefusedError) return error.message;
  const { cause, message } = error as Error & { readonly cause?: Error & { readonly code?: string } };
  return `no answer from ${url.host} (${cause?.code ?? cause?.message ?? message})`;
}

function draw(
  report: StatusReport,
  o: StatusOptions,
  t: Pick<Terminal, 'isTTY' | 'columns' | 'color' | 'write'> & { readonly clear: boolean },
): void {
  if (o.json === true) return t.write(`${JSON.stringify(report)}\n`);
  const width = t.isTTY ? t.columns : PLAIN_WIDTH;
  t.write(`${t.clear ? CLEAR : ''}${renderStatus(report, { width, color: t.color })}`);
}
