import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

test("V8 does not complain of the flag, and where it has it a thread's buffers far above 64 MB start fewer collections", async () => {
  const collections = async (sets: boolean): Promise<number> => {
    const policy = JSON.stringify(new URL('./heap-policy.ts', import.meta.url));
    // Three hundred times 8 MB that stay, and are never touched.
    const code = `
      import { PerformanceObserver, constants } from 'node:perf_hooks';
      ${sets ? `(await import(${policy})).countBuffersInHeapLimits();` : ''}
      let major = 0;
      new PerformanceObserver((list) => {
        for (const e of list.getEntries()) if (e.detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) major++;
      }).observe({ entryTypes: ['gc'] });
      const kept = [];
      for (let i = 0; i < 300; i++) {
        kept.push(new Float64Array(2 ** 20));
        await new Promise((resolve) => setImmediate(resolve));
      }
      await new Promise((resolve) => setImmediate(resolve));
      console.log(major, kept.length);`;
    // A collector on threads of its own falls behind on a busy machine, and begins fewer than it would.
    const args = [
      '--single-threaded-gc',
      '--input-type=module',
      '--disable-warning=ExperimentalWarning',
      '-e',
      code,
    ];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
    assert.equal(stderr, '');
    return Number(stdout.split(' ')[0]);
  };
  const [as, ours] = [await collections(false), await collections(true)];
  const fewer = process.versions.v8.startsWith('13.') ? ours * 2 < as : ours <= as;
  assert.ok(fewer, `${ours} collections instead of ${as}`);
});
