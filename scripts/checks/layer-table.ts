/** The table of layers in ARCHITECTURE.md: written from layers.json, and checked to be so. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LayerRules } from './layer-rules.ts';
import { type Finding, readText } from './source-tree.ts';

export const DOCUMENT = 'ARCHITECTURE.md';
const BLOCK = /(<!-- layers:[^>]*-->\n)([\s\S]*?)(<!-- end of layers -->)/;

/** The document with its table as `rules` have it; nothing where it has no place for one. */
export function withTable(text: string, rules: LayerRules): string | undefined {
  return BLOCK.test(text)
    ? text.replace(BLOCK, (_, open: string, _old: string, end: string) => `${open}${rules.table()}\n${end}`)
    : undefined;
}

export function checkTable(root: string, rules: LayerRules): Finding[] {
  if (!existsSync(join(root, DOCUMENT))) return [];
  const text = readText(root, DOCUMENT);
  const wanted = withTable(text, rules);
  if (wanted === text) return [];
  const message =
    wanted === undefined
      ? 'has no table between <!-- layers: … --> and <!-- end of layers -->'
      : 'has an old table of layers: run npm run docs';
  return [{ path: DOCUMENT, line: 1, rule: 'layers', message }];
}
