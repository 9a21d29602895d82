/**
 * Flags that worker threads inherit: those of the process, but none that say how *its* entry is read
 * (`node --input-type=module -e …`), with which a thread would not start.
 */
/** Of a whole process: a thread refuses them. `node --test` writes them all out for its children. */
const OF_PROCESS =
  /^--(stack-trace-limit|v8-pool-size|trace-event-file-pattern|secure-heap|secure-heap-min|tls-cipher-list|use-largepages|node-snapshot)(=|$)/;

export function workerFlags(flags: readonly string[] = process.execArgv): string[] {
  const out: string[] = [];
  for (let i = 0; i < flags.length; i++) {
    const flag = flags[i]!;
    if (/^(-e|--eval|-p|--print|-pe)$/.test(flag)) i++;
    else if (!/^--(input-type|eval|print)\b/.test(flag) && !OF_PROCESS.test(flag)) out.push(flag);
  }
  return out;
}
