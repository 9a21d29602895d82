/** `npm run test:unit -- 'packages/tidemark/src/trace/**'`: some tests, without the checks; all where none is named. */
import { ALL_TESTS, close, runTests } from './checks/run-tests.ts';

const named = process.argv
  .slice(2)
  .map((pattern) => (pattern.endsWith('.ts') ? pattern : `${pattern}/*.test.ts`));
close([await runTests(process.cwd(), named.length > 0 ? named : ALL_TESTS)]);
