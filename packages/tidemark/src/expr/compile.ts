/**
 * Scalar expressions become a graph of nodes, one for each distinct subexpression. A node yields the values of all
 * rows of a frame at once. What depends on no column is computed at compile time and stays one row.
 *
 * Calls are eager and join the errors of their arguments; `and`, `or`, `if` and `coalesce` evaluate an argument
 * that can fail only on the rows that need it.
 */
import { assert, unreachable } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import { ColumnBuilder, nullColumn } from '../repr/column.ts';
import { pushDatum } from '../repr/datum.ts';
import { kindOf, type SqlType } from '../repr/types.ts';
import { evalErrorOf } from './eval-error.ts';
import { Frame } from './frame.ts';
import type { EvalContext, FunctionDef, RowErrors, Vec } from './functions.ts';
import { coalesce, conditional, logical } from './lazy.ts';
import { evaluate, type Node } from './node.ts';
import { functionById } from './registry.ts';
import type { Call, RowError, ScalarExpr } from './scalar.ts';
import { argumentErrors, type Bitmap, commonValidity, constantVec, vec, withValidity } from './vec.ts';

/** Compiles expressions over the columns of one input into one graph. */
export class Compiler {
  readonly #context: EvalContext;
  readonly #nodes = new Map<string, Node>();
  /** Stand for the columns from `inputArity` on. */
  readonly #derived: Node[] = [];
  readonly #inputArity: number;
  #slots = 0;

  constructor(context: EvalContext, inputArity = Number.POSITIVE_INFINITY) {
    this.#context = context;
    this.#inputArity = inputArity;
  }

  /** The next column after the input's and those defined before. */
  define(expr: ScalarExpr): Node {
    const node = this.compile(expr);
    this.#derived.push(node);
    return node;
  }

  derived(index: number): Node {
    const node = this.#derived[index - this.#inputArity];
    assert(node !== undefined, `column ${index} is defined before it is read`);
    return node;
  }

  compile(expr: ScalarExpr): Node {
    switch (expr.kind) {
      case 'column': {
        const { index, type } = expr;
        if (index >= this.#inputArity) return this.derived(index);
        return this.#node(`c${index}`, type, false, [], (f) => f.input(index), true);
      }
      case 'literal': {
        const b = new ColumnBuilder(kindOf(expr.type), 1);
        pushDatum(expr.type, b, expr.value);
        const column = b.finish();
        const bits = `${column.validity === null ? 'v' : 'n'}${new Uint8Array(column.values.buffer).join()}`;
        return this.#constant(`l${typeKey(expr.type)}:${bits}`, expr.type, constantVec(column));
      }
      case 'error':
        return this.#constant(
          `e${JSON.stringify(expr.error)}${typeKey(expr.type)}`,
          expr.type,
          constantVec(nullColumn(kindOf(expr.type), 1), expr.error),
          true,
        );
      case 'call':
        return this.#call(expr);
      case 'and':
      case 'or':
      case 'if':
      case 'coalesce': {
        const args = expr.args.map((a) => this.compile(a));
        const { kind, type } = expr;
        const run =
          kind === 'if'
            ? (f: Frame) => conditional(args[0]!, args[1]!, args[2]!, f)
            : kind === 'coalesce'
              ? (f: Frame) => coalesce(args, kindOf(type), f)
              : (f: Frame) => logical(kind, args, f);
        return this.#node(`${kind}(${args.map((a) => a.slot).join()})`, type, false, args, run);
      }
      default:
        return unreachable(expr, 'expression');
    }
  }

  #call(expr: Call): Node {
    const def = functionById(expr.func);
    const args = expr.args.map((a) => this.compile(a));
    const argTypes = args.map((a) => a.type);
    const { type } = expr;
    const key = `${expr.func}:${typeKey(type)}(${args.map((a) => a.slot).join()})`;
    return this.#node(key, type, def.fallible, args, (f) =>
      callFunction(
        def,
        args.map((a) => evaluate(a, f)),
        argTypes,
        type,
        f.n,
        this.#context,
      ),
    );
  }

  #constant(key: string, type: SqlType, value: Vec, fallible = false): Node {
    return this.#shared(key, () => ({
      slot: this.#slots++,
      type,
      fallible,
      constant: value,
      run: () => value,
    }));
  }

  #node(
    key: string,
    type: SqlType,
    fails: boolean,
    args: readonly Node[],
    run: (frame: Frame) => Vec,
    readsColumn = false,
  ): Node {
    return this.#shared(key, () => {
      const fallible = fails || args.some((a) => a.fallible);
      const slot = this.#slots++;
      if (readsColumn || args.some((a) => a.constant === null))
        return { slot, type, fallible, constant: null, run };
      const v = run(Frame.of([], 1));
      const constant = v.constant ? v : constantVec(v.column, v.errors?.get(0));
      return { slot, type, fallible: constant.errors !== null, constant, run };
    });
  }

  #shared(key: string, make: () => Node): Node {
    let node = this.#nodes.get(key);
    if (node === undefined) {
      node = make();
      this.#nodes.set(key, node);
    }
    return node;
  }
}

function typeKey(t: SqlType): string {
  if (t.elem !== undefined) return `${t.name}<${typeKey(t.elem)}>`;
  if (t.fields !== undefined) return `${t.name}<${t.fields.map(typeKey).join()}>`;
  return t.typmod === undefined ? t.name : `${t.name}/${t.typmod}`;
}

/** One call over n rows: strictness, errors of arguments, the kernel, NULLs cleared. */
function callFunction(
  def: FunctionDef,
  args: readonly Vec[],
  argTypes: readonly SqlType[],
  type: SqlType,
  n: number,
  context: EvalContext,
): Vec {
  let errors: RowErrors | null = argumentErrors(args, n);
  let validity: Bitmap | null = null;
  if (def.strict) {
    const common = commonValidity(args, n);
    if (common === 'none') return vec(nullColumn(kindOf(type), n), errors);
    validity = common;
  }
  const fail = (row: number, error: RowError): void => {
    errors ??= new Map();
    if (!errors.has(row)) errors.set(row, error);
  };
  let column = nullColumn(kindOf(type), 0);
  try {
    column = def.kernel({ args, argTypes, type, n, validity, context, fail });
  } catch (e) {
    // A kernel that fails before it looks at rows (a bad constant pattern, a missing context) fails them all.
    if (!(e instanceof SqlError)) throw e;
    column = nullColumn(kindOf(type), n);
    const error = evalErrorOf(e);
    for (let i = 0; i < n; i++)
      if (validity === null || (validity[i >> 3]! & (1 << (i & 7))) !== 0) fail(i, error);
  }
  assert(column.length === n, `${def.id} yields ${n} rows, not ${column.length}`);
  return vec(withValidity(column, validity, errors), errors);
}
