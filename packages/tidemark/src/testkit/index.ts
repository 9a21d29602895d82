/** Tests of programs that stand on Tidemark: `openTest` gives an environment whose clock, order and faults the test decides. */

export type { Started } from './statements.ts';
export { openTest, type Release, type TestEnvironment } from './test-environment.ts';
export type { CrashPoint, OpenTestOptions } from './test-options.ts';
