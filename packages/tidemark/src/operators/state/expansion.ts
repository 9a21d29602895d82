/**
 * Rows to rows: each input row gives any number of rows, laid behind its own columns, at its time, with its diff
 * multiplied. Stateless but for where it stands, so that one row with ten million rows yields to others: pieces
 * are drawn one at a time, with fuel. Small pieces of many rows go out as one batch.
 */
import { SqlError } from '../../base/error.ts';
import { type Batch, diffAt, timeAt } from '../../repr/batch.ts';
import { type Column, concatColumns, gather } from '../../repr/column.ts';
import type { Fuel } from '../../trace/fuel.ts';
import type { EncodeError } from './reduce-rule.ts';
import type { RuleOutput } from './state-rule.ts';

/** A few thousand rows at most, so that fuel is looked at often enough. */
export interface RowsPiece {
  readonly length: number;
  readonly columns: readonly Column[];
  /** What the diff of the input row is multiplied by; 1 if absent. */
  readonly diff?: number;
}

/** The rows of row i of the columns, lazily. An `SqlError` becomes an error of the output, with the row's diff. */
export type ExpandRow = (columns: readonly Column[], i: number) => Iterable<RowsPiece>;

const OUT_ROWS = 8192;

export class Expansion {
  readonly #expand: ExpandRow;
  readonly #encodeError: EncodeError;
  #batch: Batch | undefined;
  #row = 0;
  /** Pieces of the row that are still to be drawn. */
  #rest: Iterator<RowsPiece> | undefined;

  constructor(expand: ExpandRow, encodeError: EncodeError) {
    this.#expand = expand;
    this.#encodeError = encodeError;
  }

  /** Whether a batch is under way. */
  get busy(): boolean {
    return this.#batch !== undefined;
  }

  /** Only when not busy. */
  start(batch: Batch): void {
    this.#batch = batch.length === 0 ? undefined : batch;
    this.#row = 0;
  }

  /** Goes on with the batch until it ends or the fuel does. */
  work(fuel: Fuel, output: RuleOutput): void {
    while (this.#batch !== undefined && !fuel.exhausted) this.#fill(this.#batch, fuel, output);
  }

  /** Draws pieces for one output batch and sends it. */
  #fill(batch: Batch, fuel: Fuel, output: RuleOutput): void {
    const pieces: RowsPiece[] = [];
    const rows: number[] = [];
    let total = 0;
    while (total < OUT_ROWS && !fuel.exhausted && this.#row < batch.length) {
      const piece = this.#draw(batch, output);
      fuel.spend(1);
      if (piece === undefined) {
        this.#row++;
        this.#rest = undefined;
      } else if (piece.length > 0) {
        pieces.push(piece);
        rows.push(this.#row);
        total += piece.length;
        fuel.spend(piece.length);
      }
    }
    if (this.#row === batch.length) this.#batch = undefined;
    if (pieces.length > 0) output.oks(laidOut(batch, rows, pieces, total));
  }

  #draw(batch: Batch, output: RuleOutput): RowsPiece | undefined {
    try {
      this.#rest ??= this.#expand(batch.columns, this.#row)[Symbol.iterator]();
      const next = this.#rest.next();
      return next.done === true ? undefined : next.value;
    } catch (e) {
      if (!(e instanceof SqlError)) throw e;
      output.errs(
        errorBatch(this.#encodeError(e.code, e.message), timeAt(batch, this.#row), diffAt(batch, this.#row)),
      );
      return undefined;
    }
  }
}

function laidOut(batch: Batch, rows: readonly number[], pieces: readonly RowsPiece[], total: number): Batch {
  const indices = new Int32Array(total);
  const diffs = new Float64Array(total);
  const times = typeof batch.times === 'number' ? batch.times : new Float64Array(total);
  let at = 0;
  pieces.forEach((piece, k) => {
    const i = rows[k]!;
    const to = at + piece.length;
    indices.fill(i, at, to);
    diffs.fill(diffAt(batch, i) * (piece.diff ?? 1), at, to);
    if (typeof times !== 'number') times.fill(timeAt(batch, i), at, to);
    at = to;
  });
  const made = pieces[0]!.columns.map((_, c) => concatColumns(pieces.map((p) => p.columns[c]!)));
  return {
    length: total,
    columns: [...batch.columns.map((c) => gather(c, indices, total)), ...made],
    times,
    diffs,
  };
}

function errorBatch(error: Uint8Array, time: number, diff: number): Batch {
  const values = Uint8Array.from(error);
  const column: Column = {
    kind: 'bytes',
    length: 1,
    validity: null,
    values,
    offsets: Int32Array.of(0, values.length),
  };
  return { length: 1, columns: [column], times: time, diffs: diff };
}
