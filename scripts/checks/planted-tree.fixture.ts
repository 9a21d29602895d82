/** A small tree in a temporary folder that obeys every rule, for tests to plant a violation in. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PACKAGE } from './layer-rules.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Path from the root to text. */
export type Files = Readonly<Record<string, string>>;

export function json(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

const CLEAN: Files = {
  [`${PACKAGE}/src/base/one.ts`]: 'export const one = 1;\n',
  [`${PACKAGE}/src/base/README.md`]: '# base\n\n| file |\n|---|\n| one.ts |\n',
  [`${PACKAGE}/src/index.ts`]: "export { one } from './base/one.ts';\n",
  [`${PACKAGE}/package.json`]: json({ name: 'planted', type: 'module', exports: './src/index.ts' }),
  'package.json': json({ name: 'planted-root', private: true, type: 'module' }),
  'test/README.md': '# test\n',
  'bench/README.md': '# bench\n',
  'demo/README.md': '# demo\n',
};

const RULES: readonly string[] = [
  `${PACKAGE}/layers.json`,
  'scripts/tidy-rules.json',
  'biome.json',
  'eslint.config.js',
  'knip.json',
  'tsconfig.json',
];

/** Calls `work` with the root of a tree that has `files` planted, and removes it. */
export async function withPlanted<R>(files: Files, work: (root: string) => R | Promise<R>): Promise<R> {
  const root = mkdtempSync(join(tmpdir(), 'planted-'));
  try {
    for (const path of RULES) cpSync(join(ROOT, path), join(root, path));
    symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
    for (const [path, text] of Object.entries({ ...CLEAN, ...files })) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    return await work(root);
  } finally {
    rmSync(root, { recursive: true });
  }
}
