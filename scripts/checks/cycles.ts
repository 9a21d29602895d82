/**
 * Import cycles: strongly connected parts of the import graph (Tarjan), each shown as one shortest way around.
 * Linear in the imports, except for the search of the shown cycle, which stays inside its part.
 */
export interface Edge {
  readonly to: string;
  readonly line: number;
}

export type Graph = ReadonlyMap<string, readonly Edge[]>;

class Search {
  readonly parts: string[][] = [];
  readonly #index = new Map<string, number>();
  readonly #low = new Map<string, number>();
  readonly #stack: string[] = [];
  readonly #onStack = new Set<string>();
  readonly #graph: Graph;

  constructor(graph: Graph) {
    this.#graph = graph;
    for (const node of graph.keys()) if (!this.#index.has(node)) this.#visit(node);
  }

  #visit(node: string): void {
    const index = this.#index.size;
    this.#index.set(node, index);
    this.#low.set(node, index);
    this.#stack.push(node);
    this.#onStack.add(node);
    let low = index;
    for (const { to } of this.#graph.get(node) ?? []) {
      if (!this.#index.has(to)) {
        this.#visit(to);
        low = Math.min(low, this.#low.get(to) ?? low);
      } else if (this.#onStack.has(to)) low = Math.min(low, this.#index.get(to) ?? low);
    }
    this.#low.set(node, low);
    if (low === index) this.#close(node);
  }

  #close(node: string): void {
    const part = this.#stack.splice(this.#stack.lastIndexOf(node));
    for (const member of part) this.#onStack.delete(member);
    const [first] = part;
    const selfImport = this.#graph.get(node)?.some((edge) => edge.to === node) === true;
    if (first !== undefined && (part.length > 1 || selfImport)) this.parts.push(part.sort());
  }
}

/** The shortest way from `start` back to it inside `part`. */
function around(graph: Graph, part: ReadonlySet<string>, start: string): string[] {
  const from = new Map<string, string>();
  const queue = [start];
  for (const node of queue) {
    for (const { to } of graph.get(node) ?? []) {
      if (to === start) {
        const path = [node];
        for (let at = node; at !== start; ) {
          at = from.get(at) ?? start;
          path.unshift(at);
        }
        return path;
      }
      if (part.has(to) && !from.has(to)) {
        from.set(to, node);
        queue.push(to);
      }
    }
  }
  throw new Error(`no cycle through ${start}`);
}

/** One cycle for each strongly connected part, beginning at its first file. */
export function findCycles(graph: Graph): string[][] {
  return new Search(graph).parts.map((part) => around(graph, new Set(part), part[0] ?? ''));
}
