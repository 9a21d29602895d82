/**
 * redundant-reduce, cancel-union: grouping by what is unique already, thresholds of what cannot be negative, parts of a
 * union that take each other away.
 */
import {
  columnsOf,
  empty,
  fingerprint,
  keysOf,
  type Mir,
  map,
  plainKey,
  project,
  rewrite,
  union,
} from '../mir.ts';
import type { Rule } from './rule.ts';

export const redundantReduce: Rule = {
  name: 'redundant-reduce',
  apply: (mir) => rewrite(mir, dropNode),
};

function dropNode(node: Mir): Mir {
  switch (node.op) {
    case 'Reduce': {
      if (node.aggregates.length > 0) return node;
      const key = plainKey(node.key);
      if (key !== undefined && coversKey(node.input, key)) return project(node.input, key);
      // A distinct of a distinct by the same columns, computed: what is grouped is unique if a key is among it.
      const columns = node.key.flatMap((e) => (e.kind === 'column' ? [e.index] : []));
      if (!coversKey(node.input, columns)) return node;
      const arity = columnsOf(node.input).length;
      return project(
        map(node.input, node.key),
        node.key.map((_, i) => arity + i),
      );
    }
    case 'TopK': {
      const whole = node.offset === 0 && node.limit !== null && node.limit >= 1;
      return whole && coversKey(node.input, node.groupKey)
        ? node.input
        : node.limit === null && node.offset === 0
          ? node.input
          : node;
    }
    case 'Threshold':
      return isNonNegative(node.input) ? node.input : node;
    default:
      return node;
  }
}

const coversKey = (node: Mir, columns: readonly number[]): boolean =>
  keysOf(node).some((k) => k.every((c) => columns.includes(c)));

/** Whether no multiplicity can be below zero, however the inputs change. */
function isNonNegative(node: Mir): boolean {
  switch (node.op) {
    case 'Get':
    case 'Reduce':
    case 'TopK':
    case 'Threshold':
      return true;
    case 'Constant':
      return 'error' in node.rows || node.rows.every((r) => r.diff >= 0);
    case 'Project':
    case 'Map':
    case 'Filter':
    case 'FlatMap':
    case 'ArrangeBy':
      return isNonNegative(node.input);
    case 'Union':
    case 'Join':
      return node.inputs.every(isNonNegative);
    default:
      return false;
  }
}

export const cancelUnion: Rule = {
  name: 'cancel-union',
  apply: (mir) => rewrite(mir, (node) => (node.op === 'Union' ? cancel(node) : node)),
};

function cancel(node: Extract<Mir, { op: 'Union' }>): Mir {
  const inputs = [...node.inputs];
  for (let i = 0; i < inputs.length; i++) {
    const n = inputs[i];
    if (n.op !== 'Negate') continue;
    const taken = fingerprint(n.input);
    const at = inputs.findIndex((x, k) => k !== i && fingerprint(x) === taken);
    if (at < 0) continue;
    inputs.splice(Math.max(i, at), 1);
    inputs.splice(Math.min(i, at), 1);
    i = -1;
  }
  if (inputs.length === node.inputs.length) return node;
  return inputs.length === 0 ? empty(columnsOf(node)) : union(inputs);
}
