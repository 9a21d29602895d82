/**
 * Overload resolution, as PostgreSQL documents it (operators 10.2, functions 10.3, common types 10.5): exact
 * matches first, then candidates reachable by implicit casts: those with most exact positions, then with most
 * preferred types, then by the category of the untyped literals. Pure; the planner wraps the arguments in the
 * casts that come back.
 */
import { SqlError } from '../base/error.ts';
import {
  arrayOf,
  type Category,
  listOf,
  type SqlType,
  sameType,
  TYPES,
  type TypeName,
  type,
  typeToString,
} from '../repr/types.ts';
import { isOperatorName, type Pattern, type ResultType } from './functions.ts';
import { canCastImplicitly } from './implicit-casts.ts';

/** What is common to functions, aggregates and table functions. */
export interface Candidate {
  readonly args: readonly Pattern[];
  readonly variadic?: Pattern;
  readonly returns?: ResultType;
}

export interface Resolved<T extends Candidate> {
  readonly def: T;
  /** For each argument the type it is to be cast to, or null where it has it already. */
  readonly casts: readonly (SqlType | null)[];
  /** Types of the arguments after the casts. */
  readonly argTypes: readonly SqlType[];
  /** `void` for a table function, whose columns say more. */
  readonly returns: SqlType;
}

/** A candidate with its patterns laid out for the number of arguments at hand. */
interface Fit<T extends Candidate> {
  readonly def: T;
  readonly patterns: readonly Pattern[];
  readonly types: readonly SqlType[];
  readonly elem: SqlType | null;
}

const TEXT = type('text');
const isUnknown = (t: SqlType): boolean => t.name === 'unknown';
const categoryOf = (t: SqlType): Category => TYPES[t.name].category;
const isPreferred = (t: SqlType): boolean => 'preferred' in TYPES[t.name];
const isPolymorphic = (p: Pattern): boolean => p.startsWith('any');

/** The type that a pattern without polymorphism names. */
export function patternType(p: Pattern): SqlType {
  if (p.endsWith('[]')) return arrayOf(type(p.slice(0, -2) as TypeName));
  return type(p as TypeName);
}

/** Thrown when nothing fits (42883) or several fit equally well (42725). Untyped literals have type `unknown`. */
export function resolveFunction<T extends Candidate>(
  name: string,
  candidates: readonly T[],
  argTypes: readonly SqlType[],
): Resolved<T> {
  const operator = isOperatorName(name);
  const exact = exactMatch(candidates, argTypes, operator);
  if (exact !== null) return finish(exact, argTypes);
  let fits = candidates.flatMap((c) => fitting(c, argTypes) ?? []);
  if (fits.length === 0) throw notFound(name, operator, argTypes);
  if (fits.length > 1) fits = mostBy(fits, (f) => exactPositions(f, argTypes));
  if (fits.length > 1) fits = mostBy(fits, (f) => preferredPositions(f, argTypes));
  if (fits.length > 1 && argTypes.some(isUnknown)) fits = byUnknowns(fits, argTypes);
  if (fits.length !== 1) throw notUnique(name, operator, argTypes);
  return finish(fits[0]!, argTypes);
}

/** Without a throw: whether the call resolves. */
export function tryResolve<T extends Candidate>(
  name: string,
  candidates: readonly T[],
  argTypes: readonly SqlType[],
): Resolved<T> | undefined {
  try {
    return resolveFunction(name, candidates, argTypes);
  } catch (e) {
    if (e instanceof SqlError) return undefined;
    throw e;
  }
}

function finish<T extends Candidate>(f: Fit<T>, given: readonly SqlType[]): Resolved<T> {
  const { returns } = f.def;
  return {
    def: f.def,
    casts: f.types.map((t, i) => (sameType(t, given[i]!) ? null : t)),
    argTypes: f.types.map((t, i) => (sameType(t, given[i]!) ? given[i]! : t)),
    returns:
      returns === undefined
        ? type('void')
        : typeof returns === 'function'
          ? returns(f.types)
          : resultOf(returns, f),
  };
}

function resultOf(p: Pattern, f: Fit<Candidate>): SqlType {
  switch (p) {
    case 'anyelement':
    case 'anynonarray':
    case 'anycompatible':
      return f.elem ?? TEXT;
    case 'anyarray':
    case 'anycompatiblearray':
      return arrayOf(f.elem ?? TEXT);
    case 'anylist':
    case 'anycompatiblelist':
      return listOf(f.elem ?? TEXT);
    case 'any':
      return f.types[0] ?? TEXT;
    default:
      return patternType(p);
  }
}

function patternsFor(c: Candidate, n: number): readonly Pattern[] | null {
  if (c.args.length === n) return c.args;
  if (c.variadic === undefined || n < c.args.length) return null;
  return [...c.args, ...new Array<Pattern>(n - c.args.length).fill(c.variadic)];
}

/** Where a signed and an unsigned integer meet: the narrowest type that holds every value of both. */
function integerOfBoth(a: SqlType, b: SqlType): SqlType | undefined {
  const [signed, unsigned] = UNSIGNED.includes(a.name) ? [b, a] : [a, b];
  if (!UNSIGNED.includes(unsigned.name) || !SIGNED.includes(signed.name)) return undefined;
  const bytes = Math.max(TYPES[signed.name].len, 2 * TYPES[unsigned.name].len);
  return type(SIGNED.find((name) => TYPES[name].len === bytes) ?? 'numeric');
}
const SIGNED: readonly TypeName[] = ['int2', 'int4', 'int8'];
const UNSIGNED: readonly TypeName[] = ['uint2', 'uint4', 'uint8'];

/**
 * All types as given; for a binary operator an untyped literal takes the type of the other side, and integers of
 * which one is unsigned meet in one that holds both.
 */
function exactMatch<T extends Candidate>(
  candidates: readonly T[],
  given: readonly SqlType[],
  operator: boolean,
): Fit<T> | null {
  let types = given;
  if (operator && given.length === 2) {
    const [l, r] = given as [SqlType, SqlType];
    if (isUnknown(l) !== isUnknown(r)) types = isUnknown(l) ? [r, r] : [l, l];
    const wide = integerOfBoth(l, r);
    if (wide !== undefined) types = [wide, wide];
  }
  for (const def of candidates) {
    if (def.args.length !== types.length || def.args.some(isPolymorphic)) continue;
    if (def.args.every((p, i) => sameType(patternType(p), types[i]!)))
      return { def, patterns: def.args, types: def.args.map(patternType), elem: null };
  }
  return null;
}

/** The candidate with its types bound, or null where an argument cannot get there implicitly. */
function fitting<T extends Candidate>(def: T, given: readonly SqlType[]): Fit<T> | null {
  const patterns = patternsFor(def, given.length);
  if (patterns === null) return null;
  const bound = bindElement(patterns, given);
  if (bound === false) return null;
  const types: SqlType[] = [];
  // Numbers and instants become an mz_timestamp only beside one: `1 + interval '1 s'` is no logical time.
  const logical = given.length === 1 || given.some((t) => t.name === 'mz_timestamp');
  for (let i = 0; i < patterns.length; i++) {
    const t = argumentType(patterns[i]!, given[i]!, bound);
    if (t === null) return null;
    if (!isUnknown(given[i]!) && !sameType(t, given[i]!) && !canCastImplicitly(given[i]!, t)) return null;
    if (t.name === 'mz_timestamp' && !logical) return null;
    types.push(t);
  }
  return { def, patterns, types, elem: bound };
}

function argumentType(p: Pattern, given: SqlType, elem: SqlType | null): SqlType | null {
  switch (p) {
    case 'any':
      return isUnknown(given) ? TEXT : given;
    case 'anyelement':
    case 'anycompatible':
      return elem;
    case 'anynonarray':
      return elem === null || elem.name === 'array' || elem.name === 'list' ? null : elem;
    case 'anyarray':
    case 'anycompatiblearray':
      return elem === null ? null : arrayOf(elem);
    case 'anylist':
    case 'anycompatiblelist':
      return elem === null ? null : listOf(elem);
    default:
      return patternType(p);
  }
}

/** What the polymorphic arguments agree on; null when there is none to ask, false when they do not agree. */
function bindElement(patterns: readonly Pattern[], given: readonly SqlType[]): SqlType | null | false {
  const exact: SqlType[] = [];
  const compatible: SqlType[] = [];
  let asked = false;
  let loose = false;
  for (let i = 0; i < patterns.length; i++) {
    const p = patterns[i]!;
    const t = given[i]!;
    if (p === 'any' || !isPolymorphic(p)) continue;
    asked = true;
    const into = p.startsWith('anycompatible') ? compatible : exact;
    if (into === compatible) loose = true;
    if (isUnknown(t)) continue;
    if (p.endsWith('array') && p !== 'anynonarray') {
      if (t.name !== 'array') return false;
      into.push(t.elem!);
    } else if (p.endsWith('list')) {
      if (t.name !== 'list') return false;
      into.push(t.elem!);
    } else into.push(t);
  }
  if (!asked) return null;
  if (exact.length > 0) return exact.every((t) => sameType(t, exact[0]!)) ? exact[0]! : false;
  if (compatible.length > 0) return commonType(compatible) ?? false;
  // Nothing but untyped literals: PostgreSQL resolves the "compatible" family to text and refuses the other.
  return loose ? TEXT : false;
}

const exactPositions = (f: Fit<Candidate>, given: readonly SqlType[]): number =>
  given.filter((t, i) => !isPolymorphic(f.patterns[i]!) && sameType(t, f.types[i]!)).length;

const preferredPositions = (f: Fit<Candidate>, given: readonly SqlType[]): number =>
  given.filter((t, i) => {
    if (isPolymorphic(f.patterns[i]!) || isUnknown(t)) return false;
    const to = f.types[i]!;
    return sameType(t, to) || (categoryOf(t) === categoryOf(to) && isPreferred(to));
  }).length;

function mostBy<T>(rows: readonly T[], score: (row: T) => number): T[] {
  let best = -1;
  let out: T[] = [];
  for (const r of rows) {
    const s = score(r);
    if (s > best) {
      best = s;
      out = [r];
    } else if (s === best) out.push(r);
  }
  return out;
}

function byUnknowns<T extends Candidate>(fits: Fit<T>[], given: readonly SqlType[]): Fit<T>[] {
  const chosen = byCategory(fits, given);
  if (chosen.length === 1) return chosen;
  // If the typed arguments are all of one type, take the untyped ones for that type too.
  const known = given.filter((t) => !isUnknown(t));
  if (known.length === 0 || !known.every((t) => sameType(t, known[0]!))) return chosen;
  const accepting = chosen.filter((f) =>
    f.types.every((t) => sameType(t, known[0]!) || canCastImplicitly(known[0]!, t)),
  );
  return accepting.length === 1 ? accepting : chosen;
}

/** A string if any candidate takes one there, else the category on which all agree; a preferred type of it if any. */
function byCategory<T extends Candidate>(fits: Fit<T>[], given: readonly SqlType[]): Fit<T>[] {
  const at = new Map<number, { category: Category; preferred: boolean }>();
  for (let i = 0; i < given.length; i++) {
    if (!isUnknown(given[i]!)) continue;
    const types = fits.map((f) => f.types[i]!);
    const category = types.some((t) => categoryOf(t) === 'S') ? 'S' : categoryOf(types[0]!);
    if (category !== 'S' && !types.every((t) => categoryOf(t) === category)) return fits;
    at.set(i, { category, preferred: types.some((t) => categoryOf(t) === category && isPreferred(t)) });
  }
  const left = fits.filter((f) =>
    [...at].every(([i, { category, preferred }]) => {
      const t = f.types[i]!;
      return categoryOf(t) === category && (!preferred || isPreferred(t));
    }),
  );
  return left.length > 0 ? left : fits;
}

/**
 * The type that UNION, CASE, COALESCE, VALUES and arrays give to values of several types: undefined when their
 * categories differ. Untyped literals follow the others, and are text among themselves.
 */
export function commonType(types: readonly SqlType[]): SqlType | undefined {
  const known = types.filter((t) => !isUnknown(t));
  if (known.length === 0) return TEXT;
  let out = known[0]!;
  for (const t of known.slice(1)) {
    if (sameType(t, out)) {
      // Modifiers survive only where all agree.
      if (t.typmod !== out.typmod) out = withoutModifier(out);
      continue;
    }
    const wide = integerOfBoth(t, out);
    if (wide !== undefined) {
      out = wide;
      continue;
    }
    if (categoryOf(t) !== categoryOf(out) && !(canCastImplicitly(t, out) || canCastImplicitly(out, t)))
      return undefined;
    if (!isPreferred(out) && canCastImplicitly(out, t) && !canCastImplicitly(t, out)) out = t;
  }
  return known.every((t) => sameType(t, out) || canCastImplicitly(t, out)) ? out : undefined;
}

const withoutModifier = (t: SqlType): SqlType => (t.elem === undefined ? type(t.name) : { ...t });

function signature(name: string, operator: boolean, types: readonly SqlType[]): string {
  const names = types.map((t) => typeToString(t.typmod === undefined ? t : withoutModifier(t)));
  if (!operator) return `${name}(${names.join(', ')})`;
  return names.length === 1 ? `${name} ${names[0]}` : `${names[0]} ${name} ${names[1]}`;
}

function notFound(name: string, operator: boolean, types: readonly SqlType[]): SqlError {
  const what = operator ? 'operator' : 'function';
  const text = signature(name, operator, types);
  return new SqlError(
    'undefined_function',
    operator ? `operator does not exist: ${text}` : `function ${text} does not exist`,
    {
      hint: `No ${what} matches the given name and argument types. You might need to add explicit type casts.`,
    },
  );
}

function notUnique(name: string, operator: boolean, types: readonly SqlType[]): SqlError {
  const what = operator ? 'operator' : 'function';
  const text = signature(name, operator, types);
  return new SqlError(
    'ambiguous_function',
    operator ? `operator is not unique: ${text}` : `function ${text} is not unique`,
    { hint: `Could not choose a best candidate ${what}. You might need to add explicit type casts.` },
  );
}
