/** Walking, rewriting, comparing and printing scalar expressions. */
import { unreachable } from '../base/assert.ts';
import { textOf } from '../repr/format.ts';
import { type Datum, sameType, typeToString } from '../repr/types.ts';
import { isOperatorName } from './functions.ts';
import { functionById } from './registry.ts';
import type { ScalarExpr } from './scalar.ts';

export function childrenOf(e: ScalarExpr): readonly ScalarExpr[] {
  return 'args' in e ? e.args : [];
}

/** The same form over other arguments; shared where nothing changed. */
function withChildren(e: ScalarExpr, args: readonly ScalarExpr[]): ScalarExpr {
  if (!('args' in e)) return e;
  if (e.args.length === args.length && e.args.every((a, i) => a === args[i])) return e;
  return { ...e, args };
}

/** Bottom up: `f` sees a node whose children are rewritten already. */
export function rewrite(e: ScalarExpr, f: (e: ScalarExpr) => ScalarExpr): ScalarExpr {
  const children = childrenOf(e);
  return f(
    children.length === 0
      ? e
      : withChildren(
          e,
          children.map((c) => rewrite(c, f)),
        ),
  );
}

/** Positions of the columns that an expression reads. */
export function columnsOf(e: ScalarExpr, into: Set<number> = new Set()): Set<number> {
  if (e.kind === 'column') into.add(e.index);
  for (const c of childrenOf(e)) columnsOf(c, into);
  return into;
}

/** Replaces column positions. */
export function mapColumns(e: ScalarExpr, f: (index: number) => number): ScalarExpr {
  return rewrite(e, (x) => {
    if (x.kind !== 'column') return x;
    const index = f(x.index);
    return index === x.index ? x : { ...x, index };
  });
}

/** Replaces column references by expressions. */
export function substituteColumns(e: ScalarExpr, f: (index: number) => ScalarExpr | undefined): ScalarExpr {
  return rewrite(e, (x) => (x.kind === 'column' ? (f(x.index) ?? x) : x));
}

function datumEquals(a: Datum, b: Datum): boolean {
  if (Object.is(a, b)) return true;
  if (a === null || b === null || typeof a !== typeof b) return false;
  if (a instanceof Uint8Array && b instanceof Uint8Array)
    return a.length === b.length && a.every((x, i) => x === b[i]);
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((x, i) => datumEquals(x as Datum, b[i] as Datum));
  if (typeof a !== 'object') return false;
  const ka = Object.keys(a) as (keyof typeof a)[];
  return (
    ka.length === Object.keys(b).length &&
    ka.every((k) => datumEquals(a[k] as Datum, (b as Record<string, Datum>)[k] as Datum))
  );
}

/** Same form, functions, types and values. */
export function exprEquals(a: ScalarExpr, b: ScalarExpr): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind || !sameType(a.type, b.type) || a.type.typmod !== b.type.typmod) return false;
  if (a.kind === 'column') return a.index === (b as typeof a).index;
  if (a.kind === 'literal') return datumEquals(a.value, (b as typeof a).value);
  if (a.kind === 'error') {
    const { error } = b as typeof a;
    return (
      a.error.code === error.code && a.error.message === error.message && a.error.detail === error.detail
    );
  }
  if (a.kind === 'call' && a.func !== (b as typeof a).func) return false;
  const cb = childrenOf(b);
  return a.args.length === cb.length && a.args.every((x, i) => exprEquals(x, cb[i]!));
}

/** Whether evaluation can give an error. */
export function canFail(e: ScalarExpr): boolean {
  if (e.kind === 'error' || (e.kind === 'call' && functionById(e.func).fallible)) return true;
  return childrenOf(e).some(canFail);
}

/** As EXPLAIN shows it; `names` are the columns' (default `#0`, `#1` …). */
export function printScalar(e: ScalarExpr, names: readonly string[] = []): string {
  const print = (x: ScalarExpr): string => printScalar(x, names);
  switch (e.kind) {
    case 'column':
      return names[e.index] ?? `#${e.index}`;
    case 'literal':
      return printLiteral(e.value, typeToString(e.type), e);
    case 'error':
      return `error(${JSON.stringify(e.error.message)})`;
    case 'and':
    case 'or':
      return `(${e.args.map(print).join(` ${e.kind.toUpperCase()} `)})`;
    case 'if':
      return `case when ${print(e.args[0]!)} then ${print(e.args[1]!)} else ${print(e.args[2]!)} end`;
    case 'coalesce':
      return `coalesce(${e.args.map(print).join(', ')})`;
    case 'call': {
      const name = functionById(e.func).name;
      if (name === null) {
        if (e.func.startsWith('cast_')) return `(${print(e.args[0]!)})::${typeToString(e.type)}`;
        return `${e.func}(${e.args.map(print).join(', ')})`;
      }
      if (isOperatorName(name)) {
        if (e.args.length === 1) return `${name}${print(e.args[0]!)}`;
        return `(${print(e.args[0]!)} ${name} ${print(e.args[1]!)})`;
      }
      return `${name}(${e.args.map(print).join(', ')})`;
    }
    default:
      return unreachable(e, 'expression');
  }
}

function printLiteral(value: Datum, typeName: string, e: ScalarExpr): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean' || typeof value === 'number' || typeof value === 'bigint') {
    if (e.type.name === 'int4' || e.type.name === 'bool') return String(value);
  }
  const text = `'${textOf(e.type, value).replaceAll("'", "''")}'`;
  return e.type.name === 'text' ? text : `${text}::${typeName}`;
}
