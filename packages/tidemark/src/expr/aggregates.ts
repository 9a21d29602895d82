import type { AggregateDef } from './functions.ts'; export const AGGREGATES: readonly AggregateDef[] = [];
