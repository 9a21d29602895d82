/** `WITH (NAME = value)` as data. */
import { SqlError } from '../../base/error.ts';
import type { OptionValue, SqlOption } from '../../sql/ast.ts';
import type { OptionDatum, Options } from './plan.ts';

function optionDatum(v: OptionValue | undefined): OptionDatum {
  if (v === undefined) return true;
  switch (v.kind) {
    case 'string':
      return v.value;
    case 'number':
      return Number(v.text);
    case 'boolean':
      return v.value;
    case 'word':
      return v.text;
    case 'optionList':
      return v.items.map(optionDatum);
    case 'secret':
      return { secret: v.name.parts.map((p) => p.name).join('.') };
  }
}

/** `known`: the names that the statement takes; undefined: whoever uses them checks. */
export function readOptions(options: readonly SqlOption[], known?: readonly string[]): Options {
  const out: Record<string, OptionDatum> = {};
  for (const o of options) {
    const position = o.pos + 1;
    if (known !== undefined && !known.includes(o.name))
      throw new SqlError('invalid_parameter_value', `unrecognized option "${o.name}"`, {
        position,
        hint: `Valid options are: ${known.map((k) => k.toUpperCase()).join(', ')}.`,
      });
    if (Object.hasOwn(out, o.name))
      throw new SqlError('syntax_error', `conflicting or redundant options: "${o.name}"`, { position });
    out[o.name] = optionDatum(o.value);
  }
  return out;
}

/** A setting's values as the variables take them: text. */
export const settingText = (v: OptionValue): string => {
  const d = optionDatum(v);
  if (typeof d === 'boolean') return d ? 'on' : 'off';
  return v.kind === 'number' ? v.text : String(d);
};
