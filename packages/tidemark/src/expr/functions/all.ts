/** Every function of the dialect. */
import type { FunctionDef } from '../functions.ts';
import { ARITHMETIC } from './arithmetic.ts';
import { ARRAYS } from './arrays.ts';
import { CAST_FUNCTIONS } from './casts.ts';
import { COMPARISON } from './comparison.ts';
import { DATETIME } from './datetime.ts';
import { DATETIME_FIELDS } from './datetime-fields.ts';
import { ENCODINGS } from './encodings.ts';
import { JSONB } from './jsonb.ts';
import { LISTS } from './lists.ts';
import { MATH } from './math.ts';
import { PATTERN } from './pattern.ts';
import { QUANTIFIED } from './quantified.ts';
import { SYSTEM } from './system.ts';
import { TEXT } from './text.ts';
import { TEXT_FORMAT } from './text-format.ts';
import { TO_CHAR_NUMBER } from './to-char-number.ts';

export const FUNCTIONS: readonly FunctionDef[] = [
  ...ARITHMETIC,
  ...COMPARISON,
  ...MATH,
  ...TEXT,
  ...TEXT_FORMAT,
  ...PATTERN,
  ...DATETIME,
  ...DATETIME_FIELDS,
  ...JSONB,
  ...ARRAYS,
  ...LISTS,
  ...QUANTIFIED,
  ...SYSTEM,
  ...ENCODINGS,
  ...TO_CHAR_NUMBER,
  ...CAST_FUNCTIONS,
];
