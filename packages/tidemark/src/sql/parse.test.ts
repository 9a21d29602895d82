import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCorpus, readPsqlCorpus, withoutPositions } from '../../../../test/support/sql-corpus.ts';
import { DIALECT_ERRORS, POSTGRES_ERRORS } from '../../../../test/support/sql-errors.ts';
import { SqlError } from '../base/error.ts';
import { MAX_TEXT } from './cursor.ts';
import { parseExpr, parseStatement, parseStatements, parseTypeName } from './parse.ts';
import { printStatement } from './print.ts';
import { printExpr } from './print-query.ts';
import { exprStart } from './walk.ts';

function refusal(text: string): SqlError {
  try {
    parseStatements(text);
  } catch (error) {
    assert.ok(error instanceof SqlError, `${text}: ${String(error)}`);
    return error;
  }
  assert.fail(`accepted: ${text}`);
}

test('every statement of the corpora is read, and reads the same once printed', () => {
  const kinds = new Set<string>();
  const corpus = [...readPsqlCorpus(), ...readCorpus('sql/postgres.sql'), ...readCorpus('sql/dialect.sql')];
  assert.ok(corpus.length > 500);
  for (const { where, text } of corpus) {
    const statement = parseStatement(text);
    kinds.add(statement.kind);
    const printed = printStatement(statement);
    assert.deepEqual(
      withoutPositions(parseStatement(printed)),
      withoutPositions(statement),
      `${where}: ${printed}`,
    );
  }
  // A statement kind without an example would be one that nothing here tests.
  assert.equal(kinds.size, 50, [...kinds].sort().join(' '));
});

test('a text of several statements is split, each with its source', () => {
  const parsed = parseStatements(`;; select 1 ; /* c */ select ';'  ;\n select 3 -- end`);
  assert.deepEqual(
    parsed.map(({ text, pos }) => [text, pos]),
    [
      ['select 1', 3],
      ["select ';'", 22],
      ['select 3', 37],
    ],
  );
  assert.equal(parsed[1]?.statement.pos, 22);
  assert.deepEqual(parseStatements(' -- nothing'), []);
  assert.equal(refusal('select 1; show x y').position, 18);
});

test('syntax errors have the words and the place PostgreSQL gives them', () => {
  for (const [text, message, position] of [...POSTGRES_ERRORS, ...DIALECT_ERRORS]) {
    const error = refusal(text);
    assert.deepEqual([text, error.message, error.position], [text, message, position]);
  }
});

/** Text -> what the message names, where. */
const UNSUPPORTED: readonly (readonly [string, RegExp, number])[] = [
  ['insert into t values (1) on conflict do nothing', /^ON CONFLICT is not supported$/, 26],
  ['select a into b from t', /^SELECT INTO /, 10],
  ['select a from only t', /^ONLY /, 15],
  ['select a from t tablesample system (10)', /^TABLESAMPLE /, 17],
  ['select a is json', /^IS JSON /, 10],
  ['select xmlelement(name a)', /^XMLELEMENT /, 8],
  ['with a as (insert into t values (1) returning a) select 1', /^a data-modifying statement in WITH /, 12],
  ['merge into t using u on true when matched then delete', /^MERGE /, 1],
  ['create function f() returns int', /^CREATE FUNCTION /, 1],
  ['create unique index on t (a)', /^CREATE UNIQUE INDEX /, 21],
  ['create table t as select 1', /^CREATE TABLE AS /, 16],
  ['alter table t add column a int', /^ALTER TABLE … ADD /, 15],
  ['rollback to savepoint a', /^SAVEPOINT /, 10],
  ['savepoint a', /^SAVEPOINT /, 1],
  ['truncate t', /^TRUNCATE /, 1],
  ['grant select on t to u', /^GRANT /, 1],
  ['fetch backward 1 from c', /^FETCH BACKWARD /, 7],
  ['copy t from program $$x$$', /^COPY PROGRAM /, 13],
  ['create sink s from t into kafka', /^a sink into KAFKA /, 27],
];

test('what is recognised and not supported is refused by name', () => {
  for (const [text, message, position] of UNSUPPORTED) {
    const error = refusal(text);
    assert.equal(error.sqlstate, '0A000', text);
    assert.match(error.message, message);
    assert.equal(error.position, position, text);
  }
});

test('our own words name columns, tables and aliases', () => {
  for (const word of 'cluster replica replicas subscribe progress snapshot source sink secret metrics hydration at list map'.split(
    ' ',
  )) {
    const text = `select ${word}, ${word}.a, b as ${word}, c ${word} from ${word} as ${word} (${word}) where ${word} > 1`;
    assert.equal(parseStatement(text).kind, 'selectStatement', text);
    assert.equal(parseStatement(`create table ${word} (${word} int)`).kind, 'createTable');
  }
});

test('operators stand at their symbol, expressions start at their first token', () => {
  const sum = parseExpr('  a + b * c');
  assert.deepEqual([sum.pos, exprStart(sum)], [4, 2]);
  const cast = parseExpr(`'1'::int`);
  assert.deepEqual([cast.pos, exprStart(cast)], [3, 0]);
  const between = parseExpr('a.b not between 1 and 2');
  assert.deepEqual([between.pos, exprStart(between)], [4, 0]);
});

test('types have their names in pg_type', () => {
  const named = (text: string) => {
    const { name, modifiers } = parseTypeName(text);
    return `${name.parts.map((p) => p.name).join('.')}(${modifiers.map(printExpr).join()})`;
  };
  const table = {
    int: 'int4()',
    bigint: 'int8()',
    smallint: 'int2()',
    real: 'float4()',
    float: 'float8()',
    'float(24)': 'float4()',
    'double precision': 'float8()',
    'decimal(5, 2)': 'numeric(5,2)',
    boolean: 'bool()',
    char: 'bpchar(1)',
    'char(3)': 'bpchar(3)',
    'character varying(4)': 'varchar(4)',
    '"char"': 'char()',
    'timestamp(3) with time zone': 'timestamptz(3)',
    'time without time zone': 'time()',
    bit: 'bit(1)',
    'bit varying': 'varbit()',
    'pg_catalog.int4': 'pg_catalog.int4()',
  };
  for (const [text, expected] of Object.entries(table)) assert.equal(named(text), expected, text);
});

test('bounds: nesting, height of the tree, size of the text', () => {
  const deep = (open: string, middle: string, close: string, n: number) =>
    open.repeat(n) + middle + close.repeat(n);
  const tooComplex: readonly string[] = [
    `select ${deep('(', '1', ')', 100_000)}`,
    `select ${deep('not ', 'a', '', 100_000)}`,
    `select ${deep('- ', 'a', '', 100_000)}`,
    `select ${deep('f(', '1', ')', 100_000)}`,
    `select ${deep('array[', '1', ']', 100_000)}`,
    `select ${deep('case when a then ', '1', ' end', 100_000)}`,
    `select ${deep('map[', '1', ']', 100_000)}`,
    `select ${'a'}${' + 1'.repeat(100_000)}`,
    `select ${'a'}${'::int'.repeat(100_000)}`,
    `select a::int${' list'.repeat(100_000)}`,
    `select (a)${'.b'.repeat(100_000)}`,
    `select 1${' union select 1'.repeat(100_000)}`,
    `select 1 from a${' join b on true'.repeat(100_000)}`,
    `select 1 from a${' join b'.repeat(100_000)}`,
    deep('(', 'select 1', ')', 100_000),
    `select 1 from ${deep('(', 'select 1', ')', 100_000)}`,
    `select ${deep('(select ', '1', ')', 100_000)}`,
    `select 1 from t group by ${deep('grouping sets (', 'a', ')', 100_000)}`,
    `select a::${deep('map[int => ', 'int', ']', 100_000)}`,
    `create cluster c (a = ${deep('(', '1', ')', 100_000)})`,
  ];
  for (const text of tooComplex) assert.equal(refusal(text).sqlstate, '54001', text.slice(0, 60));
  assert.equal(parseStatement(`select ${deep('(', '1', ')', 400)}`).kind, 'selectStatement');
  // A run of AND is one node, however long.
  assert.equal(parseStatement(`select a${' and b'.repeat(50_000)}`).kind, 'selectStatement');
  assert.equal(parseStatement(`select 1${' + 1'.repeat(900)}`).kind, 'selectStatement');
  assert.equal(refusal(' '.repeat(MAX_TEXT + 1)).sqlstate, '54000');
});
