/**
 * `tidemark status` as text: for each replica a line about itself and one an object, with a bar of how long each part of its life took. Pure: a
 * report in, lines out; the longest life on a replica fills its bar.
 */
import type { ClusterStatus, ObjectStatus, ReplicaStatus, StatusReport } from '../adapter/status.ts';

export interface ViewOptions {
  /** Of the terminal, in columns. */
  readonly width: number;
  readonly color: boolean;
}

const PARTS = [
  { of: 'queueMs', title: 'queue', mark: '░', color: '33' },
  { of: 'computeMs', title: 'compute', mark: '█', color: '36' },
  { of: 'blockedMs', title: 'blocked', mark: '▒', color: '31' },
  { of: 'writeMs', title: 'write', mark: '▓', color: '32' },
] as const;

const HEADINGS = ['object', 'stage', 'why', ...PARTS.map((p) => p.title)];
const LONGEST_NAME = 40;
const WIDEST_BAR = 40;
const NARROWEST_BAR = 8;

export function renderStatus(report: StatusReport, options: ViewOptions): string {
  const lines = report.clusters.flatMap((c) => clusterLines(c, options));
  if (report.clusters.length === 0) lines.push('no clusters');
  const late = report.missing.length;
  lines.push(report.ready ? 'ready' : `not ready: ${late} ${late === 1 ? 'thing is' : 'things are'} missing`);
  return `${lines.join('\n')}\n`;
}

function clusterLines(c: ClusterStatus, options: ViewOptions): readonly string[] {
  if (c.replicas.length > 0) return c.replicas.flatMap((r) => [...replicaLines(c, r, options), '']);
  const waiting = c.waiting.length === 0 ? 'no objects' : `nothing maintains ${c.waiting.join(', ')}`;
  return [`${c.name} · no replica · ${waiting}`, ''];
}

function replicaLines(c: ClusterStatus, r: ReplicaStatus, options: ViewOptions): readonly string[] {
  const { hydrated, reason, since, slowest } = r;
  const state = hydrated ? 'hydrated' : `not hydrated (${reason})`;
  const head = [
    `${c.name}.${r.name ?? r.id}`,
    `${r.workers} ${r.workers === 1 ? 'worker' : 'workers'}`,
    since === null ? state : `${state} since ${clockTime(since)}`,
    `${r.hydratedObjects} of ${r.objects.length} objects`,
    ...(slowest === null ? [] : [`${hydrated ? 'slowest' : 'waits for'} ${slowest}`]),
  ];
  return [head.join(' · '), ...table(r.objects, options)];
}

function table(objects: readonly ObjectStatus[], options: ViewOptions): readonly string[] {
  if (objects.length === 0) return [];
  const rows = [HEADINGS, ...objects.map(cells)];
  const widths = HEADINGS.map((_, i) => Math.max(...rows.map((row) => row[i]!.length)));
  // Names and reasons to the left, durations to the right.
  const texts = rows.map((row) =>
    row.map((cell, i) => (i < 3 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  '),
  );
  const left = options.width - 4 - texts[0]!.length;
  const barWidth = left < NARROWEST_BAR ? 0 : Math.min(left, WIDEST_BAR);
  const longest = Math.max(...objects.map(total));
  return texts.map((text, i) => {
    const bar =
      i === 0 || barWidth === 0 ? '' : `  ${barOf(objects[i - 1]!, { longest, barWidth, ...options })}`;
    return `  ${text}${bar}`.trimEnd();
  });
}

function cells(o: ObjectStatus): readonly string[] {
  const why =
    o.reason === null ? 'done' : `${o.reason}${percent(o)}${o.blockedBy === null ? '' : `: ${o.blockedBy}`}`;
  const name = o.name ?? o.id;
  const short = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name;
  return [short, o.stage ?? '-', why, ...PARTS.map((p) => duration(o[p.of]))];
}

/** Of the snapshot's rows, while it computes: rounded down, so that 100 is not shown before it is there. */
const percent = ({ reason, rowsDone, rowsTotal }: ObjectStatus): string =>
  reason !== 'computing' || rowsDone === null || rowsTotal === null || rowsTotal === 0
    ? ''
    : ` ${Math.floor((100 * rowsDone) / rowsTotal)} %`;

const total = (o: ObjectStatus): number => PARTS.reduce((sum, p) => sum + (o[p.of] ?? 0), 0);

function barOf(
  o: ObjectStatus,
  { longest, barWidth, color }: { longest: number; barWidth: number; color: boolean },
): string {
  if (longest === 0) return '';
  // Ends are rounded, not lengths: parts that follow each other stay in their places whatever the scale.
  let at = 0;
  let cell = 0;
  return PARTS.map((p) => {
    at += o[p.of] ?? 0;
    const end = Math.round((at / longest) * barWidth);
    const text = p.mark.repeat(end - cell);
    cell = end;
    return color && text !== '' ? `\u001b[${p.color}m${text}\u001b[0m` : text;
  }).join('');
}

/** Three digits say enough: 850µs, 12ms, 4.5s, 3m10s, 2h05m. */
export function duration(ms: number | null): string {
  if (ms === null) return '-';
  if (ms < 1) return `${Math.round(ms * 1000)}µs`;
  if (ms < 1000) return `${Math.round(ms)}ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)}s`;
  const s = Math.round(ms / 1000);
  const two = (n: number): string => String(n).padStart(2, '0');
  return s < 3600
    ? `${Math.floor(s / 60)}m${two(s % 60)}s`
    : `${Math.floor(s / 3600)}h${two(Math.floor(s / 60) % 60)}m`;
}

/** UTC, to the millisecond; the day is in the report itself. */
const clockTime = (iso: string): string => iso.slice(11, 23);
