import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SqlError } from '../base/error.ts';
import { explain } from './arguments.ts';

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));
const tidemark = (...args: string[]) => spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8' });

test('an error that a user can act on is one line, with what is known of it', () => {
  const plain = new SqlError('io_error', 'data directory x could not be made');
  assert.equal(explain(plain), 'data directory x could not be made');
  const whole = new SqlError('io_error', 'data directory x could not be made', {
    detail: 'EACCES: permission denied',
    hint: 'use another',
  });
  assert.equal(explain(whole), 'data directory x could not be made (EACCES: permission denied; use another)');
});

test('a wrong argument is refused in one line, and addresses show as they are typed', () => {
  const loud = tidemark('serve', '--memory', '--log-level', 'loud');
  assert.equal(loud.status, 1);
  assert.match(loud.stderr, /^error: option '--log-level <level>' argument 'loud' is invalid\. [^\n]*\n$/);
  assert.match(tidemark('serve', '--help').stdout, /\(default: 127\.0\.0\.1:6875\)/);
});
