/**
 * A stateful operator of a dataflow: a rule, driven through time (`OpenTime`), between an exchanged input and the
 * pair of outputs. It holds one capability, at the least time for which something may still be emitted, and
 * reports its state as an arrangement of one batch, what waits for its time as that arrangement's batcher.
 */

import type { Scope } from '../../dataflow/builder.ts';
import type { Capability } from '../../dataflow/capability.ts';
import type { Pact } from '../../dataflow/channel.ts';
import type { OperatorContext, OperatorLogic } from '../../dataflow/operator.ts';
import type { InputPort, OutputPort, Stream } from '../../dataflow/ports.ts';
import type { Batch } from '../../repr/batch.ts';
import { EMPTY } from '../../time/timestamp.ts';
import type { Fuel } from '../../trace/fuel.ts';
import { OpenTime } from './open-time.ts';
import { SizeReport } from './size-report.ts';
import type { RuleOutput, StateRule } from './state-rule.ts';

/** A collection as operators give it: rows, and errors as one column of encoded bytes. */
export interface OksErrs {
  readonly oks: Stream<Batch>;
  readonly errs: Stream<Batch>;
}

export function statefulOperator(
  scope: Scope,
  name: string,
  input: Stream<Batch>,
  pact: Pact,
  rule: StateRule,
): OksErrs {
  const op = scope.operator(name);
  const from = op.input(input, pact);
  const oks = op.output<Batch>('batch');
  const errs = op.output<Batch>('errors');
  op.build((ctx) => new StatefulLogic(ctx, from, oks, errs, rule));
  return { oks: oks.stream, errs: errs.stream };
}

class StatefulLogic implements OperatorLogic {
  readonly #ctx: OperatorContext;
  readonly #from: InputPort<Batch>;
  readonly #time: OpenTime;
  readonly #output: RuleOutput;
  readonly #report: SizeReport;
  /** Held at `OpenTime.held`; undefined while nothing is kept. */
  #held: Capability | undefined;

  constructor(
    ctx: OperatorContext,
    from: InputPort<Batch>,
    oks: OutputPort<Batch>,
    errs: OutputPort<Batch>,
    rule: StateRule,
  ) {
    this.#ctx = ctx;
    this.#from = from;
    this.#time = new OpenTime(rule);
    this.#report = new SizeReport(ctx.host.events, ctx.operatorId);
    this.#output = {
      oks: (batch) => oks.send(this.#held!, batch),
      errs: (batch) => errs.send(this.#held!, batch),
    };
  }

  run(fuel: Fuel): void {
    const { implied } = this.#ctx;
    let waiting = false;
    // What was pulled is absorbed before more is: a snapshot stays in its channel, not in two places.
    for (;;) {
      this.#time.advance(this.#from.frontier);
      waiting = !this.#time.work(fuel, this.#output);
      if (waiting || fuel.exhausted) break;
      const batch = this.#from.pull();
      if (batch === undefined) break;
      fuel.spend(this.#time.push(batch));
      this.#hold(implied);
    }
    this.#hold(implied);
    if (waiting || !this.#from.isEmpty) this.#ctx.reactivate();
    this.#report.update(this.#time);
  }

  passFrontier(): boolean {
    // What is open follows when there is work again.
    if (!this.#time.isIdle || this.#held !== undefined) return false;
    this.#time.advance(this.#from.frontier);
    return true;
  }

  #hold(implied: Capability): void {
    const { held } = this.#time;
    if (this.#held !== undefined && this.#held.time <= held && held !== EMPTY) {
      this.#held.downgrade(held);
      return;
    }
    // A row may come that is earlier than all that wait: the inputs' frontiers still vouch for it.
    const old = this.#held;
    this.#held = held === EMPTY ? undefined : implied.delayed(held);
    old?.dispose();
  }

  shutdown(): void {
    this.#report.retract();
  }
}
