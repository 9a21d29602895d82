/** A simulated process whose every word is checked: what its replicas tell, what their logs say, what it complains of. */
import assert from 'node:assert/strict';
import type { GlobalId } from '../../../packages/tidemark/src/base/ids.ts';
import { LogChecker } from '../../../packages/tidemark/src/testkit/log-checker.ts';
import { openTest, type TestEnvironment } from '../../../packages/tidemark/src/testkit/simulator.ts';
import type { TestOptions } from '../../../packages/tidemark/src/testkit/test-options.ts';
import { ToldLives } from '../../../packages/tidemark/src/testkit/told-lives.ts';

export interface ProcessOptions {
  readonly seed: number;
  readonly workers: number;
  readonly skewMs?: readonly number[];
  readonly outlive?: boolean;
}

export class CheckedProcess {
  readonly told: ToldLives;
  /** By replica and incarnation. */
  readonly logs = new Map<string, LogChecker>();
  /** Of the present or last incarnation of each replica. */
  readonly latest = new Map<string, LogChecker>();
  readonly complaints: string[] = [];
  #t: TestEnvironment | null = null;

  private constructor(outlive: boolean) {
    this.told = new ToldLives({
      outlive,
      upper: (id) => (this.#isItem(id) ? this.t.env.collections.upper(id) : undefined),
      isKnown: (id) => this.#isItem(id),
      nowMs: () => this.#t?.time.nowMs() ?? 0,
    });
  }

  get t(): TestEnvironment {
    assert.ok(this.#t, 'it is open');
    return this.#t;
  }

  #isItem(id: GlobalId): boolean {
    return this.#t?.env?.catalog.item(id) !== undefined && this.#t.env.collections.has(id);
  }

  static async open(options: ProcessOptions): Promise<CheckedProcess> {
    const p = new CheckedProcess(options.outlive ?? false);
    p.#t = await openTest({ ...options, ...p.#watch(options) });
    return p;
  }

  /** Stands by for this one. */
  async standby(options: Omit<ProcessOptions, 'seed'>): Promise<CheckedProcess> {
    const p = new CheckedProcess(options.outlive ?? false);
    p.#t = await this.t.standby({ ...options, ...p.#watch(options) });
    return p;
  }

  #watch({ skewMs }: { readonly skewMs?: readonly number[] }): TestOptions {
    const complain = (fields: object, message: string): void => {
      this.complaints.push(
        `${message}: ${'error' in fields ? String(fields.error) : JSON.stringify(fields)}`,
      );
    };
    return {
      logger: { debug() {}, info() {}, warn: complain, error: complain },
      onCommand: (command) => {
        this.told.sent(command);
        return command;
      },
      onHeard: (from, response) => this.told.heard(from, response),
      onLogUpdates: (from, updates) => {
        const key = `${from.replicaId} ${from.life}`;
        let log = this.logs.get(key);
        if (log === undefined) {
          log = new LogChecker({ workers: from.workers, skewed: skewMs !== undefined });
          this.logs.set(key, log);
          this.latest.set(from.replicaId, log);
        }
        log.receive(from.worker, updates);
      },
    };
  }

  /** No fault in what was told and logged so far. */
  check(): void {
    assert.deepEqual(this.told.faults, [], 'what replicas tell');
    for (const [life, log] of this.logs) assert.deepEqual(log.faults, [], `the log of ${life}`);
  }

  /** Once everything of users is dropped: only what belongs to the logs themselves is left in them. */
  checkNothingLeft(): void {
    for (const { id } of [...this.t.env.catalog.clusters()].flatMap((c) => c.replicas)) {
      const log = this.latest.get(id);
      const exports = [...(log?.exports ?? [])].filter((e) => !e.startsWith('si'));
      assert.deepEqual([exports, log?.owned ?? []], [[], []], `nothing of users is left in the log of ${id}`);
    }
  }
}
