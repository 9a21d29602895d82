/**
 * The lifecycle of one export on one worker: a small pure state machine. The worker steps one to send `lifecycle`
 * responses, the demux steps another over the logged events to make rows; both see the same events with the same
 * nanoseconds, so rows and responses agree, also when logging is off.
 *
 * Every method gives the stages that became true, in order, each at most once (a repeated Schedule says nothing).
 * Instants are nanoseconds since the worker's anchor.
 */
import { assert } from '../base/assert.ts';

export type InstallReason = 'commanded' | 'reconciled';
export type StartReason = 'inputs_available' | 'hydration_limit';

/** Grain and vocabulary of each stage, in the order of a life. `reasons: []` means the reason is NULL. */
export const STAGES = {
  installed: {
    grain: 'worker',
    reasons: ['commanded', 'reconciled'],
    doc: 'the dataflow was created on this worker, still suspended: queueing begins',
  },
  started: {
    grain: 'worker',
    reasons: ['inputs_available', 'hydration_limit'],
    doc: 'computation was unblocked',
  },
  hydrated: {
    grain: 'worker',
    reasons: [],
    doc: "this worker's progress passed the as-of: its part of the snapshot is computed",
  },
  write_blocked: {
    grain: 'object',
    reasons: ['read_only'],
    doc: 'the object is computed, writes to a shard, and may not write',
  },
  write_unblocked: { grain: 'object', reasons: [], doc: 'permission was applied after a write_blocked' },
  written: {
    grain: 'object',
    reasons: [],
    doc: 'the output is durable at the as-of, and this replica may write',
  },
} as const satisfies Record<string, { grain: 'worker' | 'object'; reasons: readonly string[]; doc: string }>;

export type LifecycleStage = keyof typeof STAGES;
export const STAGE_NAMES = Object.keys(STAGES) as LifecycleStage[];
export type LifecycleReason = InstallReason | StartReason | 'read_only' | null;

export interface Transition {
  readonly stage: LifecycleStage;
  readonly ns: number;
  readonly reason: LifecycleReason;
}

const NONE: readonly Transition[] = [];

export class Lifecycle {
  readonly installedNs: number;
  #startedNs: number | undefined;
  #hydrated = false;
  #blocked = false;
  #unblocked = false;
  #written = false;
  #outputNs: number | undefined;

  private constructor(installedNs: number) {
    this.installedNs = installedNs;
  }

  static install(
    ns: number,
    reason: InstallReason,
  ): { lifecycle: Lifecycle; transitions: readonly Transition[] } {
    return { lifecycle: new Lifecycle(ns), transitions: [{ stage: 'installed', ns, reason }] };
  }

  get startedNs(): number | undefined {
    return this.#startedNs;
  }
  /** When the reported output frontier passed the as-of: the older reading of "hydrated". */
  get outputNs(): number | undefined {
    return this.#outputNs;
  }
  get isHydrated(): boolean {
    return this.#hydrated;
  }
  get isBlocked(): boolean {
    return this.#blocked && !this.#unblocked;
  }
  get wasBlocked(): boolean {
    return this.#blocked;
  }
  get isWritten(): boolean {
    return this.#written;
  }

  start(ns: number, reason: StartReason): readonly Transition[] {
    if (this.#startedNs !== undefined) return NONE;
    this.#startedNs = ns;
    return [{ stage: 'started', ns, reason }];
  }

  /**
   * A dataflow over an arrangement that was hydrated before can be done while still suspended. It waited for
   * nothing, so `started` gets the instant of `installed`; the later instant would call all of it waiting.
   */
  #backfillStart(): readonly Transition[] {
    return this.start(this.installedNs, 'inputs_available');
  }

  /** Progress, before the sink and before any rounding, passed the as-of. */
  computed(ns: number): readonly Transition[] {
    if (this.#hydrated) return NONE;
    this.#hydrated = true;
    return [...this.#backfillStart(), { stage: 'hydrated', ns, reason: null }];
  }

  /** The reported output frontier passed the as-of. A stage of the older relation, not of the log. */
  outputPassed(ns: number): readonly Transition[] {
    if (this.#outputNs !== undefined) return NONE;
    this.#outputNs = ns;
    return this.#backfillStart();
  }

  writeBlocked(ns: number): readonly Transition[] {
    if (this.#blocked || this.#written) return NONE;
    assert(this.#hydrated, 'write_blocked comes after hydrated');
    this.#blocked = true;
    return [{ stage: 'write_blocked', ns, reason: 'read_only' }];
  }

  writeUnblocked(ns: number): readonly Transition[] {
    if (!this.#blocked || this.#unblocked) return NONE;
    this.#unblocked = true;
    return [{ stage: 'write_unblocked', ns, reason: null }];
  }

  written(ns: number): readonly Transition[] {
    if (this.#written) return NONE;
    assert(this.#hydrated, 'written comes after hydrated');
    assert(!this.isBlocked, 'written comes after the block is lifted');
    this.#written = true;
    return [{ stage: 'written', ns, reason: null }];
  }
}
