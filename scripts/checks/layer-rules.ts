/** `layers.json` as the layer check reads it, and the questions it answers about a path. */
import { builtinModules } from 'node:module';
import { matches, readText } from './source-tree.ts';

interface Module {
  readonly name: string;
  /** For the table in ARCHITECTURE.md. */
  readonly does: string;
  readonly node?: boolean;
  readonly packages?: readonly string[];
}

interface Extra {
  readonly from: string;
  readonly to: string;
  readonly reason: string;
}

interface LayerFile {
  readonly modules: readonly Module[];
  readonly extra: readonly Extra[];
  readonly globals: Readonly<Record<string, string>>;
  readonly tests: readonly { readonly match: string; readonly reason: string }[];
}

/** Where the package whose layers are checked stands in the repository. */
export const PACKAGE = 'packages/tidemark';
const SOURCE = `${PACKAGE}/src/`;

const BUILTINS: ReadonlySet<string> = new Set(builtinModules);

export function isNodeModule(specifier: string): boolean {
  return specifier.startsWith('node:') || BUILTINS.has(specifier.split('/')[0] ?? '');
}

/** `a/b` of `a/b/c`, `@a/b` of `@a/b/c`: the package a bare specifier names. */
export function packageOf(specifier: string): string {
  const [scope, name] = specifier.split('/');
  return specifier.startsWith('@') ? `${scope}/${name}` : (scope ?? specifier);
}

export class LayerRules {
  readonly globals: ReadonlyMap<string, string>;
  readonly #file: LayerFile;
  readonly #order: ReadonlyMap<string, number>;

  constructor(root: string) {
    this.#file = JSON.parse(readText(root, `${PACKAGE}/layers.json`)) as LayerFile;
    this.#order = new Map(this.#file.modules.map((module, i) => [module.name, i]));
    this.globals = new Map(Object.entries(this.#file.globals));
  }

  /** The module of a path of the package; nothing for files elsewhere, such as the root's tests. */
  moduleOf(path: string): string | undefined {
    if (!path.startsWith(SOURCE)) return undefined;
    return path.slice(SOURCE.length).split('/')[0];
  }

  /** The list as Markdown, for ARCHITECTURE.md. */
  table(): string {
    const rows = this.#file.modules.map(({ name, does, node, packages = [] }) => {
      return `| ${name} | ${does} | ${[...this.#extras(name), ...(node ? ['node'] : []), ...packages].join(', ')} |`;
    });
    return ['| module | does | may also import |', '|---|---|---|', ...rows].join('\n');
  }

  isListed(module: string): boolean {
    return this.#order.has(module);
  }

  isTest(path: string): boolean {
    return this.#file.tests.some((test) => matches(path, test.match));
  }

  /** Dependencies of the package that no module may import: they would ship for nothing. */
  idleDependencies(root: string): string[] {
    const manifest = JSON.parse(readText(root, `${PACKAGE}/package.json`)) as { dependencies?: object };
    const named = new Set(this.#file.modules.flatMap((module) => module.packages ?? []));
    return Object.keys(manifest.dependencies ?? {}).filter((name) => !named.has(name));
  }

  /** What the file allows or exempts and nothing in the tree needs: `used` has `module package` and `module module`. */
  idle(paths: readonly string[], used: ReadonlySet<string>): string[] {
    const single = this.#file.tests.map((test) => test.match).filter((match) => !match.startsWith('*'));
    const files = single.filter((match) => !paths.some((path) => matches(path, match)));
    const packages = this.#file.modules.flatMap(({ name, packages = [] }) =>
      packages.map((each) => [name, each]),
    );
    const imports = [...packages, ...this.#file.extra.map(({ from, to }) => [from, to])];
    return [
      ...files.map((file) => `${file} names no file any more`),
      ...imports
        .filter(([from, to]) => !used.has(`${from} ${to}`))
        .map(([from, to]) => `${from} does not import ${to} any more`),
    ];
  }

  mayUseNode(path: string): boolean {
    const module = this.moduleOf(path);
    return module === undefined || this.isTest(path) || this.#module(module)?.node === true;
  }

  mayImport(from: string, to: string): boolean {
    if (from === to || this.#isExtra(from, to)) return true;
    // An extra turns the order of its two modules around.
    if (this.#isExtra(to, from)) return false;
    return (this.#order.get(to) ?? Infinity) < (this.#order.get(from) ?? -Infinity);
  }

  mayUsePackage(module: string, name: string): boolean {
    return this.#module(module)?.packages?.includes(name) === true;
  }

  #extras(from: string): string[] {
    return this.#file.extra.filter((extra) => extra.from === from).map((extra) => extra.to);
  }

  #isExtra(from: string, to: string): boolean {
    return this.#extras(from).includes(to);
  }

  #module(name: string): Module | undefined {
    return this.#file.modules[this.#order.get(name) ?? -1];
  }
}
