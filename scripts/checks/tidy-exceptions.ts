/**
 * Exceptions to the size rules: each names its figure and its reason, and only shrinks. One that is no longer needed,
 * or whose figure could be lower, fails the check.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Finding, readText } from './source-tree.ts';

interface Exception {
  readonly path: string;
  readonly rule: string;
  /** The function, for the rule of function lines. */
  readonly name?: string;
  readonly limit: number;
  readonly reason: string;
}

/** A figure over the rule's limit. */
export interface Excess {
  readonly finding: Finding;
  readonly name?: string;
  readonly figure: number;
}

const EXCEPTIONS_FILE = 'scripts/tidy-exceptions.json';

function readExceptions(root: string): readonly Exception[] {
  if (!existsSync(join(root, EXCEPTIONS_FILE))) return [];
  return JSON.parse(readText(root, EXCEPTIONS_FILE)) as readonly Exception[];
}

function judge(exception: Exception, excesses: readonly Excess[]): string | undefined {
  const { path, rule, name, limit, reason } = exception;
  const what = name === undefined ? path : `${name} of ${path}`;
  if (reason.length < 10) return `the exception for ${what} gives no reason`;
  const found = excesses.find((e) => e.finding.path === path && e.finding.rule === rule && e.name === name);
  if (found === undefined) return `${what} needs no exception to ${rule} any more: remove it`;
  if (found.figure < limit) return `${what} has ${found.figure} now: lower its limit of ${limit}`;
  return undefined;
}

/** What remains of `excesses` once the exceptions are taken off, and what is wrong with the exceptions. */
export function applyExceptions(root: string, excesses: readonly Excess[]): Finding[] {
  const exceptions = readExceptions(root);
  const remaining = excesses.filter(({ finding, name, figure }) => {
    const allowed = exceptions.find(
      (e) => e.path === finding.path && e.rule === finding.rule && e.name === name,
    );
    return allowed === undefined || figure > allowed.limit;
  });
  const findings = remaining.map((excess) => excess.finding);
  for (const exception of exceptions) {
    const message = judge(exception, excesses);
    if (message !== undefined) findings.push({ path: EXCEPTIONS_FILE, line: 1, rule: 'exceptions', message });
  }
  return findings;
}
