/** docs/introspection.md: written from the literals of the log relations; a test holds it to them. */
import type { LogRelation } from '../../packages/tidemark/src/introspection/log-relation.ts';
import { LOG_NAMES, LOG_RELATIONS, logDesc } from '../../packages/tidemark/src/introspection/relations.ts';
import { typeToString } from '../../packages/tidemark/src/repr/types.ts';

export const RELATIONS_DOCUMENT = 'docs/introspection.md';

const HEAD = `# Relations of a replica's log

What a replica tells about itself, in the schema \`mz_introspection\`. Each replica has its own contents; a query reads those of the cluster of its session. Rows are at
most one interval old (\`INTROSPECTION INTERVAL\`, 1 second unless said otherwise), counts one more. Where "multiplicity is the number", \`count(*)\` reads it.

A replica keeps the views of sizes over its log up to date. Where a worker has so much to do that they are behind, it tells no more counts until they have arrived: the differences add up meanwhile. So what introspection holds is bounded by what
there is to tell: eight records for each row that lives, a few times the changes of one interval, no history. \`mz_records_per_dataflow\` shows it with \`INTROSPECTION DEBUGGING\` (the dataflow \`Introspection\`, and the indexes \`index mz_…\`).

How a replica logs is said with its cluster, or with itself where it is to be otherwise:

\`\`\`sql
CREATE CLUSTER c (SIZE '2', INTROSPECTION INTERVAL '5s');
CREATE CLUSTER d REPLICAS (r1 (SIZE '2'), r2 (SIZE '2', INTROSPECTION INTERVAL 0));   -- 0: r2 keeps no log
CREATE CLUSTER REPLICA d.r3 (SIZE '2', INTROSPECTION DEBUGGING = true);               -- shows the dataflows of introspection, too
ALTER SYSTEM SET metrics_interval = '15s';   -- of mz_cluster_prometheus_metrics on every replica; 0 takes its rows out
ALTER SYSTEM SET max_result_size = '100MB';  -- a row that stands for a number is refused as so many rows beyond it: count(*) reads the number
\`\`\`

Written by \`npm run docs\` from the relations themselves.
`;

const cell = (text: string): string => text.replaceAll('|', '\\|');

function section(name: (typeof LOG_NAMES)[number]): string {
  const relation: LogRelation = LOG_RELATIONS[name];
  const { columns } = logDesc(name);
  const rows = columns.map(
    (c, i) =>
      `| ${c.name} | ${typeToString(c.type)}${c.nullable ? ', may be NULL' : ''} | ${cell(relation.columns[i]!.doc)} |`,
  );
  const key = relation.key?.map((i) => columns[i]!.name).join(', ');
  return [
    `## ${name}`,
    '',
    `${relation.doc[0]!.toUpperCase()}${relation.doc.slice(1)}.${relation.counts ? ' Multiplicity is the number.' : ''}`,
    '',
    '| column | type | |',
    '|---|---|---|',
    ...rows,
    ...(key === undefined ? [] : ['', `Key: ${key}.`]),
    '',
  ].join('\n');
}

export const relationDocs = (): string => `${HEAD}\n${LOG_NAMES.map(section).join('\n')}`;
