/**
 * The layer check: a module imports only what `layers.json` lets it, nothing imports in a circle (types included),
 * what ships imports no test, and only the outermost modules use node or its globals.
 *
 * Names are resolved by a checker without any library, so that a parameter called `process` is told from node's.
 * It cannot see: a global reached through a computed name, or a package that brings node along; the packages a
 * module may import are therefore listed too.
 */
import { join } from 'node:path';
import ts from 'typescript';
import { type Edge, findCycles } from './checks/cycles.ts';
import { type Import, importsOf } from './checks/imports.ts';
import { isNodeModule, LayerRules, PACKAGE, packageOf } from './checks/layer-rules.ts';
import { checkTable } from './checks/layer-table.ts';
import { type Finding, lineOf, listFiles, parseFile, report, walk } from './checks/source-tree.ts';

const FOLDERS: readonly string[] = [`${PACKAGE}/src`, 'test', 'scripts', 'bench', 'demo'];

function checkImport(rules: LayerRules, path: string, found: Import): string | undefined {
  const from = rules.moduleOf(path);
  if (from === undefined || rules.isTest(path)) return undefined;
  if (found.target === undefined) {
    if (isNodeModule(found.specifier)) {
      return rules.mayUseNode(path) ? undefined : `${from} may not import ${found.specifier}`;
    }
    const name = packageOf(found.specifier);
    return rules.mayUsePackage(from, name) ? undefined : `${from} may not import the package ${name}`;
  }
  const to = rules.moduleOf(found.target);
  if (to === undefined) return `${from} may not import ${found.target}, which does not ship`;
  if (!rules.mayImport(from, to)) return `${from} may not import ${to}: ${found.specifier}`;
  if (rules.isTest(found.target)) return `what ships may not import the test file ${found.specifier}`;
  return undefined;
}

/** The forbidden global that `node` is a use of, by its name in `layers.json`. */
function globalName(node: ts.Identifier): string {
  const { parent, text } = node;
  if (text === 'Date') {
    const bare = ts.isNewExpression(parent) && (parent.arguments?.length ?? 0) === 0;
    if (bare || (ts.isCallExpression(parent) && parent.expression === node)) return 'new Date()';
  }
  if (ts.isPropertyAccessExpression(parent) && parent.expression === node) {
    const member = `${text}.${parent.name.text}`;
    if (member === 'Date.now' || member === 'Math.random') return member;
  }
  return text;
}

/** Names that declare something, or stand for a member or a key, rather than for a variable's value. */
function isMemberName(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isShorthandPropertyAssignment(parent)) return false;
  if (ts.isQualifiedName(parent)) return parent.right === node;
  if (ts.isBindingElement(parent) && parent.propertyName === node) return true;
  return 'name' in parent && parent.name === node;
}

/** Files of the package that may not touch node, under a checker that knows no global name. */
function checkGlobals(root: string, rules: LayerRules, paths: readonly string[]): Finding[] {
  const pure = paths.filter((path) => !rules.mayUseNode(path));
  const options: ts.CompilerOptions = {
    noLib: true,
    noResolve: true,
    types: [],
    allowImportingTsExtensions: true,
  };
  const program = ts.createProgram(
    pure.map((path) => join(root, path)),
    { ...options, target: ts.ScriptTarget.Latest },
  );
  const checker = program.getTypeChecker();
  const findings: Finding[] = [];
  for (const path of pure) {
    const source = program.getSourceFile(join(root, path));
    if (source === undefined) throw new Error(`${path} was not read`);
    walk(source, (node) => {
      if (!ts.isIdentifier(node)) return;
      const name = globalName(node);
      const advice = rules.globals.get(name);
      if (advice === undefined || isMemberName(node) || isDeclared(checker, node)) return;
      const message = `${rules.moduleOf(path)} may not use ${name}: ${advice}`;
      findings.push({ path, line: lineOf(source, node), rule: 'globals', message });
    });
  }
  return findings;
}

function isDeclared(checker: ts.TypeChecker, node: ts.Identifier): boolean {
  const symbol = ts.isShorthandPropertyAssignment(node.parent)
    ? checker.getShorthandAssignmentValueSymbol(node.parent)
    : checker.getSymbolAtLocation(node);
  return (symbol?.declarations?.length ?? 0) > 0;
}

function checkCycles(graph: ReadonlyMap<string, readonly Edge[]>): Finding[] {
  return findCycles(graph).map((cycle) => {
    const lines = cycle.map((path, i) => {
      const next = cycle[(i + 1) % cycle.length];
      return graph.get(path)?.find((edge) => edge.to === next)?.line ?? 1;
    });
    const way = cycle.map((path, i) => `${path}:${lines[i]}`).join(' imports ');
    const message = `import cycle: ${way} imports ${cycle[0]}`;
    return { path: cycle[0] ?? '', line: lines[0] ?? 1, rule: 'cycles', message };
  });
}

/** What layers.json and the package's manifest say that the tree does not bear out. */
function checkRules(
  root: string,
  rules: LayerRules,
  paths: readonly string[],
  used: ReadonlySet<string>,
): Finding[] {
  const modules = new Set(paths.map((path) => rules.moduleOf(path)).filter((module) => module !== undefined));
  const at = (path: string, message: string): Finding => ({ path, line: 1, rule: 'layers', message });
  return [
    ...[...modules]
      .filter((module) => !rules.isListed(module))
      .map((module) => at(`${PACKAGE}/layers.json`, `${module} stands in src and not here`)),
    ...rules.idle(paths, used).map((message) => at(`${PACKAGE}/layers.json`, message)),
    ...rules
      .idleDependencies(root)
      .map((name) =>
        at(`${PACKAGE}/package.json`, `no module may import ${name}: it would ship for nothing`),
      ),
  ];
}

export function checkLayers(root: string): Finding[] {
  const rules = new LayerRules(root);
  const paths = FOLDERS.flatMap((folder) => listFiles(root, folder, (path) => path.endsWith('.ts')));
  const known = new Set(paths);
  const findings: Finding[] = [];
  const graph = new Map<string, Edge[]>();
  const used = new Set<string>();
  for (const path of paths) {
    const edges: Edge[] = [];
    for (const found of importsOf(parseFile(root, path))) {
      const message = checkImport(rules, path, found);
      if (message !== undefined) findings.push({ path, line: found.line, rule: 'layers', message });
      const { target, line } = found;
      const to = target === undefined ? packageOf(found.specifier) : rules.moduleOf(target);
      if (!rules.isTest(path)) used.add(`${rules.moduleOf(path)} ${to}`);
      if (target !== undefined && known.has(target)) edges.push({ to: target, line });
    }
    graph.set(path, edges);
  }
  return [
    ...findings,
    ...checkRules(root, rules, paths, used),
    ...checkTable(root, rules),
    ...checkCycles(graph),
    ...checkGlobals(root, rules, paths),
  ];
}

if (process.argv[1] === import.meta.filename) report('layers', checkLayers(process.cwd()));
