/** The options of COPY … TO as a format. */
import { SqlError, unsupported } from '../../base/error.ts';
import { COPY_CSV, COPY_TEXT, type CopyFormat } from '../../repr/copy-text.ts';
import type { OptionDatum, Options } from './plan.ts';

export function copyFormat(options: Options): CopyFormat {
  const { format = 'text', ...rest } = options;
  const base = format === 'csv' ? COPY_CSV : format === 'text' ? COPY_TEXT : undefined;
  if (base === undefined) throw unsupported(`COPY in format ${String(format)}`);
  const read: Record<string, string | boolean> = {};
  for (const [name, value] of Object.entries(rest)) {
    const set = OPTIONS[name];
    if (set === undefined) throw unsupported(`${name.toUpperCase()} in COPY`);
    read[name] = set(name, value);
  }
  const f: CopyFormat = {
    ...base,
    ...(typeof read['quote'] === 'string' && { escape: read['quote'] }),
    ...read,
  };
  if (f.kind === 'text' && ('quote' in read || 'escape' in read))
    throw new SqlError('invalid_parameter_value', 'COPY QUOTE and ESCAPE are only for CSV');
  if (f.kind === 'text' && /[\\.a-z0-9]/.test(f.delimiter))
    throw new SqlError('invalid_parameter_value', `COPY delimiter cannot be "${f.delimiter}"`);
  if (f.kind === 'csv' && f.delimiter === f.quote)
    throw new SqlError('invalid_parameter_value', 'COPY delimiter and quote must be different');
  if (f.null.includes(f.delimiter) || (f.kind === 'csv' && f.null.includes(f.quote)))
    throw new SqlError(
      'invalid_parameter_value',
      'the null string of COPY cannot hold its delimiter or quote',
    );
  return f;
}

type Read = (name: string, value: OptionDatum) => string | boolean;

function text(name: string, value: OptionDatum): string {
  if (typeof value === 'string' && !/[\r\n]/.test(value)) return value;
  throw new SqlError('invalid_parameter_value', `COPY ${name} must be a string without line breaks`);
}

function byte(name: string, value: OptionDatum): string {
  if (typeof value === 'string' && /^[^\0\r\n\x80-\uffff]$/.test(value)) return value;
  throw new SqlError('invalid_parameter_value', `COPY ${name} must be a single one-byte character`);
}

function flag(name: string, value: OptionDatum): boolean {
  if (value === null || value === true || value === 'true' || value === 'on' || value === 1) return true;
  if (value === false || value === 'false' || value === 'off' || value === 0) return false;
  throw new SqlError('invalid_parameter_value', `COPY ${name} requires a Boolean value`);
}

const OPTIONS: Readonly<Record<string, Read>> = {
  delimiter: byte,
  null: text,
  header: flag,
  quote: byte,
  escape: byte,
};
