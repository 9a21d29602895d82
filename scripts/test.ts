/** `npm test`: what CI does. The checks, then every test; ends with one line of counts. */
import { runChecks } from './checks/run-checks.ts';
import { ALL_TESTS, close, runTests } from './checks/run-tests.ts';

const root = process.cwd();
const checks = await runChecks(root);
close([checks, await runTests(root, ALL_TESTS)]);
