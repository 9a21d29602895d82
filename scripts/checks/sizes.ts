/** Lines of files and of functions, against the limits. A suite's callback (`describe`) counts as a file does. */
import ts from 'typescript';
import { lineOf, walk } from './source-tree.ts';
import type { Excess } from './tidy-exceptions.ts';

export interface SizeLimits {
  readonly fileLines: number;
  readonly functionLines: number;
}

function isSuite(node: ts.Node): boolean {
  const { parent } = node;
  if (!ts.isCallExpression(parent)) return false;
  const called = parent.expression.getText();
  return called === 'describe' || called === 'suite';
}

function nameOf(node: ts.SignatureDeclaration): string {
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  if (node.name !== undefined) return node.name.getText();
  const { parent } = node;
  if (
    ts.isVariableDeclaration(parent) ||
    ts.isPropertyDeclaration(parent) ||
    ts.isPropertyAssignment(parent)
  ) {
    return parent.name.getText();
  }
  if (!ts.isCallExpression(parent)) return 'a function without a name';
  const [first] = parent.arguments;
  const title = first !== undefined && ts.isStringLiteralLike(first) ? `'${first.text}', ` : '';
  return `${parent.expression.getText()}(${title}…)`;
}

export function measure(source: ts.SourceFile, limits: SizeLimits): Excess[] {
  const found: Excess[] = [];
  const path = source.fileName;
  const lines = source.text.trimEnd().split('\n').length;
  if (lines > limits.fileLines) {
    const message = `${lines} lines, over ${limits.fileLines}`;
    found.push({ finding: { path, line: 1, rule: 'file-lines', message }, figure: lines });
  }
  walk(source, (node) => {
    if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined || isSuite(node)) return;
    const line = lineOf(source, node);
    const figure = source.getLineAndCharacterOfPosition(node.end).line + 2 - line;
    if (figure <= limits.functionLines) return;
    const name = nameOf(node);
    const message = `${name} has ${figure} lines, over ${limits.functionLines}`;
    found.push({ finding: { path, line, rule: 'function-lines', message }, name, figure });
  });
  return found;
}
