/** Choices, names and strings for random trees: what `random-ast.ts` draws from. */
import type { Random } from '../base/clock.ts';
import type { Expr, Ident, ObjectName } from './ast.ts';

const pos = 0;

/** Ordinary names, keywords of each class, our own words, and what needs quotes. */
const NAMES =
  `a b c t x1 _u value of at list map name select from left between int interval time coalesce row operator
  rollup cube partition rows range unbounded creation cluster replica subscribe envelope within filter over and user
  current_date isnull set as order exists array unique values`.split(/\s+/);
const ODD_NAMES = ['Mixed', 'with space', 'q"uote', 'é', '1a', 'a.b', 'ΩΔ😀', 'a$b'];
const STRINGS = ['', 'a', "it's", 'back\\slash', 'two\nlines', '$$', '--', '/*', 'é😀', '%_'];

export const FUNCTIONS: readonly string[] =
  `f count sum coalesce greatest nullif extract position substring overlay btrim timezone current_date
  current_timestamp current_schema left overlaps grouping list map rollup operator interval now`.split(/\s+/);
export const NUMBERS: readonly string[] = [
  '0',
  '1',
  '42',
  '1.5',
  '0.50',
  '1e5',
  '2e-3',
  '9223372036854775808',
  '-1',
  '-2.5',
  '-1e5',
];
export const INFIX: readonly string[] =
  `= <> < > <= >= + - * / % ^ || -> ->> #> @> <@ ? ?| ~ ~* !~ && << & | # <-> ~~ !~~* *= <->`.split(' ');
export const PREFIX: readonly string[] = ['-', '+', '~', '@', '|/', '!!'];

/** Kinds without parts. */
export const LEAVES: readonly Expr['kind'][] = ['null', 'boolean', 'number', 'string', 'column', 'parameter'];

/** Every kind that may stand alone. A kind left out shows as undrawn. */
export const EXPRS: readonly Expr['kind'][] = [
  ...LEAVES,
  ...(`bitString default wildcard field fieldStar subscript unary binary and or not isNull isBoolean isDistinct between
  like inList inQuery quantifiedArray quantifiedQuery exists subquery arrayQuery array list map row case cast collate
  call`.split(/\s+/) as Expr['kind'][]),
];

export class RandomChoice {
  readonly #random: Random;
  /** Nodes still to be spent: when none are left only leaves are made. */
  protected budget = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  below(n: number): number {
    return Math.floor(this.#random.next() * n);
  }

  chance(p: number): boolean {
    return this.#random.next() < p;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  many<T>(least: number, most: number, make: () => T): T[] {
    const n = this.budget > 0 ? least + this.below(most - least + 1) : least;
    return Array.from({ length: n }, make);
  }

  maybe<T>(make: () => T): T | undefined {
    return this.budget > 0 && this.chance(0.3) ? make() : undefined;
  }

  ident(): Ident {
    return { name: this.chance(0.9) ? this.pick(NAMES) : this.pick(ODD_NAMES), pos };
  }

  idents(least: number): Ident[] {
    return this.many(least, 3, () => this.ident());
  }

  objectName(): ObjectName {
    const parts = 1 + this.below(this.chance(0.2) ? 4 : 2);
    return { parts: Array.from({ length: parts }, () => this.ident()), pos };
  }

  string(): string {
    return this.pick(STRINGS);
  }
}
