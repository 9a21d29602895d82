import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renameIn } from './rename.ts';

const renames = (from: string, to: string) => ({
  objects: [{ from: from.split('.'), to: to.split('.') } as never],
  clusters: new Map([['blue', 'green']]),
});

const VIEW =
  'CREATE MATERIALIZED VIEW d.s.v IN CLUSTER blue AS SELECT t.a, s.t.b FROM d.s.t JOIN d.s.u AS x ON t.a = x.a WHERE EXISTS (SELECT 1 FROM d.s.t AS t2)';

test('an object that gets another name keeps the old one as its alias', () => {
  assert.equal(
    renameIn(VIEW, renames('d.s.t', 'd.s.z')),
    'CREATE MATERIALIZED VIEW d.s.v IN CLUSTER green AS SELECT t.a, t.b FROM d.s.z AS t JOIN d.s.u AS x ON t.a = x.a WHERE EXISTS (SELECT 1 FROM d.s.z AS t2)',
  );
});

test('an object that moves to another schema needs no alias', () => {
  assert.equal(
    renameIn(VIEW, renames('d.s.t', 'd.r.t')),
    'CREATE MATERIALIZED VIEW d.s.v IN CLUSTER green AS SELECT t.a, r.t.b FROM d.r.t JOIN d.s.u AS x ON t.a = x.a WHERE EXISTS (SELECT 1 FROM d.r.t AS t2)',
  );
});

test('its own name is an object name like any other; a column that spells the same is none', () => {
  assert.match(renameIn(VIEW, renames('d.s.v', 'd.s.w')), /^CREATE MATERIALIZED VIEW d\.s\.w /);
  const sql = 'CREATE INDEX i IN CLUSTER quickstart ON d.s.t (s)';
  assert.equal(renameIn(sql, renames('d.s.t', 'd.s.z')), 'CREATE INDEX i IN CLUSTER quickstart ON d.s.z (s)');
  assert.equal(renameIn(sql, renames('d.s.i', 'd.s.j')), 'CREATE INDEX j IN CLUSTER quickstart ON d.s.t (s)');
  assert.equal(
    renameIn('CREATE VIEW d.s.v AS SELECT s.t.*, d.s.t.a FROM d.s.t', renames('d.s.t', 'd.s.z')),
    'CREATE VIEW d.s.v AS SELECT t.*, t.a FROM d.s.z AS t',
  );
});
