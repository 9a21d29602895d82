/** Lives as bars for a terminal: queue, compute, write, on one time axis. */

export interface Life {
  readonly name: string;
  readonly isView: boolean;
  /** Milliseconds since the epoch. */
  readonly installedAt: number;
  readonly startedAt: number | null;
  readonly hydratedAt: number | null;
  readonly writtenAt: number | null;
}

const QUEUE = '░';
const COMPUTE = '█';
const WRITE = '▒';

const seconds = (ms: number): string => `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)}s`;

/** `columns`: width of the terminal. */
export function timeline(lives: readonly Life[], columns: number): string {
  const nameWidth = Math.max(...lives.map((l) => l.name.length), 6);
  const width = Math.max(20, Math.min(60, columns - nameWidth - 36));
  const from = Math.min(...lives.map((l) => l.installedAt));
  const to = Math.max(...lives.map((l) => l.writtenAt ?? l.hydratedAt ?? l.installedAt), from + 1);
  const cell = (t: number): number => Math.round(((t - from) / (to - from)) * width);
  const lines = lives.map((l) => {
    const started = l.startedAt ?? l.installedAt;
    const hydrated = Math.max(l.hydratedAt ?? started, started);
    const written = Math.max(l.writtenAt ?? hydrated, hydrated);
    const bar =
      ' '.repeat(cell(l.installedAt)) +
      QUEUE.repeat(cell(started) - cell(l.installedAt)) +
      COMPUTE.repeat(Math.max(1, cell(hydrated) - cell(started))) +
      WRITE.repeat(cell(written) - cell(hydrated));
    const figures = [
      seconds(started - l.installedAt).padStart(7),
      seconds(hydrated - started).padStart(8),
      l.isView ? seconds(written - hydrated).padStart(7) : '      –',
    ];
    return `${l.name.padEnd(nameWidth)}  ${bar.padEnd(width + 1)} ${figures.join('')}`;
  });
  const legend = `${QUEUE} queue  ${COMPUTE} compute  ${WRITE} write`;
  return [`${''.padEnd(nameWidth)}  ${legend.padEnd(width + 1)}   queue compute  write`, ...lines, ''].join(
    '\n',
  );
}
