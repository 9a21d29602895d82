/**
 * Bindings. inline-lets: one that is used once, or costs nothing to say twice, is written where it is used, so that its
 * use can shape it. share-equal: equal parts of a plan become one binding; run last, when parts look as they will.
 */
import {
  childrenOf,
  columnsOf,
  fingerprint,
  keysOf,
  localGet,
  type Mir,
  mapChildren,
  someNode,
} from '../mir.ts';
import type { Rule } from './rule.ts';

export const inlineLets: Rule = { name: 'inline-lets', apply: (mir) => inline(mir, new Map()) };

function uses(node: Mir, local: number): number {
  if (node.op === 'LocalGet') return node.local === local ? 1 : 0;
  return childrenOf(node).reduce((n, c) => n + uses(c, local), 0);
}

/** A read with steps on it: what would be kept for sharing is no more than what is there already. */
function isCheap(value: Mir): boolean {
  switch (value.op) {
    case 'Get':
    case 'LocalGet':
    case 'Constant':
      return true;
    case 'Project':
    case 'Map':
    case 'Filter':
      return isCheap(value.input);
    default:
      return false;
  }
}

function inline(node: Mir, values: ReadonlyMap<number, Mir>): Mir {
  if (node.op === 'LocalGet') {
    const value = values.get(node.local);
    return value ?? node;
  }
  if (node.op !== 'Let') return mapChildren(node, (c) => inline(c, values));
  const value = inline(node.value, values);
  const count = uses(node.body, node.local);
  if (count === 0) return inline(node.body, values);
  if (count === 1 || isCheap(value)) return inline(node.body, new Map([...values, [node.local, value]]));
  // The uses learn what is known of the value now.
  const body = inline(node.body, new Map([...values, [node.local, localGet(node.local, value)]]));
  return value === node.value && sameKnowledge(node, value) ? { ...node, body } : { ...node, value, body };
}
const sameKnowledge = (node: { readonly value: Mir }, value: Mir): boolean =>
  columnsOf(node.value) === columnsOf(value) && keysOf(node.value) === keysOf(value);

export const shareEqual: Rule = {
  name: 'share-equal',
  apply: (mir) => {
    let plan = mir;
    // Each round shares the largest part that stands more than once.
    for (let next = nextLocal(plan), round = 0; round < 100; round++) {
      const part = largestRepeated(plan);
      if (part === undefined) return plan;
      plan = bind(plan, part, next++);
    }
    return plan;
  },
};

function nextLocal(mir: Mir): number {
  let next = 0;
  someNode(mir, (n) => {
    if (n.op === 'Let' || n.op === 'LocalGet') next = Math.max(next, n.local + 1);
    return false;
  });
  return next;
}

function size(node: Mir): number {
  return 1 + childrenOf(node).reduce((n, c) => n + size(c), 0);
}

/** Only closed parts: one that reads a binding would have to stay inside it. */
function largestRepeated(mir: Mir): Mir | undefined {
  const seen = new Map<string, { node: Mir; count: number }>();
  const visit = (node: Mir): void => {
    const key = fingerprint(node);
    const entry = seen.get(key);
    if (entry !== undefined) {
      entry.count++;
      return;
    }
    seen.set(key, { node, count: 1 });
    childrenOf(node).forEach(visit);
  };
  visit(mir);
  let best: { node: Mir; size: number } | undefined;
  for (const { node, count } of seen.values()) {
    if (count < 2 || isCheap(node) || someNode(node, (n) => n.op === 'LocalGet')) continue;
    const s = size(node);
    if (best === undefined || s > best.size) best = { node, size: s };
  }
  return best?.node;
}

function bind(mir: Mir, part: Mir, local: number): Mir {
  const key = fingerprint(part);
  const get = localGet(local, part);
  const replace = (n: Mir): Mir => (fingerprint(n) === key ? get : mapChildren(n, replace));
  return { op: 'Let', local, value: part, body: replace(mir) };
}
