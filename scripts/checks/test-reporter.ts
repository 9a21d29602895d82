/**
 * The reporter inside each test file's process: one marked line of JSON a fact, on stdout, for run-tests.ts. What a test
 * prints itself stands between them, unmarked.
 */
import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

export const MARK = '\u0001test ';

export type Fact =
  | { readonly kind: 'began'; readonly name: string }
  | { readonly kind: 'ended'; readonly name: string }
  /** Of a test; suites are not counted. */
  | { readonly kind: 'passed' | 'failed' | 'skipped' }
  /** A line to print. */
  | { readonly kind: 'said'; readonly text: string };

function factsOf(event: TestEvent): Fact[] {
  switch (event.type) {
    case 'test:dequeue':
      return [{ kind: 'began', name: event.data.name }];
    case 'test:complete':
      return [{ kind: 'ended', name: event.data.name }];
    case 'test:pass': {
      const { details, skip, todo } = event.data;
      if (details.type === 'suite') return [];
      return [{ kind: skip === undefined && todo === undefined ? 'passed' : 'skipped' }];
    }
    case 'test:fail': {
      const { name, file = '', line, column, details } = event.data;
      const { failureType, cause } = details.error as Error & { readonly failureType?: string };
      if (failureType === 'subtestsFailed') return details.type === 'suite' ? [] : [{ kind: 'failed' }];
      const at = `${relative(process.cwd(), file)}:${line}:${column}`;
      const why = inspect(cause instanceof Error || typeof cause === 'string' ? cause : details.error);
      const text = `✖ ${name} (${details.duration_ms.toFixed(0)} ms)\n  at ${at}\n${why}`;
      // Also of a suite, which fails in a hook: nothing else counts for that.
      return [{ kind: 'failed' }, { kind: 'said', text }];
    }
    case 'test:diagnostic':
      // The outermost ones are node's own counts, and what was thrown after the last test.
      return NODE_COUNT.test(event.data.message) ? [] : [{ kind: 'said', text: `ℹ ${event.data.message}` }];
    default:
      return [];
  }
}

const NODE_COUNT = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;

// biome-ignore lint/style/noDefaultExport: node takes a reporter as a module's default export.
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events)
    for (const fact of factsOf(event)) yield `${MARK}${JSON.stringify(fact)}\n`;
}
