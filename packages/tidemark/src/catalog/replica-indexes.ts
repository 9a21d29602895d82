/**
 * The indexes that every replica of a cluster keeps by itself: of its log relations, and of the views over them that are read often.
 * They derive from the builtins; none is stored.
 */
import { type GlobalId, logIndexId, systemId } from '../base/ids.ts';
import type { ScalarExpr } from '../expr/scalar.ts';
import {
  LOG_NAMES,
  LOG_RELATIONS,
  LOGS_PER_CLUSTER,
  type LogName,
  logDesc,
  logIndexKey,
} from '../introspection/relations.ts';
import type { RelationDesc } from '../repr/types.ts';
import { BUILTIN_VIEWS } from './builtins/builtins.ts';
import { keyOf, SYSTEM_SCHEMAS } from './builtins/declare.ts';
import type { IndexItem } from './catalog-reader.ts';
import type { ClusterEntity, LoadedItem } from './entities.ts';

/** OIDs of these indexes: beyond all others, by cluster and number. */
const INDEX_OID = 1_000_000_000;

interface Indexed {
  readonly number: number;
  readonly name: string;
  readonly on: GlobalId;
  readonly desc: RelationDesc;
  readonly key: readonly number[];
}

const logs = (): readonly Indexed[] =>
  LOG_NAMES.map((name) => ({
    number: LOG_RELATIONS[name].number,
    name,
    on: systemId(LOG_RELATIONS[name].number),
    desc: logDesc(name),
    key: logIndexKey(name),
  }));

/** In the order in which they are built: one may read another. */
const VIEWS: readonly Indexed[] = BUILTIN_VIEWS.flatMap((v) =>
  v.indexed === undefined
    ? []
    : [
        {
          number: v.indexed.number,
          name: v.name,
          on: systemId(v.number),
          desc: { columns: v.columns, keys: v.keys },
          key: keyOf(v.columns, v.indexed.by)[0]!,
        },
      ],
).sort((a, b) => a.number - b.number);

const indexId = (c: ClusterEntity, number: number): GlobalId =>
  logIndexId(c.number * LOGS_PER_CLUSTER + number);

export const logIndexOf = (c: ClusterEntity, log: LogName): GlobalId => indexId(c, LOG_RELATIONS[log].number);

export const replicaIndexIds = (c: ClusterEntity): readonly GlobalId[] =>
  [...logs(), ...VIEWS].map((i) => indexId(c, i.number));

export const replicaIndexes = (c: ClusterEntity): readonly LoadedItem[] =>
  [...logs(), ...VIEWS].map((i) => ({
    item: indexItem(c, i),
    entity: null,
    schemaId: SYSTEM_SCHEMAS.mz_introspection.id,
  }));

export const viewIndexes = (c: ClusterEntity): readonly IndexItem[] => VIEWS.map((i) => indexItem(c, i));

function indexItem(c: ClusterEntity, i: Indexed): IndexItem {
  const id = indexId(c, i.number);
  return {
    id,
    oid: INDEX_OID + c.number * LOGS_PER_CLUSTER + i.number,
    kind: 'index',
    name: { database: null, schema: 'mz_introspection', item: `${i.name}_${c.id}_primary_idx` },
    createSql: '',
    dependsOn: [i.on],
    on: i.on,
    cluster: c.id,
    keysNullable: i.key.map((k) => i.desc.columns[k]!.nullable),
    keys: i.key.map((k): ScalarExpr => ({ kind: 'column', index: k, type: i.desc.columns[k]!.type })),
  };
}
