/**
 * The builtin relations: each view's declared columns are those of its query, and no id or OID ever changes. The expected file is
 * written by `node --test test/builtins.test.ts` with `REWRITE=1`; read its diff: lines come, none changes or goes.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { storedContext } from '../packages/tidemark/src/adapter/items.ts';
import { builtinItems } from '../packages/tidemark/src/catalog/builtins/builtins.ts';
import { CatalogState } from '../packages/tidemark/src/catalog/catalog-state.ts';
import { planQuery } from '../packages/tidemark/src/plan/plan-query.ts';
import { type ColumnDesc, typeToString } from '../packages/tidemark/src/repr/types.ts';

const EXPECTED = new URL('./data/builtins.txt', import.meta.url);
const catalog = new CatalogState();

const text = (columns: readonly ColumnDesc[], nulls: boolean): string =>
  columns.map((c) => `${c.name} ${typeToString(c.type)}${nulls && c.nullable ? ' null' : ''}`).join(', ');

/**
 * Never NULL, though the planner cannot see it: a least or a sum over a group, EXISTS, a name that is always found, an address that
 * is never empty.
 */
const SURELY_SET = new Set([
  'mz_compute_dataflow_as_of.time',
  'mz_compute_frontiers.time',
  'mz_compute_import_frontiers.time',
  'mz_compute_operator_durations_histogram.count',
  'mz_dataflow_arrangement_sizes.id',
  ...['', '_per_worker'].flatMap((grain) => [
    `mz_dataflow_channel_operators${grain}.from_operator_address`,
    `mz_dataflow_channel_operators${grain}.to_operator_address`,
    `mz_dataflow_operator_dataflows${grain}.dataflow_id`,
    `mz_records_per_dataflow${grain}.id`,
    `mz_records_per_dataflow_operator${grain}.dataflow_id`,
  ]),
  'mz_dataflow_operator_reachability.count',
  ...['sent', 'received', 'batch_sent', 'batch_received'].map((c) => `mz_message_counts.${c}`),
  'mz_peek_durations_histogram.count',
  'mz_scheduling_elapsed.elapsed_ns',
  'mz_scheduling_parks_histogram.count',
  'pg_class.relhasindex',
  'pg_operator.oprleft',
  'pg_operator.oprright',
  'pg_settings.setting',
]);

test('a view has the columns it declares, and promises no column that may be NULL', () => {
  const wrong: string[] = [];
  const views = builtinItems()
    .map((b) => b.item)
    .filter((i) => i.kind === 'view');
  assert.ok(views.length > 20);
  for (const item of views) {
    const { columns } = item.desc;
    const { desc } = planQuery(item.query!, storedContext(catalog, ''));
    const [declared, derived] = [text(columns, false), text(desc.columns, false)];
    if (declared !== derived) wrong.push(`${item.name.item}:\n  declared ${declared}\n  derived  ${derived}`);
    for (const [i, c] of columns.entries())
      if (!c.nullable && desc.columns[i]?.nullable && !SURELY_SET.has(`${item.name.item}.${c.name}`))
        wrong.push(`${item.name.item}.${c.name} may be NULL`);
  }
  assert.deepEqual(wrong, []);
});

test('ids and OIDs are unique, and never change', () => {
  const items = builtinItems().map((b) => b.item);
  assert.equal(new Set(items.map((i) => i.id)).size, items.length);
  assert.equal(new Set(items.map((i) => i.oid)).size, items.length);
  assert.equal(new Set(items.map((i) => `${i.name.schema}.${i.name.item}`)).size, items.length);
  const now = `${items.map((i) => `${i.id} ${i.oid} ${i.kind} ${i.name.schema}.${i.name.item}(${text(i.desc.columns, true)})`).join('\n')}\n`;
  if (process.env['REWRITE'] === '1') writeFileSync(EXPECTED, now);
  assert.equal(now, readFileSync(EXPECTED, 'utf8'));
});
