/** What this process takes of the machine, and what a worker's thread takes of the process. */
import type { ResourceUsage } from '../introspection/process-log.ts';

/** `process`: of all threads together. */
export function processUsage(): readonly ResourceUsage[] {
  const { user, system } = process.cpuUsage();
  return [
    { source: 'process', metric: 'rss_bytes', value: process.memoryUsage.rss() },
    { source: 'process', metric: 'cpu_user_ns', value: user * 1000 },
    { source: 'process', metric: 'cpu_system_ns', value: system * 1000 },
  ];
}

/** Of the thread that asks: its heap, and the array buffers that its columns lie in. */
export function threadUsage(source: string): readonly ResourceUsage[] {
  const { heapUsed, heapTotal, arrayBuffers } = process.memoryUsage();
  return [
    { source, metric: 'heap_used_bytes', value: heapUsed },
    { source, metric: 'heap_allocated_bytes', value: heapTotal },
    { source, metric: 'array_buffers_bytes', value: arrayBuffers },
  ];
}
