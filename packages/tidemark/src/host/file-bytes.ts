/** A file of the machine as a `ByteSource`, read synchronously: for a thread that has nothing else to do. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { type ErrorCode, SqlError } from '../base/error.ts';
import { type ByteSource, fileMessage } from '../storage/byte-source.ts';
import { ioError } from './io-error.ts';

/** What opening says, in the words of users. */
const OPEN_ERRORS: Readonly<Record<string, readonly [code: ErrorCode, what: string]>> = {
  ENOENT: ['undefined_file', 'does not exist'],
  ENOTDIR: ['undefined_file', 'does not exist'],
  EACCES: ['insufficient_privilege', 'permission denied'],
  EPERM: ['insufficient_privilege', 'permission denied'],
  ENAMETOOLONG: ['invalid_parameter_value', 'the name is too long'],
  ELOOP: ['invalid_parameter_value', 'too many symbolic links'],
};

export class FileBytes implements ByteSource {
  readonly path: string;
  readonly byteLength: number;
  readonly #fd: number;

  constructor(path: string) {
    this.path = path;
    this.#fd = open(path);
    const stat = fstatSync(this.#fd);
    if (!stat.isFile()) {
      closeSync(this.#fd);
      throw new SqlError(
        'wrong_object_type',
        fileMessage(path, stat.isDirectory() ? 'is a directory' : 'is not a regular file'),
      );
    }
    this.byteLength = stat.size;
  }

  read(from: number, to: number): Uint8Array<ArrayBuffer> {
    const out = new Uint8Array(to - from);
    for (let n = 0; n < out.length; ) {
      const got = this.#readAt(out, n, from + n);
      if (got === 0)
        throw new SqlError('io_error', fileMessage(this.path, 'became shorter while it was read'), {
          detail: `it had ${this.byteLength} bytes and ends at ${from + n}`,
        });
      n += got;
    }
    return out;
  }

  #readAt(out: Uint8Array, at: number, position: number): number {
    try {
      return readSync(this.#fd, out, at, out.length - at, position);
    } catch (error) {
      throw ioError(fileMessage(this.path, 'could not be read'), error);
    }
  }

  close(): void {
    closeSync(this.#fd);
  }
}

function open(path: string): number {
  try {
    // Without the flag, opening a pipe waits for somebody to write into it.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const known = OPEN_ERRORS[String((error as { code?: unknown }).code)];
    if (known !== undefined) throw new SqlError(known[0], fileMessage(path, known[1]), { cause: error });
    throw ioError(fileMessage(path, 'could not be opened'), error);
  }
}
