/**
 * The reporter inside each test file's process: one marked line of JSON a fact, on stdout, for run-tests.ts. What a test
 * prints itself stands between them, unmarked.
 */
import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

export const MARK = '\u0001test ';

export type Fact =
  /** Told when the test begins, so that a hang has a name. */
  | { readonly kind: 'began'; readonly name: string }
  | { readonly kind: 'ended'; readonly name: string }
  | { readonly kind: 'failed' | 'said'; readonly text: string }
  /** Told once, when all of the file's tests are over. */
  | { readonly kind: 'counted'; readonly passed: number; readonly failed: number; readonly skipped: number };

function factsOf(event: TestEvent): Fact[] {
  switch (event.type) {
    case 'test:dequeue':
      return [{ kind: 'began', name: event.data.name }];
    case 'test:complete':
      return [{ kind: 'ended', name: event.data.name }];
    case 'test:fail': {
      const { name, file = '', line, column, details } = event.data;
      const { failureType, cause } = details.error as Error & { readonly failureType?: string };
      if (failureType === 'subtestsFailed') return [];
      const at = `${relative(process.cwd(), file)}:${line}:${column}`;
      const why = inspect(cause instanceof Error || typeof cause === 'string' ? cause : details.error);
      return [
        { kind: 'failed', text: `✖ ${name} (${details.duration_ms.toFixed(0)} ms)\n  at ${at}\n${why}` },
      ];
    }
    case 'test:diagnostic':
      // At the outermost level stand node's own counts.
      return event.data.nesting === 0 &&
        /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) \d/.test(event.data.message)
        ? []
        : [{ kind: 'said', text: `ℹ ${event.data.message}` }];
    case 'test:summary': {
      const { tests, passed, skipped, todo } = event.data.counts;
      return [{ kind: 'counted', passed, failed: tests - passed - skipped - todo, skipped: skipped + todo }];
    }
    default:
      return [];
  }
}

// biome-ignore lint/style/noDefaultExport: node takes a reporter as a module's default export.
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events)
    for (const fact of factsOf(event)) yield `${MARK}${JSON.stringify(fact)}\n`;
}
