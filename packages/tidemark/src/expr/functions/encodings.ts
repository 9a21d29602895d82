/** Bytes in text forms. */
import { SqlError } from '../../base/error.ts';
import { byteaToText, parseHex } from '../../repr/scalars.ts';
import { decodeUtf8, encodeUtf8 } from '../../repr/text.ts';
import type { FunctionDef } from '../functions.ts';
import type { RowFunction } from '../kernels/per-row.ts';
import { FAILS, rowFunction } from './define.ts';

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
function base64Encode(b: Uint8Array): string {
  let out = '';
  for (let i = 0; i < b.length; i += 3) {
    const n = (b[i]! << 16) | ((b[i + 1] ?? 0) << 8) | (b[i + 2] ?? 0);
    out += BASE64[n >> 18]! + BASE64[(n >> 12) & 63]!;
    out += i + 1 < b.length ? BASE64[(n >> 6) & 63]! : '=';
    out += i + 2 < b.length ? BASE64[n & 63]! : '=';
  }
  // Lines of 76 characters, as MIME has them.
  return out.replace(/.{76}(?=.)/g, '$&\n');
}

function base64Decode(s: string): Uint8Array {
  const bare = s.replace(/[\s]/g, '');
  const digits = bare.replace(/=+$/, '');
  const out: number[] = [];
  let bits = 0;
  let n = 0;
  for (const c of digits) {
    const v = BASE64.indexOf(c);
    if (v < 0)
      throw new SqlError(
        'invalid_parameter_value',
        `invalid symbol "${c}" found while decoding base64 sequence`,
      );
    n = ((n << 6) | v) & 0xffffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out.push((n >> bits) & 0xff);
    }
  }
  if (bare.length % 4 !== 0)
    throw new SqlError('invalid_parameter_value', 'invalid base64 end sequence', {
      hint: 'Input data is missing padding, is truncated, or is otherwise corrupted.',
    });
  return Uint8Array.from(out);
}

const unknownEncoding = (name: string): SqlError =>
  new SqlError('invalid_parameter_value', `unrecognized encoding: "${name}"`);

const encode: RowFunction = ([bytes, format]) => {
  if (format === 'hex') return byteaToText(bytes).slice(2);
  if (format === 'base64') return base64Encode(bytes);
  throw unknownEncoding(format);
};
const decode: RowFunction = ([text, format]) => {
  if (format === 'hex') return parseHex(text);
  if (format === 'base64') return base64Decode(text);
  throw unknownEncoding(format);
};

export const ENCODINGS: readonly FunctionDef[] = [
  rowFunction(
    'encode_bytea_text',
    'encode',
    ['bytea', 'text'],
    'text',
    encode,
    'Bytes as text: hex or base64.',
    FAILS,
  ),
  rowFunction(
    'decode_text_text',
    'decode',
    ['text', 'text'],
    'bytea',
    decode,
    'Text as bytes: hex or base64.',
    FAILS,
  ),
  rowFunction(
    'convert_from_bytea_name',
    'convert_from',
    ['bytea', 'name'],
    'text',
    ([b, e]) => {
      if (!/^utf-?8$/i.test(e)) throw unknownEncoding(e);
      return decodeUtf8(b);
    },
    'Bytes as text.',
    FAILS,
  ),
  rowFunction(
    'convert_to_text_name',
    'convert_to',
    ['text', 'name'],
    'bytea',
    ([s, e]) => {
      if (!/^utf-?8$/i.test(e)) throw unknownEncoding(e);
      return encodeUtf8(s);
    },
    'Text as bytes.',
    FAILS,
  ),
];
