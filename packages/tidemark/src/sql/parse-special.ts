/**
 * Expressions with a keyword's own syntax: one rule a keyword. What PostgreSQL rewrites to a function call becomes a
 * plain call here too, under the keyword's or the function's name.
 */
import type { CallExpr, CaseBranch, CaseExpr, Expr } from './ast.ts';
import type { Cursor } from './cursor.ts';
import { parseArgument, plainCall } from './parse-call.ts';
import { namedType, parseType } from './parse-type.ts';

/** What the rules need of the operator grammar above them. */
export interface SpecialRules {
  /** `b_expr`: what may stand before IN in POSITION. */
  readonly bExpr: (c: Cursor) => Expr;
}

/** The keyword is not taken yet; it is known that the rule applies. */
type SpecialRule = (c: Cursor, pos: number, rules: SpecialRules) => Expr;

interface Special {
  /** Applies only before `(`; otherwise the word is a name like any other (or an error, if reserved). */
  readonly paren: boolean;
  readonly rule: SpecialRule;
}

/** No argument and no parentheses; those marked take a precision in parentheses. */
const NULLARY: Readonly<Record<string, 'precision' | 'plain'>> = {
  current_date: 'plain',
  current_time: 'precision',
  current_timestamp: 'precision',
  localtime: 'precision',
  localtimestamp: 'precision',
  current_role: 'plain',
  current_user: 'plain',
  session_user: 'plain',
  system_user: 'plain',
  user: 'plain',
  current_catalog: 'plain',
  current_schema: 'plain',
};
export const isNullary = (word: string): boolean => Object.hasOwn(NULLARY, word);

/** Recognised, and refused by name. */
const REFUSED = `json json_array json_arrayagg json_exists json_objectagg json_query json_scalar json_serialize json_table
  json_value merge_action treat xmlconcat xmlelement xmlexists xmlforest xmlparse xmlpi xmlroot xmlserialize xmltable`;

const paren = (rule: SpecialRule): Special => ({ paren: true, rule });
const bare = (rule: SpecialRule): Special => ({ paren: false, rule });
/** `word(e, …)` */
const listCall =
  (word: string): SpecialRule =>
  (c, pos) => {
    c.next();
    return plainCall(
      word,
      c.parenList(() => c.rules.expr(c)),
      pos,
    );
  };

export const SPECIAL: ReadonlyMap<string, Special> = new Map<string, Special>([
  ['case', bare(caseExpr)],
  ['cast', bare(castExpr)],
  ['true', bare(literal((pos) => ({ kind: 'boolean', value: true, pos })))],
  ['false', bare(literal((pos) => ({ kind: 'boolean', value: false, pos })))],
  ['null', bare(literal((pos) => ({ kind: 'null', pos })))],
  ...Object.keys(NULLARY)
    .filter((word) => word !== 'current_schema')
    .map((word) => [word, bare(nullaryCall)] as const satisfies [string, Special]),
  ...['coalesce', 'greatest', 'least', 'grouping'].map(
    (w) => [w, paren(listCall(w))] as const satisfies [string, Special],
  ),
  ['nullif', paren(nullifCall)],
  ['extract', paren(extractCall)],
  ['overlay', paren(overlayCall)],
  ['position', paren(positionCall)],
  ['substring', paren(substringCall)],
  ['trim', paren(trimCall)],
  ['normalize', paren(normalizeCall)],
  [
    'unique',
    bare((c, pos) => {
      c.next();
      if (!c.isSymbol('(')) throw c.syntaxError();
      throw c.unsupported('UNIQUE predicate', pos);
    }),
  ],
  ...REFUSED.split(/\s+/).map(
    (word) =>
      [
        word,
        paren((c, pos) => {
          throw c.unsupported(word.toUpperCase(), pos);
        }),
      ] as const satisfies [string, Special],
  ),
]);

function literal(make: (pos: number) => Expr): SpecialRule {
  return (c, pos) => {
    c.next();
    return make(pos);
  };
}

/** CURRENT_DATE, CURRENT_TIMESTAMP(3), … */
export function nullaryCall(c: Cursor, pos: number): CallExpr {
  const word = c.next().text;
  if (NULLARY[word] !== 'precision' || !c.acceptSymbol('(')) return plainCall(word, [], pos);
  const at = c.pos;
  const precision = c.integer();
  c.expectSymbol(')');
  return plainCall(word, [{ kind: 'number', text: String(precision), pos: at }], pos);
}

function caseExpr(c: Cursor, pos: number): CaseExpr {
  c.expect('case');
  const operand = c.isWord('when') ? undefined : c.rules.expr(c);
  const branches: CaseBranch[] = [];
  do {
    const at = c.expect('when').pos;
    const when = c.rules.expr(c);
    c.expect('then');
    branches.push({ when, result: c.rules.expr(c), pos: at });
  } while (c.isWord('when'));
  const otherwise = c.accept('else') ? c.rules.expr(c) : undefined;
  c.expect('end');
  return { kind: 'case', operand, branches, otherwise, pos };
}

function castExpr(c: Cursor, pos: number): Expr {
  c.expect('cast');
  c.expectSymbol('(');
  const expr = c.rules.expr(c);
  c.expect('as');
  const type = parseType(c);
  c.expectSymbol(')');
  return { kind: 'cast', expr, type, pos };
}

function nullifCall(c: Cursor, pos: number): Expr {
  c.next();
  c.expectSymbol('(');
  const left = c.rules.expr(c);
  c.expectSymbol(',');
  const right = c.rules.expr(c);
  c.expectSymbol(')');
  return plainCall('nullif', [left, right], pos);
}

function extractCall(c: Cursor, pos: number): Expr {
  c.next();
  c.expectSymbol('(');
  const field = c.peek();
  const known = ['year', 'month', 'day', 'hour', 'minute', 'second'].includes(field.text);
  const keyword = c.keywordClass(field) !== undefined && !known;
  if (!['word', 'quoted', 'string'].includes(field.type) || keyword) throw c.syntaxError();
  c.next();
  c.expect('from');
  const source = c.rules.expr(c);
  c.expectSymbol(')');
  return plainCall('extract', [{ kind: 'string', value: field.text, pos: field.pos }, source], pos);
}

function overlayCall(c: Cursor, pos: number): Expr {
  c.next();
  c.expectSymbol('(');
  const args = [parseArgument(c)];
  if (c.accept('placing')) {
    args.push(c.rules.expr(c));
    c.expect('from');
    args.push(c.rules.expr(c));
    if (c.accept('for')) args.push(c.rules.expr(c));
  } else while (c.acceptSymbol(',')) args.push(parseArgument(c));
  c.expectSymbol(')');
  return plainCall('overlay', args, pos);
}

/** `POSITION(a IN b)` is `position(b, a)`. */
function positionCall(c: Cursor, pos: number, rules: SpecialRules): Expr {
  c.next();
  c.expectSymbol('(');
  const part = rules.bExpr(c);
  c.expect('in');
  const whole = rules.bExpr(c);
  c.expectSymbol(')');
  return plainCall('position', [whole, part], pos);
}

function substringCall(c: Cursor, pos: number): Expr {
  c.next();
  c.expectSymbol('(');
  const args = [parseArgument(c)];
  if (c.accept('similar')) {
    args.push(c.rules.expr(c));
    c.expect('escape');
    args.push(c.rules.expr(c));
  } else if (c.accept('from')) {
    args.push(c.rules.expr(c));
    if (c.accept('for')) args.push(c.rules.expr(c));
  } else if (c.accept('for')) {
    const length = c.rules.expr(c);
    if (c.accept('from')) args.push(c.rules.expr(c), length);
    // From the first character; the cast, as PostgreSQL makes it, keeps this from being `substring(text, pattern, escape)`.
    else args.push(...wholePrefix(length));
  } else while (c.acceptSymbol(',')) args.push(parseArgument(c));
  c.expectSymbol(')');
  return plainCall('substring', args, pos);
}

function wholePrefix(length: Expr): [Expr, Expr] {
  const { pos } = length;
  return [
    { kind: 'number', text: '1', pos },
    { kind: 'cast', expr: length, type: namedType('int4', pos), pos },
  ];
}

/** `TRIM(LEADING a FROM b)` is `ltrim(b, a)`. */
function trimCall(c: Cursor, pos: number): Expr {
  c.next();
  c.expectSymbol('(');
  const side = c.oneOf(['both', 'leading', 'trailing']) ?? 'both';
  const name = { both: 'btrim', leading: 'ltrim', trailing: 'rtrim' }[side];
  const list = () => c.list(() => c.rules.expr(c));
  let args: Expr[];
  if (c.accept('from')) args = list();
  else {
    args = list();
    if (args.length === 1 && c.accept('from')) args = [...list(), ...args];
  }
  c.expectSymbol(')');
  return plainCall(name, args, pos);
}

function normalizeCall(c: Cursor, pos: number): Expr {
  c.next();
  c.expectSymbol('(');
  const args = [c.rules.expr(c)];
  if (c.acceptSymbol(',')) {
    const at = c.pos;
    const form = c.oneOf(['nfc', 'nfd', 'nfkc', 'nfkd']);
    if (form === undefined) throw c.syntaxError();
    args.push({ kind: 'string', value: form.toUpperCase(), pos: at });
  }
  c.expectSymbol(')');
  return plainCall('normalize', args, pos);
}
