/** `npm run check`: every check that needs no run of the code. */
import { runChecks } from './checks/run-checks.ts';

const { failed } = await runChecks(process.cwd());
if (failed > 0) process.exitCode = 1;
