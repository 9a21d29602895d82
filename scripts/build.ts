/**
 * Builds the package for publishing: what its entry points reach, as JavaScript and types in dist/, and the documents
 * that ship with it from the root, so that each is kept once.
 */
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from './checks/pool.ts';

const ROOT = join(import.meta.dirname, '..');
const PACKAGE = join(ROOT, 'packages/tidemark');
const DOCUMENTS: readonly string[] = ['README.md', 'LICENSE', 'CHANGELOG.md'];

rmSync(join(PACKAGE, 'dist'), { recursive: true, force: true });
const { ok, output } = await runCommand(['tsc', '-p', 'tsconfig.build.json'], PACKAGE);
if (!ok) {
  console.log(output);
  process.exitCode = 1;
} else for (const name of DOCUMENTS) copyFileSync(join(ROOT, name), join(PACKAGE, name));
