/** The statements under test/data, trees without positions, and seeded randomness, for the tests of the SQL layer. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Random } from '../../packages/tidemark/src/base/clock.ts';

const DATA = new URL('../data/', import.meta.url);

export interface CorpusEntry {
  /** `sql/postgres.sql:12` */
  readonly where: string;
  readonly text: string;
}

/** The statements of a file: each ends with a semicolon at the end of a line; `--` lines before the first are its head. */
export function readCorpus(file: string): CorpusEntry[] {
  const text = readFileSync(new URL(file, DATA), 'utf8');
  const entries: CorpusEntry[] = [];
  let line = 1;
  for (const piece of text.split(/;[ \t]*\n/)) {
    const body = piece.replace(/^(?:\s|--[^\n]*\n)*/, '').trimEnd();
    const skipped = piece.length - piece.trimStart().length;
    if (body !== '')
      entries.push({ where: `${file}:${line + piece.slice(0, skipped).split('\n').length - 1}`, text: body });
    line += piece.split('\n').length;
  }
  return entries;
}

/** What psql 15 sends for its backslash commands: one file a command. */
export function readPsqlCorpus(): CorpusEntry[] {
  const files = readdirSync(new URL('psql/', DATA)).filter((name) => name.endsWith('.sql'));
  return files.sort().flatMap((name) => readCorpus(`psql/${name}`));
}

/** The tree without its positions, for comparisons. */
export function withoutPositions(tree: unknown): unknown {
  if (Array.isArray(tree)) return tree.map(withoutPositions);
  if (typeof tree !== 'object' || tree === null) return tree;
  const kept = Object.entries(tree).filter(([key]) => key !== 'pos');
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutPositions(value)]));
}

export const SEED: number = Number(process.env['SEED'] ?? 1);
export const runs = (standard: number): number => Number(process.env['RUNS'] ?? standard);
export const replay = (seed: number): string => `replay with SEED=${seed} RUNS=1`;

/** xorshift32: the same numbers for the same seed, everywhere. */
export function seededRandom(seed: number): Random {
  let state = Math.imul(seed, 0x9e3779b1) | 0 || 1;
  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
  return { next, bytes: (n) => Uint8Array.from({ length: n }, () => next() * 256) };
}
