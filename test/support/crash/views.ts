/** What is maintained while the server is killed: each with the query over tables alone that it must equal. */

export interface Maintained {
  readonly name: string;
  readonly create: string;
  /** Its contents, from tables and sources. */
  readonly recompute: string;
}

const view = (name: string, cluster: string, query: string, recompute = query): Maintained => ({
  name,
  create: `CREATE MATERIALIZED VIEW ${name} IN CLUSTER ${cluster} AS ${query}`,
  recompute,
});

const TOTALS =
  'SELECT owner, count(*) AS n, sum(v) AS total, min(s) AS least, max(id) AS last FROM a GROUP BY owner';
const PAIRS = 'SELECT a.owner, a.id, a.v, b.s FROM a JOIN b ON a.owner = b.owner AND a.id = b.id';
const EVEN = 'SELECT owner, id, v, n FROM a WHERE v % 2 = 0';
const FLIGHTS = 'SELECT origin, count(*) AS flights, sum(delay) AS delay FROM flights GROUP BY origin';

/** Created in this order. */
export const MAINTAINED: readonly Maintained[] = [
  view('totals', 'two', TOTALS),
  view('pairs', 'two', PAIRS),
  view(
    'even_sums',
    'quickstart',
    'SELECT owner, sum(n) AS n FROM even GROUP BY owner',
    `SELECT owner, sum(n) AS n FROM (${EVEN}) e GROUP BY owner`,
  ),
  view(
    'sizes',
    'quickstart',
    'SELECT n, count(*) AS owners FROM totals GROUP BY n',
    `SELECT n, count(*) AS owners FROM (${TOTALS}) t GROUP BY n`,
  ),
  view('quotients', 'two', 'SELECT owner, id, 1000 / v AS q FROM a'),
  view('top', 'quickstart', 'SELECT owner, id, v FROM a ORDER BY v DESC NULLS LAST, owner, id LIMIT 10'),
  view('only_a', 'two', 'SELECT s FROM a EXCEPT SELECT s FROM b'),
  view(
    'unmatched',
    'two',
    'SELECT a.owner, a.id FROM a LEFT JOIN b ON a.owner = b.owner AND a.id = b.id WHERE b.id IS NULL',
  ),
  view('by_origin', 'quickstart', FLIGHTS),
];

/** Objects that stand from the first round on, in the order of creation. */
export const setupStatements = (files: { readonly flights: string }): readonly string[] => [
  "CREATE CLUSTER two SIZE '2'",
  "CREATE CLUSTER judge SIZE '1'",
  `CREATE VIEW even AS ${EVEN}`,
  `CREATE SOURCE flights FROM FILE '${files.flights}'`,
  'CREATE INDEX a_by_owner IN CLUSTER two ON a (owner)',
  'CREATE INDEX even_by_id IN CLUSTER two ON even (id)',
];

/** Read through an index of its cluster, and equal to the same without one. */
export const INDEXED: readonly {
  readonly cluster: string;
  readonly read: string;
  readonly recompute: string;
}[] = [
  { cluster: 'two', read: 'SELECT * FROM a', recompute: 'SELECT * FROM a' },
  { cluster: 'two', read: 'SELECT * FROM even', recompute: EVEN },
];
