/**
 * The client's messages with contents, each one function from a frame to a value. Every function uses the frame
 * up or throws.
 */
import { SqlError } from '../base/error.ts';
import type { BindRequest, Format, ParseRequest } from './backend.ts';
import { type FrameReader, violation } from './frame-reader.ts';
import { TARGET } from './messages.ts';

function count(frame: FrameReader): number {
  // Counts are unsigned in practice: libpq binds up to 65,535 parameters.
  return frame.int16() & 0xffff;
}

function formats(frame: FrameReader): Format[] {
  const list: Format[] = [];
  for (let n = count(frame); n > 0; n--) list.push(frame.format());
  return list;
}

export function readQuery(frame: FrameReader): string {
  const text = frame.cstring();
  frame.done();
  return text;
}

export function readParse(frame: FrameReader): ParseRequest {
  const name = frame.cstring();
  const text = frame.cstring();
  const paramOids: number[] = [];
  for (let n = count(frame); n > 0; n--) paramOids.push(frame.uint32());
  frame.done();
  return { name, text, paramOids };
}

export function readBind(frame: FrameReader): BindRequest {
  const portal = frame.cstring();
  const statement = frame.cstring();
  const paramFormats = formats(frame);
  const params: (Uint8Array | null)[] = [];
  for (let n = count(frame); n > 0; n--) {
    const length = frame.int32();
    params.push(length === -1 ? null : frame.take(length));
  }
  const resultFormats = formats(frame);
  frame.done();
  return { portal, statement, params, paramFormats, resultFormats };
}

/** Describe and Close name a statement or a portal. */
export function readTarget(frame: FrameReader): { readonly portal: boolean; readonly name: string } {
  const kind = frame.byte();
  if (kind !== TARGET.portal && kind !== TARGET.statement) {
    throw violation(`invalid target ${kind}: 83 is a statement, 80 a portal`);
  }
  const name = frame.cstring();
  frame.done();
  return { portal: kind === TARGET.portal, name };
}

export function readExecute(frame: FrameReader): { readonly portal: string; readonly maxRows: number } {
  const portal = frame.cstring();
  const maxRows = frame.int32();
  frame.done();
  // PostgreSQL takes a negative limit, like 0, for none.
  return { portal, maxRows: maxRows > 0 ? maxRows : Number.POSITIVE_INFINITY };
}

export interface StartupPacket {
  readonly user: string;
  readonly database: string;
  readonly settings: ReadonlyMap<string, string>;
  /** `_pq_.` options, none of which we know. */
  readonly unknownOptions: readonly string[];
}

/** The pairs after the version of a StartupMessage. */
export function readStartup(frame: FrameReader): StartupPacket {
  const settings = new Map<string, string>();
  const unknownOptions: string[] = [];
  for (let name = frame.cstring(); name !== ''; name = frame.cstring()) {
    const value = frame.cstring();
    if (name.startsWith('_pq_.')) unknownOptions.push(name);
    else settings.set(name, value);
  }
  frame.done();
  const take = (name: string): string => {
    const value = settings.get(name) ?? '';
    settings.delete(name);
    return value;
  };
  const user = take('user');
  if (user === '') {
    throw new SqlError(
      'invalid_authorization_specification',
      'no PostgreSQL user name specified in startup packet',
    );
  }
  const database = take('database') || user;
  const replication = take('replication').toLowerCase();
  if (!['', '0', 'no', 'off', 'false'].includes(replication)) {
    throw new SqlError('feature_not_supported', 'a replication connection is not supported');
  }
  for (const [name, value] of parseOptions(take('options'))) settings.set(name, value);
  checkClientEncoding(settings);
  return { user, database, settings, unknownOptions };
}

/** `-c name=value`, `-cname=value` and `--name=value`, split at spaces that no backslash precedes. */
export function parseOptions(options: string): [name: string, value: string][] {
  const words = [...options.matchAll(/(?:\\.|[^\s\\])+/gs)].map((match) => match[0].replace(/\\(.)/gs, '$1'));
  const settings: [string, string][] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i];
    const assignment = word === '-c' ? (words[++i] ?? '') : /^(?:-c|--)(.*)$/s.exec(word)?.[1];
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(assignment ?? '') ?? [];
    if (name === undefined) {
      throw new SqlError('syntax_error', `invalid command-line argument in startup packet: ${word}`);
    }
    settings.push([name.replaceAll('-', '_'), value]);
  }
  return settings;
}

/** Spellings of UTF-8, and SQL_ASCII (a client in the C locale), which means "pass bytes through". */
const UTF8_NAMES = new Set(['UTF8', 'UNICODE', 'SQLASCII']);

function checkClientEncoding(settings: Map<string, string>): void {
  const asked = settings.get('client_encoding');
  if (asked === undefined) return;
  if (!UTF8_NAMES.has(asked.replaceAll(/[^A-Za-z0-9]/g, '').toUpperCase())) {
    throw new SqlError('feature_not_supported', `conversion between ${asked} and UTF8 is not supported`, {
      hint: 'set client_encoding to UTF8',
    });
  }
  settings.set('client_encoding', 'UTF8');
}
