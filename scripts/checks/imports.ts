/** What a file imports: statements, re-exports, `import()` of values and of types alike. */
import { posix } from 'node:path';
import ts from 'typescript';
import { lineOf, walk } from './source-tree.ts';

export interface Import {
  readonly line: number;
  readonly specifier: string;
  /** The path from the root that a relative specifier names. */
  readonly target: string | undefined;
}

function specifierOf(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    return node.arguments[0];
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return node.argument.literal;
  return undefined;
}

export function importsOf(source: ts.SourceFile): Import[] {
  const found: Import[] = [];
  walk(source, (node) => {
    const literal = specifierOf(node);
    if (literal === undefined || !ts.isStringLiteralLike(literal)) return;
    const specifier = literal.text;
    const target = specifier.startsWith('.')
      ? posix.join(posix.dirname(source.fileName), specifier)
      : undefined;
    found.push({ line: lineOf(source, node), specifier, target });
  });
  return found;
}
