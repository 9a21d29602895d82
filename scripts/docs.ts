/** `npm run docs`: writes what documents derive from data. */
import { writeFileSync } from 'node:fs';
import { LayerRules } from './checks/layer-rules.ts';
import { DOCUMENT, withTable } from './checks/layer-table.ts';
import { RELATIONS_DOCUMENT, relationDocs } from './checks/relation-docs.ts';
import { readText } from './checks/source-tree.ts';

const root = process.cwd();
const text = withTable(readText(root, DOCUMENT), new LayerRules(root));
if (text === undefined) throw new Error(`${DOCUMENT} has no place for the table of layers`);
writeFileSync(DOCUMENT, text);
writeFileSync(RELATIONS_DOCUMENT, relationDocs());
