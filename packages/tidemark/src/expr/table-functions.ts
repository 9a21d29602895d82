import type { TableFunctionDef } from './functions.ts'; export const TABLE_FUNCTIONS: readonly TableFunctionDef[] = [];
