/**
 * The tidy check: sizes of files and functions, words that must not stand in the tree, skipped tests, pointers that
 * lead nowhere, and folders without a README. What a linter knows (any, enums, default exports, file names) is
 * biome's.
 */
import { basename } from 'node:path';
import { LayerRules, PACKAGE } from './checks/layer-rules.ts';
import { checkPointers, checkReadmes, checkWords, type WordRule } from './checks/prose.ts';
import { measure, type SizeLimits } from './checks/sizes.ts';
import { type Finding, listFiles, matches, parseFile, readText, report } from './checks/source-tree.ts';
import { applyExceptions } from './checks/tidy-exceptions.ts';

interface TidyRules extends SizeLimits {
  readonly prose: readonly string[];
  readonly copies: readonly string[];
  readonly words: readonly WordRule[];
  readonly skips: WordRule;
}

export function checkTidy(root: string): Finding[] {
  const rules = JSON.parse(readText(root, 'scripts/tidy-rules.json')) as TidyRules;
  const layers = new LayerRules(root);
  const texts = listFiles(
    root,
    '.',
    (path) => rules.prose.some((pattern) => matches(path, pattern)) && !rules.copies.includes(path),
  );
  const sources = texts.filter((path) => path.endsWith('.ts'));
  const documents = new Set(texts.filter((path) => path.endsWith('.md')).map((path) => basename(path)));
  const findings = applyExceptions(
    root,
    sources.flatMap((path) => measure(parseFile(root, path), rules)),
  );
  const readmes = new Map<string, string>();
  for (const path of texts) {
    const text = readText(root, path);
    if (path.startsWith(`${PACKAGE}/src/`) && basename(path) === 'README.md') readmes.set(path, text);
    findings.push(...checkWords(path, text, 'words', rules.words));
    if (path.endsWith('.ts')) findings.push(...checkWords(path, text, 'skips', [rules.skips]));
    findings.push(...checkPointers(root, path, text, documents));
  }
  const own = sources.filter((path) => path.startsWith(`${PACKAGE}/src/`));
  return [...findings, ...checkReadmes(own, (path) => layers.isTest(path), readmes)];
}

if (process.argv[1] === import.meta.filename) report('tidy', checkTidy(process.cwd()));
