/** Every function of the dialect. */
import type { FunctionDef } from '../functions.ts';
import { ARITHMETIC } from './arithmetic.ts';
import { ARRAYS } from './arrays.ts';
import { CAST_FUNCTIONS } from './casts.ts';
import { COMPARISON } from './comparison.ts';
import { DATETIME } from './datetime.ts';
import { JSONB } from './jsonb.ts';
import { MATH } from './math.ts';
import { PATTERN } from './pattern.ts';
import { SYSTEM } from './system.ts';
import { TEXT } from './text.ts';

export const FUNCTIONS: readonly FunctionDef[] = [
  ...ARITHMETIC,
  ...COMPARISON,
  ...MATH,
  ...TEXT,
  ...PATTERN,
  ...DATETIME,
  ...JSONB,
  ...ARRAYS,
  ...SYSTEM,
  ...CAST_FUNCTIONS,
];
