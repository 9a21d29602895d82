/**
 * Constant folding and boolean algebra on scalar expressions. The result evaluates to the same value or error on
 * every row, except that an expression which fails on every row may fail with another of its errors.
 *
 * A constant call that fails becomes an `error` node where it stands: inside a lazy form it still counts only for
 * the rows that reach it.
 */
import { type Datum, sameType, type } from '../repr/types.ts';
import { evalConstant } from './eval.ts';
import { isEvalError } from './eval-error.ts';
import { canFail, childrenOf, exprEquals, rewrite } from './expr-tree.ts';
import type { EvalContext, Volatility } from './functions.ts';
import { functionById } from './registry.ts';
import type { Literal, ScalarExpr, Special } from './scalar.ts';

export interface SimplifyOptions {
  readonly context: EvalContext;
  /** Functions of these volatilities are folded; `contextual` and `catalog` only by who knows the session. */
  readonly fold?: readonly Volatility[];
}

const BOOL = type('bool');
const TRUE: Literal = { kind: 'literal', value: true, type: BOOL };
const FALSE: Literal = { kind: 'literal', value: false, type: BOOL };
const isBool = (e: ScalarExpr, value: Datum): boolean => e.kind === 'literal' && e.value === value;

export function simplify(expr: ScalarExpr, options: SimplifyOptions): ScalarExpr {
  const fold = new Set<Volatility>(options.fold ?? ['immutable']);
  return rewrite(expr, (e) => {
    switch (e.kind) {
      case 'and':
      case 'or':
        return simplifyLogical(e);
      case 'if':
        return simplifyIf(e);
      case 'coalesce':
        return simplifyCoalesce(e);
      case 'call':
        return simplifyCall(e, fold, options.context);
      default:
        return e;
    }
  });
}

type Of<K extends ScalarExpr['kind']> = Extract<ScalarExpr, { kind: K }>;

function simplifyCall(e: Of<'call'>, fold: ReadonlySet<Volatility>, context: EvalContext): ScalarExpr {
  const def = functionById(e.func);
  if (fold.has(def.volatility) && e.args.every((a) => a.kind === 'literal' || a.kind === 'error')) {
    const v = evalConstant(e, context);
    return isEvalError(v)
      ? { kind: 'error', error: v.error, type: e.type }
      : { kind: 'literal', value: v, type: e.type };
  }
  // Eager arguments: an error in one is the call's.
  const failed = e.args.find((a) => a.kind === 'error');
  if (failed?.kind === 'error' && e.args.every((a) => a === failed || !canFail(a)))
    return { ...failed, type: e.type };
  if (def.strict && e.args.some((a) => a.kind === 'literal' && a.value === null) && !e.args.some(canFail))
    return { kind: 'literal', value: null, type: e.type };
  if (e.func === 'not_bool') return simplifyNot(e);
  // A cast of a type to itself.
  if (e.func.startsWith('cast_') && e.args.length === 1) {
    const [a] = e.args;
    if (
      sameType(a!.type, e.type) &&
      (e.type.typmod === undefined || e.type.typmod === a!.type.typmod) &&
      !hasModifiers(e)
    )
      return a!;
  }
  return e;
}

const hasModifiers = (e: ScalarExpr): boolean => e.type.elem?.typmod !== undefined;

/** The comparison that holds where another does not, except for NULL, which both give. */
const INVERSE: Readonly<Record<string, string>> = {
  eq: 'ne',
  ne: 'eq',
  lt: 'ge',
  ge: 'lt',
  le: 'gt',
  gt: 'le',
};

function simplifyNot(e: Of<'call'>): ScalarExpr {
  const inner = e.args[0]!;
  if (inner.kind !== 'call') return e;
  if (inner.func === 'not_bool') return inner.args[0]!;
  const m = /^(eq|ne|lt|le|gt|ge)_(.*)$/.exec(inner.func);
  if (m === null || inner.args.length !== 2 || functionById(inner.func).returns !== 'bool') return e;
  return { ...inner, func: `${INVERSE[m[1]!]}_${m[2]}` };
}

/** Flattens, drops neutral and repeated operands, and stops at a deciding one. */
function simplifyLogical(e: Special): ScalarExpr {
  const and = e.kind === 'and';
  const args: ScalarExpr[] = [];
  const flat = e.args.flatMap((a) => (a.kind === e.kind ? a.args : [a]));
  for (const a of flat) {
    if (isBool(a, and)) continue;
    // A deciding operand wins over errors and NULLs, whichever side they stand on.
    if (isBool(a, !and)) return and ? FALSE : TRUE;
    if (!args.some((b) => exprEquals(a, b))) args.push(a);
  }
  if (args.length === 0) return and ? TRUE : FALSE;
  if (args.length === 1) return args[0]!;
  if (args.length === e.args.length && args.every((a, i) => a === e.args[i])) return e;
  return { ...e, args };
}

function simplifyIf(e: Special): ScalarExpr {
  const [condition, then, otherwise] = e.args as [ScalarExpr, ScalarExpr, ScalarExpr];
  if (condition.kind === 'literal') return condition.value === true ? then : otherwise;
  if (condition.kind === 'error') return { ...condition, type: e.type };
  if (exprEquals(then, otherwise) && !canFail(condition)) return then;
  return e;
}

function simplifyCoalesce(e: Special): ScalarExpr {
  const args: ScalarExpr[] = [];
  for (const a of e.args) {
    if (a.kind === 'literal' && a.value === null) continue;
    args.push(a);
    // What comes after a value that is never NULL is never reached.
    if (a.kind === 'literal' || a.kind === 'error') break;
  }
  if (args.length === 0) return { kind: 'literal', value: null, type: e.type };
  if (args.length === 1) return args[0]!;
  return args.length === e.args.length ? e : { ...e, args };
}

/** Whether the value may be NULL, given which input columns may. */
export function isNullable(e: ScalarExpr, columns: readonly { readonly nullable: boolean }[]): boolean {
  const each = (x: ScalarExpr): boolean => isNullable(x, columns);
  switch (e.kind) {
    case 'column':
      return columns[e.index]!.nullable;
    case 'literal':
      return e.value === null;
    case 'error':
      return false;
    case 'and':
    case 'or':
      return e.args.some(each);
    case 'if':
      return each(e.args[1]!) || each(e.args[2]!);
    case 'coalesce':
      return e.args.every(each);
    case 'call': {
      const def = functionById(e.func);
      return def.nullable || (def.strict && childrenOf(e).some(each));
    }
  }
}
