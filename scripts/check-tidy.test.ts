/** Plants a violation of each tidy rule and expects the check to find it, and nothing else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTidy } from './check-tidy.ts';
import { PACKAGE } from './checks/layer-rules.ts';
import { type Files, withPlanted } from './checks/planted-tree.fixture.ts';

const BASE = `${PACKAGE}/src/base`;
const ONE = `${BASE}/one.ts`;

/** Words that the check would find here are put together from two parts. */
function joined(...parts: readonly string[]): string {
  return parts.join('');
}

async function found(files: Files): Promise<string[]> {
  const findings = await withPlanted(files, checkTidy);
  return findings.map(({ path, line, rule, message }) => `${path}:${line}: ${rule}: ${message}`);
}

function lines(count: number, line = '// line'): string {
  return `${Array(count).fill(line).join('\n')}\n`;
}

function functionOf(count: number): string {
  return `export function long(): void {\n${lines(count - 2, '  // line')}}\n`;
}

const VIOLATIONS: readonly {
  readonly title: string;
  readonly files: Files;
  readonly found: readonly string[];
}[] = [
  {
    title: 'a file has at most 500 lines',
    files: { [ONE]: lines(501) },
    found: [`${ONE}:1: file-lines: 501 lines, over 500`],
  },
  {
    title: 'a function has at most 70 lines',
    files: { [ONE]: `\n${functionOf(71)}` },
    found: [`${ONE}:2: function-lines: long has 71 lines, over 70`],
  },
  {
    title: 'no skipped test',
    files: {
      [`${BASE}/one.test.ts`]: joined(
        'test.',
        "skip('x', () => {});\ntest('y', { ",
        'todo',
        ': true }, () => {});\n',
      ),
    },
    found: [
      `${BASE}/one.test.ts:1: skips: '${joined('test.', 'skip(')}': a test is run or deleted, not skipped`,
      `${BASE}/one.test.ts:2: skips: '${joined('to', 'do: true')}': a test is run or deleted, not skipped`,
    ],
  },
  {
    title: 'no open end',
    files: { [ONE]: `// ${joined('TO', 'DO')}: later\n` },
    found: [`${ONE}:1: words: '${joined('TO', 'DO')}': an open end: do it, or write down the limit`],
  },
  {
    title: 'no path of one machine',
    files: { [ONE]: `// see ${joined('/ho', 'me/jo/src')}\n` },
    found: [`${ONE}:1: words: '${joined('/ho', 'me/jo/')}': a path of one machine`],
  },
  {
    title: 'the text speaks of the project alone',
    files: { 'docs/x.md': `As ${joined('the', ' brief')} says.\n` },
    found: [`docs/x.md:1: words: '${joined('the', ' brief')}': the text speaks of the project alone`],
  },
  {
    title: 'links and names of documents lead somewhere',
    files: {
      'docs/x.md': `See [one](../test/README.md), [two](gone/${joined('two', '.md')}#a) and [three](https://example.org/three).\n`,
      [ONE]: `// As ${joined('gone', '.md')} says.\n`,
    },
    found: [
      `docs/x.md:1: pointers: the link gone/${joined('two', '.md')} leads nowhere`,

      `${ONE}:1: pointers: no document is called ${joined('gone', '.md')}`,
    ],
  },
  {
    title: 'every module has a README',
    files: { [`${PACKAGE}/src/repr/deep/x.ts`]: 'export const x = 1;\n' },
    found: [`${PACKAGE}/src/repr/README.md:1: readme: is missing`],
  },
  {
    title: 'a README names the files of its module, and no other',
    files: {
      [`${BASE}/README.md`]: '# base\n\n`two.ts`, someone.ts, deep/, `fo*.ts`\n',
      [`${BASE}/four.ts`]: 'export const x = 1;\n',
      [`${BASE}/deep/x.ts`]: 'export const x = 1;\n',
      [`${BASE}/three.test.ts`]: '',
    },
    found: [
      `${BASE}/README.md:1: readme: does not name ${ONE}`,
      `${BASE}/README.md:1: readme: names two.ts, which is not there`,
    ],
  },
];

test('a tree that obeys the rules has no finding', async () => {
  assert.deepEqual(await found({}), []);
});

for (const violation of VIOLATIONS) {
  test(violation.title, async () =>
    assert.deepEqual((await found(violation.files)).sort(), [...violation.found].sort()),
  );
}

test('a copy that the build made is not checked again', async () => {
  assert.deepEqual(await found({ [`${PACKAGE}/README.md`]: '[to](nowhere)\n' }), []);
});

test('what just fits is let through, and a suite counts by its tests', async () => {
  const suite = `describe('x', () => {\n${lines(80, '  // line')}});\n`;
  assert.deepEqual(await found({ [ONE]: lines(500), [`${BASE}/one.test.ts`]: functionOf(70) + suite }), []);
});

function withException(size: number, exception: object): Promise<string[]> {
  const exceptions = JSON.stringify([{ path: ONE, rule: 'function-lines', name: 'long', ...exception }]);
  return found({ [ONE]: functionOf(size), 'scripts/tidy-exceptions.json': exceptions });
}

test('an exception holds for its figure and shrinks with it', async () => {
  const reason = 'one table, read from top to bottom';
  const at = 'scripts/tidy-exceptions.json:1: exceptions: ';
  assert.deepEqual(await withException(90, { limit: 90, reason }), []);
  assert.deepEqual(await withException(91, { limit: 90, reason }), [
    `${ONE}:1: function-lines: long has 91 lines, over 70`,
  ]);
  assert.deepEqual(await withException(80, { limit: 90, reason }), [
    `${at}long of ${ONE} has 80 now: lower its limit of 90`,
  ]);
  assert.deepEqual(await withException(60, { limit: 90, reason }), [
    `${at}long of ${ONE} needs no exception to function-lines any more: remove it`,
  ]);
  assert.deepEqual(await withException(90, { limit: 90, reason: '' }), [
    `${at}the exception for long of ${ONE} gives no reason`,
  ]);
});
