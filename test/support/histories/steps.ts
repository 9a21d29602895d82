/**
 * What can happen in a random history, as one table: how often, when it can, and what is done. A step never waits for what only a
 * later step lets go.
 */

import type { RandomHistory, Step } from './history.ts';
import type { CheckedProcess } from './process.ts';

const hasView = (h: RandomHistory): boolean => h.items('materialized-view').length > 0;
const hasCandidate = (h: RandomHistory): boolean => h.candidate !== null;
const isAlone = (h: RandomHistory): boolean => h.candidate === null;

const LIMIT = 'compute_hydration_concurrency';

export const STEPS = {
  'create a table': {
    weight: 1,
    run: (h) => h.createTable(),
  },
  insert: {
    weight: 5,
    run: (h) => h.insert(),
  },
  delete: {
    weight: 1,
    run: (h) => h.delete(),
  },
  'create an index': {
    weight: 3,
    run: (h) => h.createOver((name, from) => `CREATE INDEX ${name} ON ${from} (a)`),
  },
  'create a view': {
    weight: 4,
    run: (h) => h.createView(),
  },
  'create a view that refreshes': {
    weight: 1,
    run: (h) =>
      h.createOver((name, from) => {
        const refresh = h.random.pick(["EVERY '1 minute'", 'AT CREATION', "EVERY '300 ms'"]);
        return `CREATE MATERIALIZED VIEW ${name} WITH (REFRESH ${refresh}) AS SELECT a, b FROM ${from}`;
      }),
  },
  'create a view over what cannot be read': {
    weight: 2,
    run: (h) => h.createStarved(),
  },
  'create a view that cannot write': {
    weight: 2,
    run: (h) => h.createUnwritten(),
  },
  'create a constant': {
    weight: 1,
    run: (h) => h.createConstant(),
  },
  'create a metric sink': {
    weight: 1,
    run: (h) => h.createSink(),
  },
  'create a replacement': {
    weight: 2,
    when: (h) => h.replaceable().length > 0,
    run: (h) => h.replace(),
  },
  'apply a replacement': {
    weight: 2,
    when: (h) => h.replacements.size > 0,
    run: (h) => h.applyReplacement(),
  },
  'drop a view': {
    weight: 1,
    when: hasView,
    run: (h) => h.drop('materialized-view'),
  },
  'drop an index': {
    weight: 1,
    run: (h) => h.drop('index'),
  },
  'drop a sink': {
    weight: 1,
    run: (h) => h.drop('sink'),
  },
  'drop a table': {
    weight: 1,
    when: (h) => h.items('table').length > 1,
    run: (h) => h.drop('table'),
  },
  query: {
    weight: 1,
    run: (h) => h.query(),
  },
  subscribe: {
    weight: 1,
    run: (h) => h.subscribe(),
  },
  'move the hydration limit': {
    weight: 2,
    run: (h) => h.exec(`ALTER SYSTEM SET ${LIMIT} = ${h.random.below(4)}`),
  },
  'change the number of replicas': {
    weight: 1,
    run: (h) => h.exec(`ALTER CLUSTER quickstart SET (REPLICATION FACTOR ${h.random.below(3)})`),
  },
  crash: {
    weight: 2,
    run: (h) => h.crash(h.leader),
  },
  'crash at a stage': {
    weight: 1,
    run: (h) => h.leader.t.crashAt({ stage: h.random.pick(['installed', 'started', 'hydrated', 'written']) }),
  },
  'stall a worker': {
    weight: 2,
    when: (h) => h.replicas().length > 0,
    run: (h) =>
      h.hold(h.leader.t.stallWorker(h.random.below(h.workers), 'quickstart', h.random.pick(h.replicas()))),
  },
  'hold a sink': {
    weight: 2,
    when: hasView,
    run: (h) => h.hold(h.leader.t.holdAppends(h.random.pick(h.items('materialized-view')))),
  },
  'slow a sink': {
    weight: 1,
    when: hasView,
    run: (h) =>
      h.hold(h.leader.t.slowAppends(h.random.pick(h.items('materialized-view')), h.random.below(500))),
  },
  'hold an input': {
    weight: 2,
    run: (h) => h.holdInput(),
  },
  'break an input': {
    weight: 1,
    run: (h) => h.breakInput(),
  },
  release: {
    weight: 3,
    run: (h) => h.release(),
  },
  wait: {
    weight: 4,
    run: (h) => h.leader.t.advance(h.random.below(600)),
  },
  'set the clock': {
    weight: 1,
    when: isAlone,
    run: (h) => h.leader.t.time.step(h.random.below(100)),
  },
  restart: {
    weight: 1,
    when: isAlone,
    run: (h) => h.restart(),
  },
  kill: {
    weight: 1,
    when: isAlone,
    run: (h) => h.kill(),
  },
  'cut a connection': {
    weight: 2,
    when: (h) => h.outlive && h.replicas().length > 0,
    run: (h) => h.leader.t.cut(),
  },
  'stand by': {
    weight: 2,
    when: (h) => isAlone(h) && !h.outlive,
    run: (h) => h.standby(),
  },
  promote: {
    weight: 4,
    when: hasCandidate,
    run: (h) => h.promote(),
  },
  'crash where it stands by': {
    weight: 1,
    when: hasCandidate,
    run: (h) => h.crash(h.candidate as CheckedProcess),
  },
  'leave off standing by': {
    weight: 1,
    when: hasCandidate,
    run: (h) => h.leave(),
  },
} satisfies Record<string, Step>;
