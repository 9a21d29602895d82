/** One contestant, one workload, one fresh process: `contestant.ts <contestant> <workload> <rows>` prints its outcome as a line of JSON. */
import { CONTESTANTS, isContestant } from './contestants.ts';
import { isWorkload } from './workloads.ts';

const [contestant = '', workload = '', rows = ''] = process.argv.slice(2);
if (!isContestant(contestant) || !isWorkload(workload))
  throw new Error(`there is no ${contestant} or ${workload}`);
const outcome = await CONTESTANTS[contestant].run(workload, Number(rows));
process.stdout.write(`${JSON.stringify(outcome)}\n`, () => process.exit(0));
