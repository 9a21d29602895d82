/** Plants a violation of each rule of the layers and expects the check to find it, and nothing else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkLayers } from './check-layers.ts';
import { LayerRules, PACKAGE } from './checks/layer-rules.ts';
import { type Files, json, withPlanted } from './checks/planted-tree.fixture.ts';

const SRC = `${PACKAGE}/src`;

async function found(files: Files): Promise<string[]> {
  // Most of what layers.json allows is not in the planted tree.
  const findings = (await withPlanted(files, checkLayers)).filter(
    ({ message }) => !message.endsWith(' any more'),
  );
  return findings.map(({ path, line, message }) => `${path}:${line}: ${message}`);
}

const VIOLATIONS: readonly {
  readonly title: string;
  readonly files: Files;
  readonly found: readonly string[];
}[] = [
  {
    title: 'a module may not import one that stands below it',
    files: {
      [`${SRC}/base/two.ts`]: "\nexport { x } from '../repr/x.ts';\n",
      [`${SRC}/repr/x.ts`]: 'export const x = 1;\n',
    },
    found: [`${SRC}/base/two.ts:2: base may not import repr: ../repr/x.ts`],
  },
  {
    title: 'nor for its types',
    files: {
      [`${SRC}/base/two.ts`]: "import type { X } from '../repr/x.ts';\nexport type Y = X;\n",
      [`${SRC}/repr/x.ts`]: 'export type X = 1;\n',
    },
    found: [`${SRC}/base/two.ts:1: base may not import repr: ../repr/x.ts`],
  },
  {
    title: 'nor by a call or a type expression',
    files: {
      [`${SRC}/base/two.ts`]:
        "export const load = () => import('../repr/x.ts');\nexport type Y = import('../repr/x.ts').X;\n",
      [`${SRC}/repr/x.ts`]: 'export type X = 1;\n',
    },
    found: [
      `${SRC}/base/two.ts:1: base may not import repr: ../repr/x.ts`,
      `${SRC}/base/two.ts:2: base may not import repr: ../repr/x.ts`,
    ],
  },
  {
    title: 'files may not import each other in a circle, types included',
    files: {
      [`${SRC}/repr/a.ts`]: "import type { B } from './b.ts';\nexport type A = B;\n",
      [`${SRC}/repr/b.ts`]: "export type { C as B } from './c.ts';\n",
      [`${SRC}/repr/c.ts`]: "\nimport type { A } from './a.ts';\nexport type C = A | 1;\n",
    },
    found: [
      `${SRC}/repr/a.ts:1: import cycle: ${SRC}/repr/a.ts:1 imports ${SRC}/repr/b.ts:1 imports ${SRC}/repr/c.ts:2 imports ${SRC}/repr/a.ts`,
    ],
  },
  {
    title: 'only the outermost modules import node',
    files: {
      [`${SRC}/persist/x.ts`]: "import { readFileSync } from 'node:fs';\nexport const read = readFileSync;\n",
      [`${SRC}/host/y.ts`]: "import { readFileSync } from 'node:fs';\nexport const read = readFileSync;\n",
      [`${SRC}/persist/x.test.ts`]: "import 'node:fs';\n",
    },
    found: [`${SRC}/persist/x.ts:1: persist may not import node:fs`],
  },
  {
    title: 'a package is imported where layers.json names it',
    files: {
      [`${SRC}/http/x.ts`]: "import { Hono } from 'hono';\nexport const x = new Hono();\n",
      [`${SRC}/sql/x.ts`]: "import { Hono } from 'hono/tiny';\nexport const x = new Hono();\n",
    },
    found: [`${SRC}/sql/x.ts:1: sql may not import the package hono`],
  },
  {
    title: 'what ships imports no test',
    files: {
      [`${SRC}/repr/x.ts`]: "export { y } from './y.fixture.ts';\n",
      [`${SRC}/repr/y.fixture.ts`]: 'export const y = 1;\n',
      [`${SRC}/repr/z.ts`]: "export { t } from '../../../../test/t.ts';\n",
      'test/t.ts': 'export const t = 1;\n',
    },
    found: [
      `${SRC}/repr/x.ts:1: what ships may not import the test file ./y.fixture.ts`,
      `${SRC}/repr/z.ts:1: repr may not import test/t.ts, which does not ship`,
    ],
  },
  {
    title: 'an extra turns the order of two modules around',
    files: {
      [`${SRC}/adapter/x.ts`]: "import type { Y } from '../pgwire/y.ts';\nexport type X = Y;\n",
      [`${SRC}/pgwire/y.ts`]: 'export type Y = 1;\n',
      [`${SRC}/pgwire/z.ts`]: "import type { X } from '../adapter/x.ts';\nexport type Z = X;\n",
    },
    found: [`${SRC}/pgwire/z.ts:1: pgwire may not import adapter: ../adapter/x.ts`],
  },
  {
    title: 'a dependency of the package is imported by a module of it',
    files: { [`${PACKAGE}/package.json`]: json({ name: 'planted', dependencies: { hono: '1', left: '1' } }) },
    found: [`${PACKAGE}/package.json:1: no module may import left: it would ship for nothing`],
  },
  {
    title: 'every module is listed',
    files: { [`${SRC}/helpers/x.ts`]: 'export const x = 1;\n' },
    found: [`${PACKAGE}/layers.json:1: helpers stands in src and not here`],
  },
];

test('a tree that obeys the rules has no finding', async () => {
  assert.deepEqual(await found({}), []);
});

for (const violation of VIOLATIONS) {
  test(violation.title, async () => assert.deepEqual(await found(violation.files), violation.found));
}

test('each forbidden global is found in a pure module', async () => {
  const globals = await withPlanted({}, (root) => new LayerRules(root).globals);
  for (const [name, advice] of globals) {
    const files = { [`${SRC}/sql/x.ts`]: `\nexport const x = ${name};\n` };
    assert.deepEqual(await found(files), [`${SRC}/sql/x.ts:2: sql may not use ${name}: ${advice}`]);
  }
});

test('forbidden globals are found as types, shorthands and defaults', async () => {
  const text =
    'export type T = Buffer;\nexport const o = { process };\nexport const f = (now = Date.now) => now;\n';
  assert.deepEqual(
    (await found({ [`${SRC}/sql/x.ts`]: text })).map((finding) => finding.replace(/:[^:]*$/, '')),
    [
      `${SRC}/sql/x.ts:1: sql may not use Buffer`,
      `${SRC}/sql/x.ts:2: sql may not use process`,
      `${SRC}/sql/x.ts:3: sql may not use Date.now`,
    ],
  );
});

test('what only looks like a global is none, nor is one in an outer module or a test', async () => {
  const text = `export const f = (process: { performance: number }) => process.performance;
export const g = ({ setTimeout }: { setTimeout: () => void }) => setTimeout();
export const at = (ms: number) => new Date(ms);
export interface Timers { setInterval(): void }
export const timers = { console: 1, performance: 2 };
`;
  const uses = 'export const now = Date.now();\n';
  const files = { [`${SRC}/sql/x.ts`]: text, [`${SRC}/host/y.ts`]: uses, [`${SRC}/sql/z.bench.ts`]: uses };
  assert.deepEqual(await found(files), []);
});

test('what layers.json allows and nothing needs is found', async () => {
  const modules = [{ name: 'base', packages: ['hono', 're2js'] }, { name: 'repr' }, { name: 'index.ts' }];
  const extra = [{ from: 'base', to: 'repr', reason: 'an example' }];
  const tests = [{ match: 'base/gone.ts', reason: 'an example' }];
  const rules = { [`${PACKAGE}/layers.json`]: json({ modules, extra, globals: {}, tests }) };
  const uses = { [`${SRC}/base/x.ts`]: "export { Hono } from 'hono';\n" };
  const findings = await withPlanted({ ...rules, ...uses }, checkLayers);
  assert.deepEqual(
    findings.map(({ message }) => message),
    [
      'base/gone.ts names no file any more',
      'base does not import re2js any more',
      'base does not import repr any more',
    ],
  );
});

test('the table of layers in the architecture is the one of layers.json', async () => {
  const rules = await withPlanted({}, (root) => new LayerRules(root));
  const document = (table: string) => ({
    'ARCHITECTURE.md': `# A\n\n<!-- layers: npm run docs -->\n${table}\n<!-- end of layers -->\n`,
  });
  assert.deepEqual(await found(document(rules.table())), []);
  assert.deepEqual(await found(document(rules.table().replace('base', 'bass'))), [
    'ARCHITECTURE.md:1: has an old table of layers: run npm run docs',
  ]);
  assert.equal((await found({ 'ARCHITECTURE.md': '# A\n' })).length, 1);
});
