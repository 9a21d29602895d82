/**
 * MIR → LIR: map, filter and project fuse into one step, joins become chains of stages with the arrangements they
 * look up, keys become columns. Ids count up from 1, children before parents.
 *
 * A join looks up each further input by the columns that its stage compares; it reads an index of the cluster where one
 * has exactly those columns, and arranges the input otherwise. Expressions among the keys are computed first.
 */

import { unsupported } from '../base/error.ts';
import type { ClusterId, GlobalId } from '../base/ids.ts';
import type { IndexItem } from '../catalog/catalog-reader.ts';
import { identityMfp, isIdentity, type Mfp, type ScalarExpr } from '../expr/scalar.ts';
import type { SqlType } from '../repr/types.ts';
import type { Lir, LirId } from './lir.ts';
import { lowerJoin } from './lower-join.ts';
import type { LirRules } from './lower-rules.ts';
import { takeMfp } from './mfp.ts';
import { columnsOf, type Mir, plainKey } from './mir.ts';
import { remap } from './scalar-walk.ts';
import { isTemporal } from './temporal.ts';

export interface LowerOptions {
  /** Where the dataflow runs: its indexes are the ones that can be read. */
  readonly cluster: ClusterId | undefined;
  readonly indexes: (id: GlobalId) => readonly IndexItem[];
}

export interface LoweredPlan {
  readonly root: Lir;
  /** Collections imported, and the indexes read through. */
  readonly imports: readonly GlobalId[];
  readonly indexes: readonly GlobalId[];
}

export function lowerMir(mir: Mir, options: LowerOptions): LoweredPlan {
  const lowering = new LirBuilder(options);
  const root = lowering.lower(mir);
  return { root, imports: [...lowering.imports], indexes: [...lowering.indexes] };
}

const typesOf = (mir: Mir): readonly SqlType[] => columnsOf(mir).map((c) => c.type);

class LirBuilder implements LirRules {
  readonly options: LowerOptions;
  readonly imports = new Set<GlobalId>();
  readonly indexes = new Set<GlobalId>();
  #next: LirId = 1;

  constructor(options: LowerOptions) {
    this.options = options;
  }

  id(): LirId {
    return this.#next++;
  }

  lower(mir: Mir): Lir {
    const types = typesOf(mir);
    switch (mir.op) {
      case 'Project':
      case 'Map':
      case 'Filter': {
        const { mfp, input } = takeMfp(mir);
        return this.#mfp(input, mfp, types);
      }
      case 'Constant':
        return { op: 'Constant', lirId: this.id(), types, rows: mir.rows };
      case 'Get':
        return this.#get(mir, types);
      case 'LocalGet':
        return { op: 'LocalGet', lirId: this.id(), types, local: mir.local };
      case 'Let': {
        const value = this.lower(mir.value);
        const body = this.lower(mir.body);
        return { op: 'Let', lirId: this.id(), types, local: mir.local, value, body };
      }
      case 'LetRec':
        throw unsupported('WITH MUTUALLY RECURSIVE');
      case 'FlatMap': {
        const input = this.lower(mir.input);
        const ordinality = mir.ordinality === true ? { ordinality: true as const } : {};
        return {
          op: 'FlatMap',
          lirId: this.id(),
          types,
          input,
          func: mir.func,
          args: mir.args,
          ...ordinality,
        };
      }
      case 'Join':
        return lowerJoin(this, mir, identityMfp(types.length), types);
      case 'Reduce':
        return this.#reduce(mir, types);
      case 'TopK': {
        const { groupKey, orderBy, limit, offset } = mir;
        const input = this.lower(mir.input);
        return { op: 'TopK', lirId: this.id(), types, input, groupKey, orderBy, limit, offset };
      }
      case 'Negate':
      case 'Threshold': {
        const input = this.lower(mir.input);
        return { op: mir.op, lirId: this.id(), types, input };
      }
      case 'Union': {
        const inputs = mir.inputs.map((i) => this.lower(i));
        return { op: 'Union', lirId: this.id(), types, inputs };
      }
      case 'ArrangeBy': {
        const input = this.lower(mir.input);
        return { op: 'ArrangeBy', lirId: this.id(), types, input, keys: mir.keys };
      }
    }
  }

  /** A step over an input; over a join it becomes part of the stages. */
  #mfp(input: Mir, mfp: Mfp, types: readonly SqlType[]): Lir {
    // A temporal filter holds rows back for later: it is a step of its own, never inside a chain.
    const fused = input.op === 'Join' && !mfp.filter.some(isTemporal);
    if (fused) return lowerJoin(this, input, mfp, types);
    return this.over(this.lower(input), mfp, types);
  }

  over(input: Lir, mfp: Mfp, types: readonly SqlType[]): Lir {
    return isIdentity(mfp) ? input : { op: 'Mfp', lirId: this.id(), types, input, mfp };
  }

  /** Through any index of the cluster, which holds the rows in memory already; else from the collection itself. */
  #get(mir: Extract<Mir, { op: 'Get' }>, types: readonly SqlType[]): Lir {
    const [index] = this.columnIndexes(mir.id);
    this.imports.add(mir.id);
    if (index === undefined) return { op: 'Get', lirId: this.id(), types, id: mir.id };
    this.indexes.add(index.id);
    return { op: 'Get', lirId: this.id(), types, id: mir.id, index };
  }

  /** Indexes of the target cluster whose keys are plain columns. */
  columnIndexes(id: GlobalId): readonly { readonly id: GlobalId; readonly key: readonly number[] }[] {
    return this.options.indexes(id).flatMap((index) => {
      const key = plainKey(index.keys);
      return index.cluster === this.options.cluster && key !== undefined ? [{ id: index.id, key }] : [];
    });
  }

  #reduce(mir: Extract<Mir, { op: 'Reduce' }>, types: readonly SqlType[]): Lir {
    const { aggregates } = mir;
    const plain = plainKey(mir.key);
    if (plain !== undefined) {
      const input = this.lower(mir.input);
      return { op: 'Reduce', lirId: this.id(), types, input, key: plain, aggregates };
    }
    // Key expressions become columns behind the input's.
    const { mfp, input } = takeMfp(mir.input);
    const computed: ScalarExpr[] = [];
    const arity = mfp.project.length;
    const key = mir.key.map((e) => (e.kind === 'column' ? e.index : arity + computed.push(e) - 1));
    const over = mfp.inputArity + mfp.map.length;
    const map = [...mfp.map, ...computed.map((e) => remap(e, (c) => mfp.project[c]))];
    const project = [...mfp.project, ...computed.map((_, i) => over + i)];
    const inputTypes = [...typesOf(mir.input), ...computed.map((e) => e.type)];
    const keyed = this.#mfp(input, { ...mfp, map, project }, inputTypes);
    return { op: 'Reduce', lirId: this.id(), types, input: keyed, key, aggregates };
  }
}
