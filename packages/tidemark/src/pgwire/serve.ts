/**
 * The protocol between start-up and end: one message at a time from the stream to the backend, its answers back.
 *
 * Rules kept here: an error inside the extended protocol skips to the next Sync; one inside a simple query ends it;
 * each Query, Sync and FunctionCall is answered by exactly one ReadyForQuery, whatever happened; a `FatalError` or
 * `Disconnected` leaves through `run`.
 */
import { assert } from '../base/assert.ts';
import type { Logger } from '../base/clock.ts';
import { unsupported } from '../base/error.ts';
import type {
  BackendSession,
  CopyInOutcome,
  CopyOutOutcome,
  Outcome,
  RowPage,
  RowsOutcome,
} from './backend.ts';
import { CopySource } from './copy-source.ts';
import { FatalError, violation } from './frame-reader.ts';
import { BACKEND, FRONTEND, LIMITS } from './messages.ts';
import {
  commandComplete,
  copyData,
  copyResponse,
  errorResponse,
  parameterDescription,
  readyForQuery,
  rowDescription,
  toSqlError,
} from './replies.ts';
import { readBind, readExecute, readParse, readQuery, readTarget } from './requests.ts';
import { Disconnected, type WireStream } from './wire-stream.ts';

/** What may follow an error before Sync; anything else means that the stream is out of step. */
const SKIPPED: ReadonlySet<number> = new Set(
  Object.values(FRONTEND).filter((type) => type !== FRONTEND.password),
);

const invalidType = (type: number): FatalError => violation(`invalid frontend message type ${type}`);

/** How an outcome is sent: only a simple query describes its rows, only Execute limits them. */
interface Execution {
  readonly describe: boolean;
  readonly maxRows: number;
}

/** A session of an authenticated client. */
export class Serving {
  readonly #wire: WireStream;
  readonly #session: BackendSession;
  readonly #logger: Logger;
  /** An error of the extended protocol: nothing counts until Sync. */
  #skipping = false;
  /** A message is being handled, so that there is something to cancel. */
  #busy = false;

  constructor(wire: WireStream, session: BackendSession, logger: Logger) {
    this.#wire = wire;
    this.#session = session;
    this.#logger = logger;
  }

  /** Waiting for the client: nothing runs and nothing is half said. */
  get idle(): boolean {
    return !this.#busy;
  }

  /** A cancel request that comes late must not hit the next statement. */
  cancel(): void {
    if (this.#busy) this.#session.cancel();
  }

  /** Until Terminate. */
  async run(): Promise<void> {
    this.#ready();
    for (;;) {
      this.#busy = false;
      await this.#wire.frame();
      this.#busy = true;
      const { type } = this.#wire.in;
      if (type === FRONTEND.terminate) return;
      if (type === FRONTEND.sync) await this.#sync();
      else if (!this.#skipping) await this.#message(type);
      else if (!SKIPPED.has(type)) throw invalidType(type);
    }
  }

  async #message(type: number): Promise<void> {
    switch (type) {
      case FRONTEND.query:
        await this.#query();
        return;
      case FRONTEND.functionCall:
        await this.#report(unsupported('the function call protocol'));
        this.#ready();
        return;
      case FRONTEND.copyData:
      case FRONTEND.copyDone:
      case FRONTEND.copyFail:
        // Sent before the client learnt that its COPY failed.
        return;
      case FRONTEND.flush:
        this.#wire.in.done();
        await this.#wire.flush();
        return;
      default:
        try {
          await this.#extended(type);
        } catch (error) {
          await this.#report(error);
          this.#skipping = true;
        }
    }
  }

  async #extended(type: number): Promise<void> {
    const { in: frame, out } = this.#wire;
    const session = this.#session;
    switch (type) {
      case FRONTEND.parse:
        await session.parse(readParse(frame));
        out.empty(BACKEND.parseComplete);
        return;
      case FRONTEND.bind:
        await session.bind(readBind(frame));
        out.empty(BACKEND.bindComplete);
        return;
      case FRONTEND.describe:
        await this.#describe();
        return;
      case FRONTEND.execute: {
        const { portal, maxRows } = readExecute(frame);
        await this.#send(await session.execute(portal), { describe: false, maxRows });
        return;
      }
      case FRONTEND.close: {
        const { portal, name } = readTarget(frame);
        await (portal ? session.closePortal(name) : session.closeStatement(name));
        out.empty(BACKEND.closeComplete);
        return;
      }
      default:
        throw invalidType(type);
    }
  }

  async #describe(): Promise<void> {
    const { in: frame, out } = this.#wire;
    const { portal, name } = readTarget(frame);
    let columns: RowsOutcome['columns'] | null;
    if (portal) {
      columns = await this.#session.describePortal(name);
    } else {
      const description = await this.#session.describeStatement(name);
      parameterDescription(out, description.paramOids);
      ({ columns } = description);
    }
    if (columns === null) out.empty(BACKEND.noData);
    else rowDescription(out, columns);
  }

  async #query(): Promise<void> {
    try {
      const text = readQuery(this.#wire.in);
      for await (const outcome of this.#session.simple(text)) {
        await this.#send(outcome, { describe: true, maxRows: Number.POSITIVE_INFINITY });
      }
    } catch (error) {
      await this.#report(error);
    }
    this.#ready();
  }

  async #sync(): Promise<void> {
    this.#wire.in.done();
    this.#skipping = false;
    try {
      await this.#session.sync();
    } catch (error) {
      await this.#report(error);
    }
    this.#ready();
  }

  #ready(): void {
    readyForQuery(this.#wire.out, this.#session.transactionStatus);
  }

  /** Tells the client of an error that the connection survives; throws the others on. */
  async #report(error: unknown): Promise<void> {
    this.#wire.out.abort();
    if (this.#wire.closed) throw new Disconnected();
    if (error instanceof FatalError || error instanceof Disconnected) throw error;
    const sqlError = toSqlError(error);
    if (sqlError !== error) this.#logger.error({ error }, 'a statement failed through a fault of the server');
    errorResponse(this.#wire.out, 'ERROR', sqlError);
    await this.#session.fail();
  }

  async #send(outcome: Outcome, how: Execution): Promise<void> {
    switch (outcome.kind) {
      case 'empty':
        this.#wire.out.empty(BACKEND.emptyQueryResponse);
        return;
      case 'command':
        commandComplete(this.#wire.out, outcome.tag);
        return;
      case 'rows':
        await this.#rows(outcome, how);
        return;
      case 'copyOut':
        await this.#copyOut(outcome);
        return;
      case 'copyIn':
        await this.#copyIn(outcome);
        return;
    }
  }

  async #rows(outcome: RowsOutcome, how: Execution): Promise<void> {
    const { out } = this.#wire;
    let sent = 0;
    let suspended = false;
    try {
      if (how.describe) rowDescription(out, outcome.columns);
      for (;;) {
        const page = await outcome.next(how.maxRows - sent);
        if (page === null) break;
        assert(page.rows <= how.maxRows - sent, 'a page has at most the rows asked for');
        for (let row = 0; row < page.rows; ) {
          row = this.#writeRows(page, row, outcome.columns.length);
          await this.#wire.flushIfFull();
        }
        sent += page.rows;
        if (sent >= how.maxRows) {
          // Also when this was the last row, which we may not know: the next execution says so.
          suspended = true;
          out.empty(BACKEND.portalSuspended);
          return;
        }
        if (page.last === true) break;
        await this.#wire.flush();
      }
      commandComplete(out, await outcome.complete(sent));
    } finally {
      // A row that failed half written goes first: closing may take its time and send notices.
      out.abort();
      if (!suspended) outcome.close();
    }
  }

  /** Writes rows until enough wait to be sent; gives the first row not written. */
  #writeRows(page: RowPage, from: number, columns: number): number {
    const { out } = this.#wire;
    let row = from;
    while (row < page.rows && out.length < LIMITS.outputHighWater) {
      out.begin(BACKEND.dataRow);
      out.short(columns);
      for (let col = 0; col < columns; col++) page.cell(row, col, out);
      assert(out.takeCellCount() === columns, 'each call of cell writes one cell');
      out.end();
      row++;
    }
    return row;
  }

  async #copyOut(outcome: CopyOutOutcome): Promise<void> {
    const { out } = this.#wire;
    try {
      copyResponse(out, BACKEND.copyOutResponse, outcome);
      for (;;) {
        // Before each wait: a subscription's next change may be an hour away.
        await this.#wire.flush();
        const chunks = await outcome.next();
        if (chunks === null) break;
        for (const chunk of chunks) {
          copyData(out, chunk);
          if (out.length >= LIMITS.outputHighWater) await this.#wire.flush();
        }
      }
      out.empty(BACKEND.copyDone);
      commandComplete(out, await outcome.complete());
    } finally {
      out.abort();
      outcome.close();
    }
  }

  async #copyIn(outcome: CopyInOutcome): Promise<void> {
    copyResponse(this.#wire.out, BACKEND.copyInResponse, outcome);
    await this.#wire.flush();
    const source = new CopySource(this.#wire);
    let tag: string;
    try {
      tag = await outcome.consume(source);
      // A backend that stopped early and is content: what it did not read is skipped.
      for await (const _ of source);
    } finally {
      source.abandon();
    }
    commandComplete(this.#wire.out, tag);
  }
}
