/** `tidemark/testkit`, for users' own tests: SQL behaviour as text files, and an environment on virtual time. */

export { openTest, TestEnvironment, type TestOptions } from './simulator.ts';
export {
  runSlt,
  type SltFailure,
  type SltMode,
  type SltOptions,
  type SltOutcome,
  type SltTarget,
} from './slt.ts';
export { parseSlt, printSlt, type SltFile, type SltRun, type SltSection, type SltTable } from './slt-file.ts';
