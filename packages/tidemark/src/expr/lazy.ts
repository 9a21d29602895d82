/**
 * The forms that evaluate an argument only where it counts: `and`, `or`, `if`, `coalesce`. A selection is gathered,
 * evaluated densely and scattered back. Arguments that cannot fail run on all rows unless few of them are left:
 * a loop over a whole column is cheaper than a gather.
 */
import { concatColumns, gather, isNull, nullColumn } from '../repr/column.ts';
import { type Kind, kindOf } from '../repr/types.ts';
import type { Frame } from './frame.ts';
import type { RowErrors, Vec } from './functions.ts';
import { evaluate, type Node } from './node.ts';
import { bitAt, constantVec, fixedColumn, spread, vec } from './vec.ts';

/** Row states of a conjunction: what all arguments so far say together. */
const OPEN = 0;
const DECIDED = 1;
const NULL = 2;
const FAILED = 3;

/** Under this share of undecided rows a gather pays also for an argument that cannot fail. */
const SPARSE = 1 / 8;

/**
 * Three-valued and, or. FALSE decides and, TRUE decides or; a decided row forgets its error, whichever side it
 * stands on; an error outweighs NULL.
 */
export function logical(kind: 'and' | 'or', args: readonly Node[], frame: Frame): Vec {
  const { n } = frame;
  const absorbing = kind === 'and' ? 0 : 1;
  const state = new Uint8Array(n);
  const errors: RowErrors = new Map();
  let open = n;
  let selection: Int32Array | null = null;
  for (const arg of args) {
    if (open === 0) break;
    const narrow = open < n && (arg.fallible || open < n * SPARSE);
    if (narrow) selection = openRows(state, open);
    const v = narrow ? evaluate(arg, frame.select(selection!, open)) : evaluate(arg, frame);
    open = fold(v, absorbing, state, errors, narrow ? selection : null, narrow ? open : n);
  }
  return logicalResult(absorbing, state, errors);
}

function openRows(state: Uint8Array, open: number): Int32Array {
  const rows = new Int32Array(open);
  for (let i = 0, k = 0; i < state.length; i++) if (state[i] !== DECIDED) rows[k++] = i;
  return rows;
}

/** Takes one argument's values into the states; returns the number of rows that are not decided. */
function fold(
  v: Vec,
  absorbing: number,
  state: Uint8Array,
  errors: RowErrors,
  rows: Int32Array | null,
  n: number,
): number {
  const values = v.column.values as Uint8Array;
  const { validity } = v.column;
  const mask = v.constant ? 0 : -1;
  if (validity === null && rows === null) {
    for (let i = 0; i < n; i++) if (values[i & mask] === absorbing) state[i] = DECIDED;
  } else
    for (let k = 0; k < n; k++) {
      const i = rows === null ? k : rows[k]!;
      if (state[i] === DECIDED) continue;
      if (bitAt(validity, k & mask)) {
        if (values[k & mask] === absorbing) state[i] = DECIDED;
      } else if (v.errors?.has(k & mask)) {
        if (state[i] !== FAILED) errors.set(i, v.errors.get(k & mask)!);
        state[i] = FAILED;
      } else if (state[i] === OPEN) state[i] = NULL;
    }
  let open = 0;
  for (let i = 0; i < state.length; i++) if (state[i] !== DECIDED) open++;
  return open;
}

function logicalResult(absorbing: number, state: Uint8Array, errors: RowErrors): Vec {
  const n = state.length;
  const values = new Uint8Array(n);
  let nulls = false;
  for (let i = 0; i < n; i++) {
    const s = state[i]!;
    if (s >= NULL) nulls = true;
    else values[i] = s === DECIDED ? absorbing : 1 - absorbing;
  }
  for (const i of errors.keys()) if (state[i] !== FAILED) errors.delete(i);
  const column = fixedColumn('bool', n, values);
  if (!nulls) return vec(column);
  const validity = new Uint8Array((n + 7) >> 3);
  for (let i = 0; i < n; i++) if (state[i]! < NULL) validity[i >> 3]! |= 1 << (i & 7);
  return vec({ ...column, validity }, errors.size === 0 ? null : errors);
}

/**
 * CASE with one condition: TRUE takes the first branch, FALSE and NULL the second, an error neither. Where every row
 * takes a constant branch its value is written out: kernels of one argument count on n rows.
 */
export function conditional(condition: Node, then: Node, otherwise: Node, frame: Frame): Vec {
  const { n } = frame;
  const c = evaluate(condition, frame);
  if (c.constant) {
    const e = c.errors?.get(0);
    if (e !== undefined) return spread(constantVec(nullColumn(kindOf(then.type), 1), e), n);
    return spread(evaluate(c.column.values[0] === 1 ? then : otherwise, frame), n);
  }
  const values = c.column.values as Uint8Array;
  const yes = new Int32Array(n);
  const no = new Int32Array(n);
  let y = 0;
  let z = 0;
  for (let i = 0; i < n; i++) {
    if (values[i] === 1) yes[y++] = i;
    else if (c.errors === null || !c.errors.has(i)) no[z++] = i;
  }
  if (y === n) return spread(evaluate(then, frame), n);
  if (z === n) return spread(evaluate(otherwise, frame), n);
  const parts: Part[] = [];
  if (y > 0) parts.push(partOf(then, frame, yes, y));
  if (z > 0) parts.push(partOf(otherwise, frame, no, z));
  return assemble(parts, c.errors, kindOf(then.type), n);
}

/** The first argument that is not NULL. */
export function coalesce(args: readonly Node[], kind: Kind, frame: Frame): Vec {
  const { n } = frame;
  const parts: Part[] = [];
  let rows: Int32Array | null = null;
  let left = n;
  for (const arg of args) {
    if (left === 0) break;
    const v = spread(evaluate(arg, rows === null ? frame : frame.select(rows, left)), left);
    if (rows === null && v.column.validity === null) return v;
    const taken = new Int32Array(left);
    const rest = new Int32Array(left);
    const from = new Int32Array(left);
    let t = 0;
    let r = 0;
    for (let k = 0; k < left; k++) {
      const i = rows === null ? k : rows[k]!;
      if (isNull(v.column, k) && !v.errors?.has(k)) rest[r++] = i;
      else {
        from[t] = k;
        taken[t++] = i;
      }
    }
    if (t > 0) parts.push({ value: v, rows: taken, from, n: t });
    rows = rest;
    left = r;
  }
  return assemble(parts, null, kind, n);
}

/** Values for some of the rows: row `rows[k]` of the result is row `from[k]` of `value`. */
interface Part {
  readonly value: Vec;
  readonly rows: Int32Array;
  readonly from: Int32Array | null;
  readonly n: number;
}

const partOf = (node: Node, frame: Frame, rows: Int32Array, n: number): Part => ({
  value: spread(node.constant ?? evaluate(node, frame.select(rows, n)), n),
  rows,
  from: null,
  n,
});

/** Scatters the parts into n rows; a row of no part is NULL. */
function assemble(parts: readonly Part[], errors: RowErrors | null, kind: Kind, n: number): Vec {
  if (parts.length === 0) return vec(nullColumn(kind, n), errors);
  const index = new Int32Array(n).fill(-1);
  let out = errors;
  let base = 0;
  for (const p of parts) {
    for (let k = 0; k < p.n; k++) index[p.rows[k]!] = base + (p.from === null ? k : p.from[k]!);
    if (p.value.errors !== null) {
      out = new Map(out ?? []);
      for (let k = 0; k < p.n; k++) {
        const e = p.value.errors.get(p.from === null ? k : p.from[k]!);
        if (e !== undefined) out.set(p.rows[k]!, e);
      }
    }
    base += p.value.column.length;
  }
  return vec(gather(concatColumns(parts.map((p) => p.value.column)), index, n), out);
}
