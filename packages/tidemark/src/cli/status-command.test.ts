import assert from 'node:assert/strict';
import { test } from 'node:test';
import { showStatus } from './status-command.ts';

test('who watches a server that is gone sees that, and not what was drawn before', async () => {
  const shown: string[] = [];
  const ending = new AbortController();
  const terminal = {
    ...{ isTTY: true, columns: 80, color: false },
    write: (text: string) => void shown.push(text),
    fail: (text: string) => {
      shown.push(text);
      if (shown.length === 4) ending.abort();
    },
  };
  const code = await showStatus({ url: new URL('http://127.0.0.1:9'), watch: true }, terminal, ending.signal);
  const clear = '\u001b[H\u001b[2J';
  const gone = 'tidemark status: no answer from 127.0.0.1:9 (bad port)\n';
  assert.deepEqual([code, shown], [2, [clear, gone, clear, gone]]);
});
