/** Processor time of the threads of a process, as Linux counts it. */
import { readdirSync, readFileSync } from 'node:fs';

interface ThreadTime {
  readonly name: string;
  readonly ms: number;
}

/** By thread. Empty where there is no /proc. */
export type ThreadTimes = ReadonlyMap<number, ThreadTime>;

export function threadTimes(pid: number): ThreadTimes {
  const out = new Map<number, ThreadTime>();
  const tasks = `/proc/${pid}/task`;
  for (const tid of list(tasks))
    try {
      const name = readFileSync(`${tasks}/${tid}/comm`, 'latin1').trim();
      // Nanoseconds on a processor, waiting for one, and how often it got one.
      const [ns] = readFileSync(`${tasks}/${tid}/schedstat`, 'latin1').split(' ');
      out.set(Number(tid), { name, ms: Number(ns) / 1e6 });
    } catch {
      // The thread has ended meanwhile.
    }
  return out;
}

function list(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** What threads took between two readings, summed by what `roleOf` calls them. */
export function taken(
  before: ThreadTimes,
  after: ThreadTimes,
  roleOf: (tid: number, name: string) => string,
): ReadonlyMap<string, number> {
  const out = new Map<string, number>();
  for (const [tid, { name, ms }] of after) {
    const role = roleOf(tid, name);
    out.set(role, (out.get(role) ?? 0) + ms - (before.get(tid)?.ms ?? 0));
  }
  return out;
}
