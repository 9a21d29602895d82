/**
 * The files of the tree and their syntax, as the checks read them. A check takes a root folder and gives back what
 * it found, so that a test can point it at a planted tree.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import ts from 'typescript';

/** What a check found, at a place a terminal can open. */
export interface Finding {
  readonly path: string;
  readonly line: number;
  readonly rule: string;
  readonly message: string;
}

const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(['node_modules', 'dist', '.git', '.cache', 'data']);

/** Every file below `folder` of `root` that `wanted` takes, as paths from `root` with `/`, in order. */
export function listFiles(root: string, folder: string, wanted: (path: string) => boolean): string[] {
  const found: string[] = [];
  const pending = [join(root, folder)];
  for (let dir = pending.pop(); dir !== undefined; dir = pending.pop()) {
    for (const entry of readdirSync(dir, { withFileTypes: true })) {
      const path = join(dir, entry.name);
      if (entry.isDirectory()) {
        if (!SKIPPED_FOLDERS.has(entry.name)) pending.push(path);
      } else if (entry.isFile()) {
        const shown = relative(root, path).split(sep).join('/');
        if (wanted(shown)) found.push(shown);
      }
    }
  }
  return found.sort();
}

export function readText(root: string, path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

export function parseFile(root: string, path: string): ts.SourceFile {
  return ts.createSourceFile(path, readText(root, path), ts.ScriptTarget.Latest, true);
}

/** The line, from 1, at which `node` begins, its comments not counted. */
export function lineOf(source: ts.SourceFile, node: ts.Node): number {
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
}

export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

/** `*.test.ts` matches a file's name, a path with `/` matches the end of a path. */
export function matches(path: string, pattern: string): boolean {
  if (pattern.startsWith('*')) return path.endsWith(pattern.slice(1));
  return path === pattern || path.endsWith(`/${pattern}`);
}

/** Prints findings as `path:line: message (rule)` and sets the exit code. */
export function report(check: string, findings: readonly Finding[]): void {
  for (const { path, line, rule, message } of findings) console.log(`${path}:${line}: ${message} (${rule})`);
  if (findings.length > 0) {
    console.log(`${check}: ${findings.length} found`);
    process.exitCode = 1;
  }
}
