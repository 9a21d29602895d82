/**
 * Flags that worker threads inherit: those of the process, but none that say how *its* entry is read
 * (`node --input-type=module -e …`), with which a thread would not start.
 */
/** Of a whole process: a thread refuses them. `node --test` writes them all out for its children. */
const OF_PROCESS =
  /^--(stack-trace-limit|v8-pool-size|trace-event-file-pattern|secure-heap|secure-heap-min|tls-cipher-list|use-largepages|node-snapshot)(=|$)/;

/** V8's: they hold for all threads of the process already, and a thread that is given one does not start. */
const OF_V8 =
  /^--(no[-_])?(max[-_]|min[-_]|initial[-_]|expose[-_]gc|trace[-_](gc|opt|deopt)|stack[-_]size|harmony|jitless|single[-_]threaded|predictable|allow[-_]natives|opt(imize[-_]for[-_]size)?$|maglev|turbofan|sparkplug|perf[-_]|gc[-_]|interpreted[-_]frames|disallow[-_]code|huge[-_]max|abort[-_]on|concurrent|parallel|external[-_]memory|incremental|scavenger|semi[-_]space|minor)/;

export function workerFlags(flags: readonly string[] = process.execArgv): string[] {
  const out: string[] = [];
  for (let i = 0; i < flags.length; i++) {
    const flag = flags[i]!;
    if (/^(-e|--eval|-p|--print|-pe)$/.test(flag)) i++;
    else if (!/^--(input-type|eval|print)\b/.test(flag) && !OF_PROCESS.test(flag) && !OF_V8.test(flag))
      out.push(flag);
  }
  return out;
}
