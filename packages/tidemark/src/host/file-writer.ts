/** Files that COPY … TO writes, on the machine of the replica: under a name of their own until they are whole. */

import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, rename, unlink } from 'node:fs/promises';
import { dirname, isAbsolute } from 'node:path';
import { SqlError } from '../base/error.ts';
import type { FileWriter } from '../compute/sink/sink.ts';
import { syncDirectory } from './disk-blob.ts';
import { ioError } from './io-error.ts';

const CODES = {
  ENOENT: ['undefined_file', 'no such directory'],
  ENOTDIR: ['undefined_file', 'not a directory'],
  EISDIR: ['undefined_file', 'it is a directory'],
  EACCES: ['insufficient_privilege', 'permission denied'],
  EPERM: ['insufficient_privilege', 'operation not permitted'],
} as const;

export async function openFile(path: string): Promise<FileWriter> {
  if (!isAbsolute(path))
    throw new SqlError('invalid_parameter_value', `COPY needs an absolute path, and "${path}" is none`);
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  const failed = (error: unknown): SqlError => {
    const known = CODES[(error as { code: keyof typeof CODES }).code];
    if (known === undefined) return ioError(`file ${path} could not be written`, error);
    const [code, reason] = known;
    return new SqlError(code, `could not open file "${path}" for writing: ${reason}`, { cause: error });
  };
  let file: FileHandle;
  try {
    file = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o644);
  } catch (error) {
    throw failed(error);
  }
  const attempt = async (f: () => Promise<unknown>): Promise<void> => {
    try {
      await f();
    } catch (error) {
      throw failed(error);
    }
  };
  return {
    write: (bytes) => attempt(() => file.writev(bytes)),
    commit: () =>
      attempt(async () => {
        await file.sync();
        await file.close();
        await rename(temporary, path);
        await syncDirectory(dirname(path));
      }),
    async abort() {
      await file.close().catch(() => undefined);
      await unlink(temporary);
    },
  };
}
