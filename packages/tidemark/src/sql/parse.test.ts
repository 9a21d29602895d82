import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCorpus, readPsqlCorpus, withoutPositions } from '../../../../test/support/sql-corpus.ts';
import { SqlError } from '../base/error.ts';
import { MAX_TEXT } from './cursor.ts';
import { parseExpr, parseStatement, parseStatements, parseTypeName } from './parse.ts';
import { printExpr, printStatement } from './print.ts';
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
  assert.equal(refusal('select 1 select 2').position, 10);
});

/** Text -> message, position: as PostgreSQL 18 reports them. */
const ERRORS: readonly (readonly [string, string, number])[] = [
  ['selec 1', 'syntax error at or near "selec"', 1],
  ['select 1 +', 'syntax error at end of input', 11],
  ['select 1 + ;', 'syntax error at or near ";"', 12],
  ['select * form t', 'syntax error at or near "form"', 10],
  ['select a b c', 'syntax error at or near "c"', 12],
  ['select from where', 'syntax error at or near "where"', 13],
  ['select (1', 'syntax error at end of input', 10],
  ['select 1)', 'syntax error at or near ")"', 9],
  ["select '😀' form x", 'syntax error at or near "x"', 17],
  ['select a < b < c', 'syntax error at or near "<"', 14],
  ['select a = b = c', 'syntax error at or near "="', 14],
  ['select a like b like c', 'syntax error at or near "like"', 17],
  ['select a between 1 and 2 between 3 and 4', 'syntax error at or near "between"', 26],
  ['select a is distinct from b is null', 'syntax error at or near "is"', 29],
  ['select a between 1 and', 'syntax error at end of input', 23],
  ['select case when 1 then 2', 'syntax error at end of input', 26],
  ['select f(a,)', 'syntax error at or near ")"', 12],
  ['select array[1,]', 'syntax error at or near "]"', 16],
  ['select array[1][1]', 'syntax error at or near "["', 16],
  ['select a from t group b', 'syntax error at or near "b"', 23],
  ['select a from (t)', 'syntax error at or near ")"', 17],
  ['select a from t join u', 'syntax error at end of input', 23],
  ['select a from t order by a nulls', 'syntax error at or near "nulls"', 28],
  ['select a from t limit 1 limit 2', 'syntax error at or near "limit"', 25],
  ['select a from t limit 1, 2', 'LIMIT #,# syntax is not supported', 17],
  ['(select 1 order by 1) order by 2', 'multiple ORDER BY clauses not allowed', 23],
  ['(select 1 limit 1) limit 2', 'multiple LIMIT clauses not allowed', 26],
  ['with a as (select 1) (with b as (select 2) select 1)', 'multiple WITH clauses not allowed', 23],
  ['select a fetch first 1 rows with ties', 'WITH TIES cannot be specified without ORDER BY clause', 1],
  ['select a.b.c.d.e from t', 'improper qualified name (too many dotted names): a.b.c.d.e', 8],
  ['select sum(a) over (rows unbounded following)', 'frame start cannot be UNBOUNDED FOLLOWING', 26],
  ['select 1 as', 'syntax error at end of input', 12],
  ['select user.a', 'syntax error at or near "."', 12],
  ['select left', 'syntax error at end of input', 12],
  ['insert into t values', 'syntax error at end of input', 21],
  ['insert into t (a b) values (1)', 'syntax error at or near "b"', 18],
  ['update t where a = 1', 'syntax error at or near "where"', 10],
  ['delete t', 'syntax error at or near "t"', 8],
  ['create table t (a)', 'syntax error at end of input', 19],
  ['create table t (a int', 'syntax error at end of input', 22],
  ['create tabel t (a int)', 'syntax error at or near "tabel"', 8],
  ['drop table', 'syntax error at end of input', 11],
  ['begin isolation level nonsense', 'syntax error at or near "nonsense"', 23],
  ['set x', 'syntax error at end of input', 6],
  ["select 'abc", `unterminated quoted string at or near "'abc"`, 8],
  ['select 1; selec', 'syntax error at or near "selec"', 11],
  ['subscribe', 'syntax error at end of input', 10],
  ['create cluster c size', 'syntax error at end of input', 22],
];

test('syntax errors have the words and the place PostgreSQL gives them', () => {
  for (const [text, message, position] of ERRORS) {
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
