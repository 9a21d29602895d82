/**
 * The engine as production runs it, on one worker in this thread: the planner makes LIR of the SQL, a `ComputeWorker` gets it through
 * the protocol with introspection on, and reads `orders` and `customers` from shards. Two ways for the rows to come in:
 *
 * - `engine`: the parts of the shards stand decoded in memory, as columnar batches; listing, reading in turn, dataflow, arrangements and
 *   lifecycle are as always
 * - `shard`: the parts are fetched from a blob store in memory, checked (CRC-32), decompressed (zstd) and decoded, as from a disk
 *
 * The clock runs from the command that creates the dataflow to the report that the export is hydrated; for W1 to the answer of a
 * read of one key. Planning, and writing the shards, come before.
 */
import { silentLogger } from '../../packages/tidemark/src/base/clock.ts';
import { logIndexId, userId } from '../../packages/tidemark/src/base/ids.ts';
import { ComputeWorker } from '../../packages/tidemark/src/compute/compute-worker.ts';
import type { Command, DataflowDescription, Response } from '../../packages/tidemark/src/compute/protocol.ts';
import type { ShardAccess } from '../../packages/tidemark/src/compute/shard-source.ts';
import { identityMfp } from '../../packages/tidemark/src/expr/scalar.ts';
import { nodeClock, nodeRandom, nodeTimers } from '../../packages/tidemark/src/host/node-clock.ts';
import { nodePartCodec } from '../../packages/tidemark/src/host/part-codec.ts';
import { LOG_NAMES } from '../../packages/tidemark/src/introspection/relations.ts';
import { MemoryBlob } from '../../packages/tidemark/src/persist/blob.ts';
import { MemoryConsensus } from '../../packages/tidemark/src/persist/consensus.ts';
import { MAX_PART_ROWS } from '../../packages/tidemark/src/persist/part.ts';
import type { Updates } from '../../packages/tidemark/src/persist/shard-types.ts';
import { Shards } from '../../packages/tidemark/src/persist/shards.ts';
import { lowerMir } from '../../packages/tidemark/src/plan/lower.ts';
import { planQuery } from '../../packages/tidemark/src/plan/plan-query.ts';
import { TEST_CLUSTER, TEST_NAMES, TestCatalog } from '../../packages/tidemark/src/plan/test-catalog.ts';
import { type Batch, diffAt, emptyBatch } from '../../packages/tidemark/src/repr/batch.ts';
import { datumAt } from '../../packages/tidemark/src/repr/datum.ts';
import { textOf } from '../../packages/tidemark/src/repr/format.ts';
import type { RelationDesc, Row } from '../../packages/tidemark/src/repr/types.ts';
import { parseStatement } from '../../packages/tidemark/src/sql/parse.ts';
import { EMPTY } from '../../packages/tidemark/src/time/timestamp.ts';
import { CUSTOMER_KINDS, customersBatch, ORDER_KINDS, orderBatches } from './batches.ts';
import { makeOrders, makeRegions } from './data.ts';
import { Clock, type Outcome } from './outcome.ts';
import { line, READ_CUSTOMER, WORKLOADS, type WorkloadName } from './workloads.ts';

export type InputPath = 'engine' | 'shard';

const INDEX = userId(100);
const VIEW = userId(99);
const AS_OF = 1;
const FENCE = { generation: 1, start: 1 };

const catalog = new TestCatalog({
  orders: 'id int4 not null, customer_id int4 not null, amount int4 not null, status text not null',
  customers: 'id int4 not null, region text not null, key (id)',
});

interface Planned {
  readonly dataflow: DataflowDescription;
  readonly desc: RelationDesc;
}

function plan(workload: WorkloadName): Planned {
  const { view, indexColumn } = WORKLOADS[workload];
  const base = {
    name: workload,
    indexImports: [],
    sinkExports: [],
    asOf: AS_OF,
    until: EMPTY,
    mayWrite: true,
  };
  const importOf = (name: string) => {
    const { id, desc } = catalog.get(name);
    return { id, desc, shard: name };
  };
  if (view === null) {
    const { id, desc } = catalog.get('orders');
    const indexExports = [{ id: INDEX, onId: id, key: [indexColumn], desc }];
    return { dataflow: { ...base, shardImports: [importOf('orders')], objects: [], indexExports }, desc };
  }
  const statement = parseStatement(view);
  if (statement.kind !== 'selectStatement') throw new Error(`a view is a query: ${view}`);
  const { mir, desc } = planQuery(statement.query, {
    catalog,
    names: TEST_NAMES,
    eval: { timeZone: 'UTC' },
    maintained: true,
  });
  const lowered = lowerMir(mir, { cluster: TEST_CLUSTER, indexes: () => [] });
  return {
    dataflow: {
      ...base,
      shardImports: lowered.imports.map((id) => importOf(catalog.item(id)!.name.item)),
      objects: [{ id: VIEW, plan: lowered.root }],
      indexExports: [{ id: INDEX, onId: VIEW, key: [indexColumn], desc }],
    },
    desc,
  };
}

/** Both tables in shards of memory, complete through the as-of. */
async function writeShards(n: number): Promise<Shards> {
  const shards = new Shards({
    blob: new MemoryBlob(),
    consensus: new MemoryConsensus(),
    clock: nodeClock,
    timers: nodeTimers,
    random: nodeRandom,
    codec: nodePartCodec,
  });
  const tables = [
    { name: 'orders', kinds: ORDER_KINDS, batches: orderBatches(makeOrders(n), MAX_PART_ROWS) },
    { name: 'customers', kinds: CUSTOMER_KINDS, batches: [customersBatch(makeRegions())] },
  ];
  for (const { name, kinds, batches } of tables) {
    const shard = await shards.create(name, {
      schema: { oks: kinds, errs: ['bytes'] },
      since: 0,
      fence: FENCE,
    });
    const updates = batches.map((oks) => ({ oks, errs: emptyBatch(['bytes']) }));
    const done = await shard.compareAndAppend(FENCE, { updates, expectedUpper: 0, newUpper: AS_OF + 1 });
    if (done.kind !== 'ok') throw new Error(`shard ${name} cannot be written: ${done.kind}`);
  }
  return shards;
}

async function access(shards: Shards, path: InputPath): Promise<ShardAccess> {
  const open = async (id: string) => (await shards.open(id))!;
  if (path === 'shard') return { open, readPart: (read) => shards.readPart(read) };
  const decoded = new Map<string, Updates>();
  for (const id of ['orders', 'customers']) {
    const listing = await (await open(id)).snapshot(AS_OF);
    for (const read of listing.parts) decoded.set(read.part.key!, await shards.readPart(read));
    listing.release();
  }
  return { open, readPart: async (read) => decoded.get(read.part.key!)! };
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** A worker and its loop: one slice, then a turn of the event loop, as on a thread of its own. */
class Driver {
  readonly #worker: ComputeWorker;
  readonly #waiting: { readonly wanted: (r: Response) => boolean; resolve(): void }[] = [];
  #scheduled = false;
  /** Of this thread's time: how long a command or a peek may have to wait. */
  longestSliceMs = 0;

  constructor(shards: ShardAccess) {
    this.#worker = new ComputeWorker({
      index: 0,
      peers: 1,
      mesh: { send: () => undefined },
      clock: nodeClock,
      timers: nodeTimers,
      logger: { ...silentLogger, error: (fields, message) => console.error(message, fields) },
      shards,
      watch: () => () => undefined,
      send: (r) => this.#receive(r),
      onWake: () => this.#wake(),
      incarnation: 'bench',
    });
  }

  #receive(r: Response): void {
    if (r.kind === 'failed') throw new Error(`${r.id} failed: ${r.message}`);
    for (const w of this.#waiting) if (w.wanted(r)) w.resolve();
  }

  #wake(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      const start = threadCpuMs();
      const more = this.#worker.step();
      this.longestSliceMs = Math.max(this.longestSliceMs, threadCpuMs() - start);
      if (more === 'more') this.#wake();
    });
  }

  send(command: Command): void {
    this.#worker.handle(command);
  }

  until(wanted: (r: Response) => boolean): Promise<void> {
    return new Promise((resolve) => this.#waiting.push({ wanted, resolve }));
  }

  /** All rows of the answer. */
  async peek(desc: RelationDesc, literalKeys: readonly Row[] | null): Promise<readonly Batch[]> {
    const batches: Batch[] = [];
    const keyTypes = literalKeys === null ? [] : [desc.columns[1]!.type];
    const done = this.until((r) => {
      if (r.kind !== 'peekResponse') return false;
      if (r.result.kind !== 'rows') throw new Error(JSON.stringify(r.result));
      batches.push(r.result.batch);
      return !r.result.more;
    });
    this.send({
      kind: 'peek',
      uuid: '00000000-0000-0000-0000-000000000001',
      target: { kind: 'index', id: INDEX, keyTypes },
      literalKeys,
      timestamp: AS_OF,
      mfp: identityMfp(desc.columns.length),
      finishing: { orderBy: [], limit: null, offset: 0, project: desc.columns.map((_, i) => i) },
      desc,
    });
    await done;
    return batches;
  }

  close(): void {
    this.#worker.close();
  }
}

function linesOf(desc: RelationDesc, batches: readonly Batch[]): string[] {
  const lines: string[] = [];
  for (const b of batches)
    for (let i = 0; i < b.length; i++) {
      const cells = desc.columns.map((c, k) => textOf(c.type, datumAt(c.type, b.columns[k]!, i)!));
      for (let copy = diffAt(b, i); copy > 0; copy--) lines.push(line(...cells));
    }
  return lines.sort();
}

export async function runTidemark(workload: WorkloadName, n: number, path: InputPath): Promise<Outcome> {
  const { dataflow, desc } = plan(workload);
  const driver = new Driver(await access(await writeShards(n), path));
  driver.send({
    kind: 'createInstance',
    logging: {
      intervalMs: 1000,
      debugging: false,
      indexes: LOG_NAMES.map((log, i) => ({ log, id: logIndexId(i + 1) })),
    },
    tunables: { maxResultSize: 1 << 30 },
  });
  const clock = new Clock();
  const hydrated = driver.until((r) => r.kind === 'lifecycle' && r.id === INDEX && r.stage === 'hydrated');
  driver.send({ kind: 'createDataflow', dataflow });
  driver.send({ kind: 'schedule', id: INDEX, waitedOn: 'inputs_available' });
  await hydrated;
  const read = workload === 'W1' ? await driver.peek(desc, [[READ_CUSTOMER]]) : null;
  const spent = { ...clock.read(), longestSliceMs: driver.longestSliceMs };
  const answer = linesOf(desc, read ?? (await driver.peek(desc, null)));
  driver.close();
  return { ...spent, answer };
}
