import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterId, GlobalId, ReplicaId } from '../base/ids.ts';
import type { LifeClosedResponse, LifecycleResponse } from '../compute/protocol.ts';
import type { LifecycleStage } from '../introspection/lifecycle.ts';
import {
  type Episode,
  episodeKey,
  type ObjectEpisode,
  objectStatus,
  type ReplicaEpisode,
} from './episode.ts';
import { type EpisodeChanges, type EpisodeEvent, Episodes, type LifeAck } from './episodes.ts';

const C = 'u1' as ClusterId;
const R = 'u5' as ReplicaId;
const U1 = 'u1' as GlobalId;
const U2 = 'u2' as GlobalId;

/** The machine, and the rows as a table would hold them. */
class Kept {
  episodes: Episodes;
  readonly rows = new Map<string, Episode>();
  readonly acks: LifeAck[] = [];
  #incarnation = '';

  constructor() {
    this.episodes = new Episodes(1);
  }

  step(e: EpisodeEvent): void {
    if (e.kind === 'connected') this.#incarnation = e.incarnation;
    this.#take(this.episodes.step(e));
  }

  #take(changes: EpisodeChanges): void {
    for (const c of changes.episodes) this.rows.set(`${c.kind} ${episodeKey(c)}`, { ...c });
    this.acks.push(...changes.acks);
  }

  connect(incarnation: string, at: number, workers = 2): void {
    this.step({ kind: 'connected', clusterId: C, replicaId: R, incarnation, workers, at });
  }

  create(objectId: GlobalId, at: number): void {
    this.step({ kind: 'created', clusterId: C, objectId, at });
  }

  drop(objectId: GlobalId, at: number): void {
    this.step({ kind: 'dropped', clusterId: C, objectId, at });
  }

  say(
    worker: number,
    stage: LifecycleStage,
    at: number,
    more: Partial<LifecycleResponse & { writes: boolean }> = {},
  ): void {
    const { writes = false, ...rest } = more;
    const response: LifecycleResponse = {
      kind: 'lifecycle',
      worker,
      id: U1,
      stage,
      occurredAt: at,
      reason: null,
      asOf: 7,
      life: 3,
      ...rest,
    };
    this.step({ kind: 'reported', replicaId: R, response, writes, at });
  }

  close(worker: number, sequence: number, more: Partial<LifeClosedResponse> & { at: number }): void {
    const { at, ...rest } = more;
    const response: LifeClosedResponse = {
      kind: 'lifeClosed',
      worker,
      id: U1,
      sequence,
      life: 3,
      installedAt: rest.installedAt ?? 20 + worker,
      asOf: 7,
      peakBytes: 0,
      stages: [],
      cut: 0,
      ...rest,
    };
    this.step({ kind: 'reported', replicaId: R, response, writes: undefined, at });
  }

  /** Another process of the environment, from what is durable. */
  restart({ generation = 1, at = 99 } = {}): void {
    const kept = [...this.rows.values()].map((e) => ({ ...e }));
    this.episodes = new Episodes(generation);
    this.#take(this.episodes.adopt(kept, new Map([[R, this.#incarnation]]), at));
  }

  get objects(): readonly ObjectEpisode[] {
    return [...this.rows.values()].filter((e) => e.kind === 'object');
  }

  get replicas(): readonly ReplicaEpisode[] {
    return [...this.rows.values()].filter((e) => e.kind === 'replica');
  }

  brief(): readonly string[] {
    return this.objects.map(
      (e) =>
        `${e.objectId} ${objectStatus(e)} ${[e.installedAt, e.startedAt, e.hydratedAt, e.writtenAt, e.endedAt].map((n) => n ?? '-').join(' ')}`,
    );
  }

  briefReplicas(): readonly string[] {
    return this.replicas.map((e) => `${e.startedAt} ${e.finishedAt ?? '-'} ${e.status} ${e.objectCount}`);
  }
}

function hydrate(
  k: Kept,
  o: {
    readonly life?: number;
    readonly id?: GlobalId;
    readonly from?: number;
    readonly writes?: boolean;
  } = {},
): void {
  const { from = 20, ...more } = o;
  for (const [i, stage] of (['installed', 'started', 'hydrated'] as const).entries())
    for (const w of [0, 1]) k.say(w, stage, from + 10 * i + w, more);
}

test('an index: least start, greatest end, and over once every worker is hydrated', () => {
  const k = new Kept();
  k.connect('a', 1);
  k.create(U1, 10);
  k.say(1, 'installed', 19);
  assert.deepEqual(k.brief(), [], 'worker 0 identifies it');
  k.say(0, 'installed', 20);
  assert.deepEqual(k.brief(), ['u1 hydrating 20 - - - -']);
  k.say(0, 'started', 25);
  k.say(1, 'started', 24);
  k.say(0, 'hydrated', 30, { peakBytes: 100 });
  assert.deepEqual(k.brief(), ['u1 hydrating 20 24 - - -']);
  k.say(1, 'hydrated', 33, { peakBytes: 11 });
  assert.deepEqual(k.brief(), ['u1 hydrated 20 24 33 - 33']);
  assert.equal(k.objects[0]!.peakBytes, 111);
  assert.deepEqual(k.briefReplicas(), ['1 1 hydrated 0', '10 33 hydrated 1']);
  k.drop(U1, 50);
  assert.deepEqual(k.brief(), ['u1 hydrated 20 24 33 - 33'], 'a drop does not make it less hydrated');
});

test('a view is over when it is written; dropped before that it was hydrated all the same', () => {
  const k = new Kept();
  k.connect('a', 1);
  k.create(U1, 10);
  hydrate(k, { writes: true });
  assert.deepEqual(k.brief(), ['u1 hydrated 20 30 41 - -']);
  k.say(1, 'written', 40, { writes: true });
  assert.deepEqual(
    k.brief(),
    ['u1 hydrated 20 30 41 41 41'],
    'clocks differ: durable is never before computed',
  );
  k.create(U2, 50);
  hydrate(k, { id: U2, life: 4, from: 60, writes: true });
  k.drop(U2, 90);
  assert.deepEqual(k.brief()[1], 'u2 hydrated 60 70 81 - 90');
});

test('a life of milliseconds: the drop comes before the first report of it, and the row tells all', () => {
  const k = new Kept();
  k.connect('a', 1);
  k.create(U1, 10);
  k.drop(U1, 12);
  k.say(0, 'installed', 11);
  assert.deepEqual(k.brief(), ['u1 dropped 11 - - - 11']);
  k.say(1, 'installed', 11);
  for (const w of [0, 1]) k.say(w, 'started', 12);
  for (const w of [0, 1]) k.say(w, 'hydrated', 13);
  k.close(0, 1, { at: 15, installedAt: 11 });
  assert.equal(k.acks.length, 0, 'not before every worker has closed it');
  k.close(1, 1, { at: 15, installedAt: 11 });
  assert.deepEqual(k.brief(), ['u1 hydrated 11 12 13 - 13']);
  assert.deepEqual(
    k.acks.map((a) => [a.worker, a.sequence]),
    [
      [0, 1],
      [1, 1],
    ],
  );
});

test('a replica that is away may come back as it was; as another incarnation it has lost what was under way', () => {
  const k = new Kept();
  k.connect('a', 1);
  k.create(U1, 10);
  k.say(0, 'installed', 20);
  k.step({ kind: 'disconnected', replicaId: R, reason: 'gone', at: 30 });
  assert.deepEqual(k.brief(), ['u1 hydrating 20 - - - -']);
  k.connect('a', 40);
  k.say(0, 'installed', 20);
  k.say(1, 'installed', 21);
  assert.deepEqual(
    [k.brief(), k.briefReplicas()],
    [['u1 hydrating 20 - - - -'], ['1 1 hydrated 0', '10 - hydrating 1']],
  );
  k.step({ kind: 'disconnected', replicaId: R, reason: 'gone', at: 50 });
  k.connect('b', 60);
  assert.deepEqual(k.brief(), ['u1 lost 20 - - - 50']);
  assert.deepEqual(k.briefReplicas(), ['1 1 hydrated 0', '10 50 lost 1', '60 - hydrating 1']);
  hydrate(k, { from: 70 });
  assert.deepEqual(k.brief(), ['u1 lost 20 - - - 50', 'u1 hydrated 70 80 91 - 91']);
});

test('a restart of the environment alone goes on in the rows that are there', () => {
  const k = new Kept();
  k.connect('a', 1);
  k.create(U1, 10);
  k.create(U2, 10);
  hydrate(k);
  k.say(0, 'installed', 22, { id: U2, life: 4 });
  const before = [k.brief(), k.briefReplicas()];
  k.restart();
  k.create(U1, 100);
  k.create(U2, 100);
  k.connect('a', 101);
  hydrate(k);
  k.say(0, 'installed', 22, { id: U2, life: 4 });
  assert.deepEqual([k.brief(), k.briefReplicas()], before);
  k.say(1, 'installed', 23, { id: U2, life: 4 });
  for (const w of [0, 1]) k.say(w, 'started', 24, { id: U2, life: 4 });
  for (const w of [0, 1]) k.say(w, 'hydrated', 110, { id: U2, life: 4 });
  assert.deepEqual(k.brief(), ['u1 hydrated 20 30 41 - 41', 'u2 hydrated 22 24 110 - 110']);
  assert.deepEqual(k.briefReplicas(), ['1 1 hydrated 0', '10 110 hydrated 2']);
});

test('after a restart with workers of the same process, what was under way is lost', () => {
  const k = new Kept();
  k.connect('a', 1);
  k.create(U1, 10);
  k.say(0, 'installed', 20);
  k.restart();
  k.create(U1, 100);
  k.connect('b', 101);
  assert.deepEqual(k.brief(), ['u1 lost 20 - - - 101']);
});

test('a generation that is promoted ends what went on under the one before', () => {
  const k = new Kept();
  k.connect('a', 1);
  k.create(U1, 10);
  k.say(0, 'installed', 20);
  k.restart({ generation: 2, at: 50 });
  assert.deepEqual(k.brief(), ['u1 lost 20 - - - 50']);
  assert.deepEqual(k.briefReplicas(), ['1 1 hydrated 0', '10 50 lost 1']);
});

test('an incarnation without a name of its own is found out by its instants', () => {
  const k = new Kept();
  k.connect('a', 1);
  k.create(U1, 10);
  k.say(0, 'installed', 20);
  k.step({ kind: 'disconnected', replicaId: R, reason: 'gone', at: 30 });
  k.connect('a', 40);
  k.say(0, 'installed', 50);
  assert.deepEqual(k.brief(), ['u1 lost 20 - - - 50', 'u1 hydrating 50 - - - -']);
});

test('a host error fails the episode; dropping the replica loses it', () => {
  const k = new Kept();
  k.connect('a', 1);
  for (const id of [U1, U2]) k.create(id, 10);
  k.say(0, 'installed', 20);
  k.say(0, 'installed', 20, { id: U2, life: 4 });
  k.step({ kind: 'failed', replicaId: R, objectId: U1, at: 30 });
  k.step({ kind: 'replicaDropped', replicaId: R, at: 40 });
  assert.deepEqual(k.brief(), ['u1 failed 20 - - - 30', 'u2 lost 20 - - - 40']);
  assert.deepEqual(k.briefReplicas(), ['1 1 hydrated 0', '10 40 lost 2']);
});

test('an export that the replica could not keep ends as lost, its successor is another episode', () => {
  const k = new Kept();
  k.connect('a', 1);
  k.create(U1, 10);
  for (const w of [0, 1]) k.say(w, 'installed', 20 + w);
  for (const w of [0, 1]) k.close(w, 1, { at: 30 });
  assert.deepEqual(k.brief(), ['u1 lost 20 - - - 30']);
  hydrate(k, { life: 9, from: 40 });
  assert.deepEqual(k.brief(), ['u1 lost 20 - - - 30', 'u1 hydrated 40 50 61 - 61']);
});

test('a replica that ends at its byte limit says so', () => {
  const k = new Kept();
  k.connect('a', 1);
  k.create(U1, 10);
  k.step({ kind: 'disconnected', replicaId: R, reason: 'oom', at: 30 });
  k.create(U2, 35);
  k.connect('b', 40);
  assert.deepEqual(k.briefReplicas(), ['1 1 hydrated 0', '10 30 oom 1', '40 - hydrating 2']);
  assert.deepEqual(
    k.replicas.map((e) => e.peakBytes),
    [0, null, null],
    'of an object that did not hydrate nothing is known',
  );
});

test('what is over and old goes, and does not come back when it is told again', () => {
  const k = new Kept();
  k.connect('a', 1);
  k.create(U1, 10);
  k.create(U2, 10);
  hydrate(k);
  k.say(0, 'installed', 22, { id: U2, life: 4 });
  const gone = k.episodes.prune(25);
  assert.deepEqual(
    gone.map((e) => (e.kind === 'object' ? e.objectId : e.startedAt)),
    [1, U1],
  );
  k.rows.clear();
  k.connect('a', 60);
  hydrate(k);
  for (const w of [0, 1]) k.close(w, 1, { at: 70 });
  assert.deepEqual(k.objects, []);
  assert.equal(k.acks.length, 2, 'the replica may forget it all the same');
});
