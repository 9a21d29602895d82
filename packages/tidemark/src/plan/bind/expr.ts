/**
 * Expressions: names and types bound, by PostgreSQL's rules. One function a kind of syntax, in one table; what is
 * longer stands in the files of its subject.
 */
import { SqlError, unsupported } from '../../base/error.ts';
import { type as sqlType } from '../../repr/types.ts';
import type { Expr } from '../../sql/ast.ts';
import { exprStart } from '../../sql/walk.ts';
import type { HExpr } from '../hir.ts';
import { isNull, not } from '../make-scalar.ts';
import { bindArray, bindArrayQuery, bindSubscript } from './arrays.ts';
import { bindCall } from './call.ts';
import { coerce, coerceBoolean, settle, unify } from './coerce.ts';
import { comparison } from './compare.ts';
import { type ExprEnv, UNKNOWN } from './context.ts';
import { bindNumber } from './literals.ts';
import { bindBetween, bindBinary, bindInList, bindIsDistinct, bindLike, bindUnary } from './operators.ts';
import { bindRow, rowOf } from './rows.ts';
import { lookup } from './scope.ts';
import { bindInQuery, bindQuantifiedArray, bindQuantifiedQuery, bindScalarQuery } from './subquery.ts';
import { resolveType } from './types.ts';

const BOOL = sqlType('bool');

type Of<K extends Expr['kind']> = Extract<Expr, { kind: K }>;
type Rule<K extends Expr['kind']> = (env: ExprEnv, e: Of<K>) => HExpr;

const refuse =
  (what: string) =>
  (_: ExprEnv, e: Expr): never => {
    throw unsupported(what, { position: e.pos + 1 });
  };

const logic =
  (kind: 'and' | 'or') =>
  (env: ExprEnv, e: Of<'and' | 'or'>): HExpr => ({
    kind,
    args: e.operands.map((o) => bindBoolean(env, o, kind.toUpperCase())),
    type: BOOL,
  });

const RULES: { readonly [K in Expr['kind']]: Rule<K> } = {
  null: () => ({ kind: 'literal', value: null, type: UNKNOWN }),
  boolean: (_, e) => ({ kind: 'literal', value: e.value, type: BOOL }),
  number: (_, e) => bindNumber(e.text, e.pos),
  string: (_, e) => ({ kind: 'literal', value: e.value, type: UNKNOWN }),
  bitString: refuse('a bit string'),
  parameter: (env, e) => env.context.parameter(e.index, e.pos),
  default: (_, e) => {
    throw new SqlError('syntax_error', 'DEFAULT is not allowed in this context', { position: e.pos + 1 });
  },
  column: (env, e) => {
    const found = lookup(env.scope, e.name);
    if (found.kind === 'column') {
      if (found.scope !== env.scope) found.scope.noteWritten(found.column, e.pos, true);
      else if (env.aggregates && env.inAggregate !== true) found.scope.noteWritten(found.column, e.pos);
    }
    if (found.kind === 'column') return { kind: 'column', id: found.column.id, type: found.column.type };
    return rowOf(env, found.table.columns, e.pos);
  },
  wildcard: (_, e) => {
    throw new SqlError('syntax_error', 'row expansion via "*" is not supported here', {
      position: e.pos + 1,
    });
  },
  field: refuse('a field of a record'),
  fieldStar: refuse('the expansion of a record'),
  subscript: bindSubscript,
  unary: bindUnary,
  binary: bindBinary,
  and: logic('and'),
  or: logic('or'),
  not: (env, e) => not<HExpr>(bindBoolean(env, e.expr, 'NOT')) as HExpr,
  isNull: (env, e) => bindIsNull(env, e),
  isBoolean: (env, e) => {
    const arg = bindBoolean(env, e.expr, `IS ${e.negated ? 'NOT ' : ''}${e.value.toUpperCase()}`);
    const test: HExpr =
      e.value === 'unknown'
        ? (isNull<HExpr>(arg) as HExpr)
        : { kind: 'call', func: `is_${e.value}`, args: [arg], type: BOOL };
    return e.negated ? (not<HExpr>(test) as HExpr) : test;
  },
  isDistinct: bindIsDistinct,
  between: bindBetween,
  like: bindLike,
  inList: bindInList,
  inQuery: bindInQuery,
  quantifiedArray: bindQuantifiedArray,
  quantifiedQuery: bindQuantifiedQuery,
  exists: (env, e) => {
    const bound = env.context.rules.query(env.context, e.query, env.scope);
    const { rel, limit, offset } = bound;
    const cut: HExpr & { kind: 'existsQuery' } = {
      kind: 'existsQuery',
      rel:
        limit === null && offset === 0
          ? rel
          : { kind: 'topK', input: rel, groupKey: [], orderBy: [], limit, offset },
      type: BOOL,
    };
    return cut;
  },
  subquery: bindScalarQuery,
  arrayQuery: bindArrayQuery,
  array: (env, e) => bindArray(env, e.elements, false, e.pos),
  list: (env, e) => bindArray(env, e.elements, true, e.pos),
  map: refuse('MAP'),
  row: bindRow,
  case: bindCase,
  cast: (env, e) => {
    const to = resolveType(e.type);
    if (e.expr.kind === 'array' && (to.name === 'array' || to.name === 'list'))
      return coerce(
        env.context,
        { expr: bindArray(env, e.expr.elements, to.name === 'list', e.expr.pos, to.elem), pos: e.pos },
        to,
        'explicit',
      );
    const expr = bindExpr(env, e.expr);
    const literal = expr.kind === 'literal' || expr.kind === 'parameter';
    return coerce(env.context, { expr, pos: literal ? exprStart(e.expr) : e.pos }, to, 'explicit');
  },
  collate: (env, e) => {
    const name = e.collation.parts[e.collation.parts.length - 1].name;
    if (!['C', 'POSIX', 'default', 'ucs_basic'].includes(name))
      throw unsupported(`collation "${name}"`, { position: e.pos + 1 });
    return settle(env.context, { expr: bindExpr(env, e.expr), pos: e.expr.pos });
  },
  namedArg: refuse('a named argument'),
  call: bindCall,
};

/** Of unknown type: untyped literals and parameters that the place around must decide. */
export function bindExpr(env: ExprEnv, e: Expr): HExpr {
  const rule = RULES[e.kind] as (env: ExprEnv, e: Expr) => HExpr;
  return rule(env, e);
}

function bindBoolean(env: ExprEnv, e: Expr, what: string): HExpr {
  return coerceBoolean(env.context, { expr: bindExpr(env, e), pos: exprStart(e) }, what);
}

function bindIsNull(env: ExprEnv, e: Of<'isNull'>): HExpr {
  if (e.expr.kind === 'row') {
    // All fields NULL, or all not NULL: the two are not each other's negation.
    const tests = e.expr.elements.map((x) => {
      const test = isNull<HExpr>(settle(env.context, { expr: bindExpr(env, x), pos: x.pos })) as HExpr;
      return e.negated ? (not<HExpr>(test) as HExpr) : test;
    });
    return tests.length === 1 ? tests[0] : { kind: 'and', args: tests, type: BOOL };
  }
  const test = isNull<HExpr>(settle(env.context, { expr: bindExpr(env, e.expr), pos: e.expr.pos })) as HExpr;
  return e.negated ? (not<HExpr>(test) as HExpr) : test;
}

function bindCase(env: ExprEnv, e: Of<'case'>): HExpr {
  const { context } = env;
  const operand =
    e.operand === undefined ? undefined : { expr: bindExpr(env, e.operand), pos: exprStart(e.operand) };
  const conditions = e.branches.map((b) => {
    if (operand === undefined) return bindBoolean(env, b.when, 'CASE/WHEN');
    return comparison(env, '=', operand, { expr: bindExpr(env, b.when), pos: exprStart(b.when) }, b.when.pos);
  });
  const branches = e.branches.map((b) => ({ expr: bindExpr(env, b.result), pos: exprStart(b.result) }));
  // PostgreSQL looks at ELSE first, which decides the order of the types in its message.
  const last =
    e.otherwise === undefined ? [] : [{ expr: bindExpr(env, e.otherwise), pos: exprStart(e.otherwise) }];
  const { exprs, type } = unify(context, [...last, ...branches], 'CASE');
  const otherwise: HExpr = last.length === 0 ? { kind: 'literal', value: null, type } : exprs[0];
  const results = exprs.slice(last.length);
  return conditions.reduceRight<HExpr>(
    (rest, condition, i) => ({ kind: 'if', args: [condition, results[i], rest], type }),
    otherwise,
  );
}
