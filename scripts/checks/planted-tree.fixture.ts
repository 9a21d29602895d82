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
};

const RULES: readonly string[] = [
  `${PACKAGE}/layers.json`,
  'scripts/tidy-rules.json',
  'biome.json',
  'eslint.config.js',
  'knip.json',
  'tsconfig.json',
];

export class PlantedTree implements Disposable {
  readonly root: string = mkdtempSync(join(tmpdir(), 'planted-'));

  constructor(files: Files) {
    for (const path of RULES) cpSync(join(ROOT, path), join(this.root, path));
    symlinkSync(join(ROOT, 'node_modules'), join(this.root, 'node_modules'));
    for (const [path, text] of Object.entries({ ...CLEAN, ...files })) {
      mkdirSync(dirname(join(this.root, path)), { recursive: true });
      writeFileSync(join(this.root, path), text);
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true });
  }
}
