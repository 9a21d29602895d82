/**
 * Clients that insert numbered rows as fast as they are acknowledged, and move to the process that accepts writes when theirs does not
 * any more. Each keeps book: a row that was acknowledged is there once, one whose answer did not come is there once or not at all.
 */
import { sleep } from './crash/random.ts';
import { Client } from './crash/server-process.ts';

/** What a move may take before it is a fault. */
const PATIENCE_MS = 120_000;
/** A process that hangs answers nothing: then the client goes elsewhere. One that is only slow is given more, from what it last took. */
const ANSWER_MS = 400;

export interface Acknowledged {
  /** Wall clock of this process. */
  lastMs: number;
  longestGapMs: number;
  count: number;
}

export class CutoverWriter {
  readonly id: number;
  readonly acknowledged = new Set<number>();
  readonly unknown = new Set<number>();
  readonly #ports: () => readonly number[];
  readonly #all: Acknowledged;
  #over = false;

  /** `ports`: processes to try, in order; `all`: what the writers share. */
  constructor(id: number, ports: () => readonly number[], all: Acknowledged) {
    this.id = id;
    this.#ports = ports;
    this.#all = all;
  }

  end(): void {
    this.#over = true;
  }

  async run(): Promise<void> {
    let movingSince = Date.now();
    let answerMs = ANSWER_MS;
    for (let n = 1, at = 0; !this.#over; at++) {
      const ports = this.#ports();
      const client = new Client(ports[at % ports.length]!);
      try {
        for (; !this.#over; n++) {
          this.unknown.add(n);
          const askedMs = Date.now();
          await answered(client.query(`INSERT INTO t VALUES (${this.id}, ${n})`), answerMs);
          answerMs = Math.max(ANSWER_MS, 4 * (Date.now() - askedMs));
          this.unknown.delete(n);
          this.#wasAcknowledged(n);
          movingSince = Date.now();
        }
      } catch (error) {
        if (Date.now() - movingSince > PATIENCE_MS)
          throw new Error(`writer ${this.id} found nobody who accepts writes`, { cause: error });
        if (error instanceof NoAnswer) answerMs *= 2;
        if ((error as { code?: string }).code === '25006') this.unknown.delete(n);
        // Its fate is open, and a number is used once.
        else n++;
        await sleep(2);
      } finally {
        void client.end();
      }
    }
  }

  #wasAcknowledged(n: number): void {
    const now = performance.now();
    const all = this.#all;
    if (all.lastMs > 0) all.longestGapMs = Math.max(all.longestGapMs, now - all.lastMs);
    all.lastMs = now;
    all.count++;
    this.acknowledged.add(n);
  }
}

class NoAnswer extends Error {}

async function answered<T>(answer: Promise<T>, withinMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NoAnswer('no answer')), withinMs);
  });
  answer.catch(() => undefined);
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
