/**
 * Plants a violation of each rule that a tool checks for us (biome, eslint, knip, tsc): it is our configuration of them
 * that is tested.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PACKAGE } from './checks/layer-rules.ts';
import { type Files, json, withPlanted } from './checks/planted-tree.fixture.ts';
import { type Outcome, runCommand } from './checks/pool.ts';
import { CHECKS } from './checks/run-checks.ts';

const BASE = `${PACKAGE}/src/base`;

/** Runs the check called `name` on a tree with `files` planted. */
async function check(name: string, files: Files): Promise<Outcome> {
  const found = CHECKS.find((each) => each.name === name);
  assert.ok(found, `there is no check called ${name}`);
  return await withPlanted(files, (root) => runCommand(found.command, root));
}

function assertFinds(outcome: Outcome, expected: readonly (string | RegExp)[]): void {
  assert.equal(outcome.ok, false, 'the check lets it through');
  for (const each of expected) {
    const seen = typeof each === 'string' ? outcome.output.includes(each) : each.test(outcome.output);
    assert.ok(seen, `${each} is not in:\n${outcome.output}`);
  }
}

test('the linter finds what the language allows and we do not', async () => {
  const outcome = await check('format and lint', {
    [`${BASE}/any.ts`]: 'export const x: any = 1;\n',
    [`${BASE}/default.ts`]: 'const x = 1;\nexport default x;\n',
    [`${BASE}/enum.ts`]: 'export enum E {\n  a,\n}\n',
    [`${BASE}/ignore.ts`]: '// @ts-' + 'ignore: it is so\nexport const x: string = 1;\n',
    [`${BASE}/skipped.test.ts`]: "import { test } from 'node:test';\n\ntest." + "skip('x', () => {});\n",
    [`${BASE}/focused.test.ts`]: "import { test } from 'node:test';\n\ntest." + "only('x', () => {});\n",
    [`${BASE}/camelCase.ts`]: 'export const x = 1;\n',
    [`${BASE}/format.ts`]: 'export const x = "1"\n',
    [`${BASE}/bare.ts`]: "export { join } from 'path';\n",
  });
  assertFinds(outcome, [
    /any\.ts:1:\d+ lint\/suspicious\/noExplicitAny/,
    /default\.ts:2:\d+ lint\/style\/noDefaultExport/,
    /enum\.ts:1:\d+ lint\/style\/noEnum/,
    /ignore\.ts:1:\d+ lint\/suspicious\/noTsIgnore/,
    /skipped\.test\.ts:3:\d+ lint\/suspicious\/noSkippedTests/,
    /focused\.test\.ts:3:\d+ lint\/suspicious\/noFocusedTests/,
    /camelCase\.ts(:\d+:\d+)? lint\/style\/useFilenamingConvention/,
    /format\.ts format/,
    /bare\.ts:1:\d+ lint\/style\/useNodejsImportProtocol/,
  ]);
});

test('the type-aware rules find lost promises and forgotten cases', async () => {
  const text = `export async function work(): Promise<void> {
  await 1;
}
export function lose(each: (f: () => void) => void): void {
  work();
  each(work);
}
export function name(kind: 'a' | 'b'): string | undefined {
  switch (kind) {
    case 'a':
      return 'A';
  }
  return undefined;
}
`;
  assertFinds(await check('promises and switches', { [`${BASE}/lost.ts`]: text }), [
    /2:3 +error.*await-thenable/,
    /5:3 +error.*no-floating-promises/,
    /6:8 +error.*no-misused-promises/,
    /9:11 +error.*switch-exhaustiveness-check/,
  ]);
});

test('dead code is found: files, exports, types, dependencies', async () => {
  const manifest = { name: 'planted', type: 'module', exports: './src/index.ts' };
  const outcome = await check('dead code', {
    [`${BASE}/unused.ts`]: 'export const unused = 1;\n',
    [`${BASE}/one.ts`]: 'export const one = 1;\nexport const spare = 2;\nexport interface Spare {}\n',
    [`${PACKAGE}/package.json`]: json({ ...manifest, dependencies: { hono: '4.0.0' } }),
  });
  assertFinds(outcome, [
    /Unused files \(1\)\s+packages\/tidemark\/src\/base\/unused\.ts/,
    /Unused exports \(1\)\s+spare /,
    /Unused exported types \(1\)\s+Spare /,
    /Unused dependencies \(1\)\s+hono /,
  ]);
});

test('types are checked', async () => {
  const outcome = await check('types', { [`${BASE}/wrong.ts`]: "export const x: number = 'a';\n" });
  assertFinds(outcome, ['wrong.ts(1,14): error TS2322']);
});

test('a tree that obeys the rules passes every check', async () => {
  for (const name of ['format and lint', 'promises and switches', 'types', 'dead code']) {
    const { ok, output } = await check(name, {});
    assert.equal(ok, true, `${name}: ${output}`);
  }
});
