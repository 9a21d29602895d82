/**
 * PostgreSQL 18's own grammar (libpg-query) against ours: which texts are statements, and where a broken one breaks.
 * Faults this cannot see: a tree with the wrong meaning (`precedence.test.ts`, and the planner's oracle), and whatever
 * falls under a listed difference.
 */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { hasSqlDetails, loadModule, parseSync } from 'libpg-query';
import {
  readCorpus,
  readPsqlCorpus,
  replay,
  runs,
  SEED,
  seededRandom,
} from '../../../../test/support/sql-corpus.ts';
import { POSTGRES_ERRORS } from '../../../../test/support/sql-errors.ts';
import { PRECEDENCE } from '../../../../test/support/sql-precedence.ts';
import { SqlError } from '../base/error.ts';
import { mutate, tokenTexts } from './mutate.ts';
import { parseStatements } from './parse.ts';
import { printStatement } from './print.ts';

before(() => loadModule());

interface Verdict {
  readonly ok: boolean;
  readonly message: string;
  readonly position: number;
}
const OK: Verdict = { ok: true, message: '', position: 0 };

function oracle(text: string): Verdict {
  try {
    parseSync(text);
    return OK;
  } catch (error) {
    if (!hasSqlDetails(error)) throw error;
    const details = error.sqlDetails;
    return { ok: false, message: details?.message ?? '', position: (details?.cursorPosition ?? -1) + 1 };
  }
}

function ours(text: string): Verdict | 'unsupported' {
  try {
    parseStatements(text);
    return OK;
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    if (error.code === 'feature_not_supported') return 'unsupported';
    return { ok: false, message: error.message, position: error.position ?? 0 };
  }
}

test('PostgreSQL accepts the corpora of plain statements, and what we print of them', () => {
  for (const { where, text } of [...readCorpus('sql/postgres.sql'), ...readPsqlCorpus()]) {
    assert.deepEqual(oracle(text), OK, where);
    assert.deepEqual(ours(text), OK, where);
    for (const { statement } of parseStatements(text)) {
      const printed = printStatement(statement);
      assert.deepEqual(oracle(printed), OK, `${where}: ${printed}`);
    }
  }
});

test('the table of errors is PostgreSQL’s', () => {
  const found = POSTGRES_ERRORS.map(([text]) => ({ text, ...oracle(text) }));
  const expected = POSTGRES_ERRORS.map(([text, message, position]) => ({
    text,
    ok: false,
    message,
    position,
  }));
  assert.deepEqual(found, expected);
});

/** PostgreSQL's tree of a text, without its places. */
function oracleTree(text: string): string {
  const place = /location|_len$|_start$|_end$|^(funcformat|row_format|behavior)$/;
  const tree = JSON.stringify(parseSync(text), (key, value) => (place.test(key) ? undefined : value));
  // Types and functions behind keywords carry their schema; ours have plain names.
  return tree.replaceAll('{"String":{"sval":"pg_catalog"}},', '');
}

test('the table of precedence is PostgreSQL’s', () => {
  for (const [bare, grouped] of PRECEDENCE) {
    assert.equal(oracleTree(`select ${bare}`), oracleTree(`select ${grouped}`), bare);
  }
});

/** Rewritings that PostgreSQL's tree shows and its meaning does not. */
const REWRITTEN: readonly RegExp[] = [
  /\d\.(?!\d)|(^|[^\d])\.\d|\de\+/i, // 5. .5 1e+5
  /\bbit\b/i, // BIT '1' has a length
  /\bcurrent_schema\s*\(/i,
  /\b(rows|range|groups)\b/i, // both ends of a frame are written
  /\bgroup by\b.*\(/is, // GROUP BY (a, b)
  /\basc\b|\busing [<>]/i,
  /\blimit\s+all\b/i,
  /^(with\b.*)?update\b.*\bset\b.*\(/is, // SET (a, b) = (1, 2)
  /^copy\b/i, // options of the old syntax
  /^start\b/i,
  /^set (session |local )?time zone\b|^set local (session )?transaction\b/i,
  /\binsensitive\b/i,
  /^(set|reset|show)\b.*"/i, // names of settings are folded
  /^create index\b.*\( ?\w+ ?\)/i, // ((a)) is (a)
];

/** What PostgreSQL makes of a text and of our printing of it. */
function meanings(text: string): readonly string[] {
  const printed = parseStatements(text).map(({ statement }) => printStatement(statement));
  return [text, printed.join('; ')].map(oracleTree);
}

test('what is printed means the same to PostgreSQL: nothing was dropped or bound otherwise', () => {
  let compared = 0;
  for (const { where, text } of [...readCorpus('sql/postgres.sql'), ...readPsqlCorpus()]) {
    if (REWRITTEN.some((pattern) => pattern.test(text))) continue;
    const [meant, printed] = meanings(text);
    assert.equal(printed, meant, where);
    compared++;
  }
  assert.ok(compared > 250, `${compared} compared`);
});

interface Difference {
  readonly why: string;
  readonly applies: (text: string, pg: Verdict, us: Verdict) => boolean;
}

const OPERATOR_WORD =
  /\b(and|or|is|isnull|notnull|in|like|ilike|similar|between|not|collate|overlaps|at)\W*$/i;

/** Where the two grammars part on purpose, or where parting costs nothing. */
const DIFFERENCES: readonly Difference[] = [
  {
    why: 'SUBSCRIBE, and EXPLAIN and SHOW of objects, are ours',
    applies: (text) => /^(explain|show|subscribe)\b/i.test(text),
  },
  { why: 'AS OF is a clause of ours', applies: (text) => /\bas\s+of\b/i.test(text) },
  {
    why: 'LIST[…], t LIST and MAP[…] are ours',
    applies: (text) => /\blist\b|\bmap\b/i.test(text),
  },
  {
    why: 'a word that is an operator is never a column label without AS',
    applies: (text, _, us) => {
      const before = text.slice(0, us.position - 1);
      return (
        !us.ok &&
        (OPERATOR_WORD.test(before) ||
          OPERATOR_WORD.test(before + text.slice(us.position - 1).split(/\s/)[0]))
      );
    },
  },
  {
    why: 'options have names of several words, any word as a value, and `=`',
    applies: (text) => /\b(explain|set|reset|with)\s*\(|^copy\b.*\(/i.test(text),
  },
  {
    why: 'said here, in PostgreSQL after its grammar',
    applies: (_, __, us) => /^VALUES lists|^number of columns does not match/.test(us.message),
  },
  {
    why: 'ALTER TABLE takes one action here',
    applies: (text) => /^alter (table|view|index) .*,/.test(text),
  },
  {
    why: 'ALTER … ALL IN TABLESPACE is not ours',
    applies: (text) => /^alter (table|index|materialized view) all\b/.test(text),
  },
  {
    why: 'CREATE and ALTER DATABASE have no options here',
    applies: (text) => /\b(create|alter) database\b/.test(text),
  },
  { why: 'an index key is any expression', applies: (text) => /\bcreate index\b/.test(text) },
  {
    why: 'PostgreSQL finds `t.*` in place of a table one token later',
    applies: (text) => /\. \*/.test(text),
  },
  {
    why: 'a column called BETWEEN in a frame',
    applies: (text) => /\bbetween (and|\w+ preceding)/.test(text),
  },
];

test('broken and mended statements: the same verdict, the same place', () => {
  // libpg-query takes `$1` in many places where PostgreSQL does not.
  const corpus = readCorpus('sql/postgres.sql').filter(({ text }) => !/\$\d/.test(text));
  const statements = corpus.map(({ text }) => tokenTexts(text));
  const n = runs(3000);
  const seen = { same: 0, accepted: 0, listed: 0, unsupported: 0 };
  for (let seed = SEED; seed < SEED + n; seed++) {
    const text = mutate(statements, seededRandom(seed));
    if (text.trim() === '') continue;
    const us = ours(text);
    const pg = oracle(text);
    if (us === 'unsupported') {
      seen.unsupported++;
      continue;
    }
    const same = us.ok === pg.ok && us.message === pg.message && us.position === pg.position;
    if (same) seen.same++;
    if (same && us.ok) {
      seen.accepted++;
      if (!REWRITTEN.some((pattern) => pattern.test(text))) {
        const [meant, printed] = meanings(text);
        assert.equal(printed, meant, `${replay(seed)}\n${text}`);
      }
    }
    if (same) continue;
    if (DIFFERENCES.some(({ applies }) => applies(text, pg, us))) {
      seen.listed++;
      continue;
    }
    assert.deepEqual(us, pg, `${replay(seed)}\n${text}`);
  }
  if (n < 1000) return;
  // A run that compares little, or agrees only on refusals, proves little.
  assert.ok(seen.same > n * 0.9 && seen.accepted > n * 0.05, JSON.stringify(seen));
});
