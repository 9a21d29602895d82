/** What the words of the tree must hold to: none of the listed words, and no pointer to a file that is not there. */
import { existsSync } from 'node:fs';
import { basename, dirname, join, matchesGlob } from 'node:path';
import type { Finding } from './source-tree.ts';

export interface WordRule {
  readonly match: string;
  readonly message: string;
}

export function checkWords(path: string, text: string, rule: string, words: readonly WordRule[]): Finding[] {
  const findings: Finding[] = [];
  const tests = words.map(({ match, message }) => ({ regExp: new RegExp(match), message }));
  for (const [i, line] of text.split('\n').entries()) {
    for (const { regExp, message } of tests) {
      const found = regExp.exec(line);
      if (found !== null) {
        findings.push({ path, line: i + 1, rule, message: `'${found[0].trim()}': ${message}` });
      }
    }
  }
  return findings;
}

const LINK = /\]\(([^)#\s]+)(#[^)]*)?\)/g;
const DOCUMENT = /(?<![\w/.*-])[A-Za-z][\w-]*\.md\b/g;

/** Links of a Markdown file, and documents that any file names, lead somewhere. */
export function checkPointers(
  root: string,
  path: string,
  text: string,
  documents: ReadonlySet<string>,
): Finding[] {
  const findings: Finding[] = [];
  const add = (line: number, message: string): void => {
    findings.push({ path, line, rule: 'pointers', message });
  };
  for (const [i, line] of text.split('\n').entries()) {
    if (path.endsWith('.md')) {
      for (const [, target = ''] of line.matchAll(LINK)) {
        if (/^[a-z]+:/.test(target)) continue;
        if (!existsSync(join(root, dirname(path), target))) add(i + 1, `the link ${target} leads nowhere`);
      }
    }
    for (const [name] of line.matchAll(DOCUMENT)) {
      if (!documents.has(name)) add(i + 1, `no document is called ${name}`);
    }
  }
  return findings;
}

/** The README that speaks for a file: the nearest one above it, not above its module's folder. */
function readmeOf(path: string, readmes: ReadonlyMap<string, string>): string | undefined {
  for (let folder = dirname(path); folder.includes('/src/'); folder = dirname(folder)) {
    if (readmes.has(`${folder}/README.md`)) return `${folder}/README.md`;
  }
  return undefined;
}

/** By its name, by the folder it stands in (`rules/`), or by a pattern (`lower*.ts`). */
function isNamed(path: string, readme: string, text: string): boolean {
  const inside = path.slice(dirname(readme).length + 1);
  const folders = dirname(inside) === '.' ? [] : [`${dirname(inside)}/`, `${basename(dirname(inside))}/`];
  // `a-b.ts` does not name `b.ts`, which may stand further down.
  const named = [basename(path), ...folders].some((name) =>
    text
      .split(name)
      .slice(0, -1)
      .some((before) => !/[\w.-]$/.test(before)),
  );
  return named || [...text.matchAll(NAMED_PATTERN)].some(([, pattern = '']) => matchesGlob(inside, pattern));
}

const NAMED_PATTERN = /`([\w./-]*\*[\w./*-]*\.ts)`/g;

const NAMED_FILE = /`((?:[\w-]+\/)*[\w-]+(?:\.\w+)*\.ts)`/g;

/** Each module's folder is told by a README that names its files, and no file that is not there. */
export function checkReadmes(
  paths: readonly string[],
  isTest: (path: string) => boolean,
  readmes: ReadonlyMap<string, string>,
): Finding[] {
  const findings: Finding[] = [];
  const untold = new Set<string>();
  for (const path of paths) {
    if (isTest(path) || dirname(path).endsWith('/src')) continue;
    const readme = readmeOf(path, readmes);
    if (readme === undefined) untold.add(path.replace(/(\/src\/[^/]+)\/.*/, '$1'));
    else if (!isNamed(path, readme, readmes.get(readme) ?? '')) {
      findings.push({ path: readme, line: 1, rule: 'readme', message: `does not name ${path}` });
    }
  }
  for (const folder of untold) {
    findings.push({ path: `${folder}/README.md`, line: 1, rule: 'readme', message: 'is missing' });
  }
  const names = new Set(paths.map((path) => basename(path)));
  for (const [readme, text] of readmes) {
    for (const [, name = ''] of text.matchAll(NAMED_FILE)) {
      if (names.has(basename(name))) continue;
      findings.push({ path: readme, line: 1, rule: 'readme', message: `names ${name}, which is not there` });
    }
  }
  return findings;
}
