/**
 * Lookup over the tables of functions. Built once, at the first question; ids are unique or it asserts.
 */
import { assert } from '../base/assert.ts';
import { AGGREGATES } from './aggregates.ts';
import { FUNCTIONS } from './functions/all.ts';
import type { AggregateDef, FunctionDef, TableFunctionDef } from './functions.ts';
import { TABLE_FUNCTIONS } from './table-functions.ts';

interface Index<T> {
  readonly byId: ReadonlyMap<string, T>;
  readonly byName: ReadonlyMap<string, readonly T[]>;
}

function indexOf<T extends { readonly id: string; readonly name: string | null }>(
  rows: readonly T[],
): Index<T> {
  const byId = new Map<string, T>();
  const byName = new Map<string, T[]>();
  for (const r of rows) {
    assert(!byId.has(r.id), `function id ${r.id} is unique`);
    byId.set(r.id, r);
    if (r.name === null) continue;
    const same = byName.get(r.name);
    if (same === undefined) byName.set(r.name, [r]);
    else same.push(r);
  }
  return { byId, byName };
}

const functions = indexOf(FUNCTIONS);
const aggregates = indexOf(AGGREGATES);
const tableFunctions = indexOf(TABLE_FUNCTIONS);

export const functionsByName = (name: string): readonly FunctionDef[] => functions.byName.get(name) ?? [];
export const aggregatesByName = (name: string): readonly AggregateDef[] => aggregates.byName.get(name) ?? [];
export const tableFunctionsByName = (name: string): readonly TableFunctionDef[] =>
  tableFunctions.byName.get(name) ?? [];

function found<T>(index: Index<T>, id: string): T {
  const def = index.byId.get(id);
  assert(def !== undefined, `function ${id} is in the table`);
  return def;
}

export const functionById = (id: string): FunctionDef => found(functions, id);
export const aggregateById = (id: string): AggregateDef => found(aggregates, id);
export const tableFunctionById = (id: string): TableFunctionDef => found(tableFunctions, id);

/** Every literal, for the catalog and the documentation. */
export const allFunctions = (): readonly FunctionDef[] => FUNCTIONS;
export const allAggregates = (): readonly AggregateDef[] => AGGREGATES;
export const allTableFunctions = (): readonly TableFunctionDef[] => TABLE_FUNCTIONS;
