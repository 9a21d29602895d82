/** Statements made from statements: tokens deleted, doubled, swapped, taken from elsewhere. For tests. */
import type { Random } from '../base/clock.ts';
import { Lexer } from './lexer.ts';

/** The tokens of a text, as written. */
export function tokenTexts(text: string): string[] {
  const lexer = new Lexer(text);
  const texts: string[] = [];
  for (let token = lexer.next(); token.type !== 'end'; token = lexer.next()) {
    texts.push(text.slice(token.start, token.end));
  }
  return texts;
}

/** One of the statements with one or two tokens changed. */
export function mutate(statements: readonly (readonly string[])[], random: Random): string {
  const below = (n: number) => Math.floor(random.next() * n);
  const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T;
  const tokens = [...pick(statements)];
  const elsewhere = () => pick(pick(statements)) ?? '';
  for (let edits = 1 + below(2); edits > 0; edits--) {
    const at = below(tokens.length + 1);
    switch (below(4)) {
      case 0:
        tokens.splice(at, 1 + below(2));
        break;
      case 1:
        tokens.splice(at, 0, elsewhere());
        break;
      case 2:
        tokens.splice(at, 1, elsewhere());
        break;
      default: {
        const other = below(tokens.length + 1);
        const moved = tokens[at] ?? '';
        tokens[at] = tokens[other] ?? '';
        tokens[other] = moved;
      }
    }
  }
  return tokens.join(' ');
}
