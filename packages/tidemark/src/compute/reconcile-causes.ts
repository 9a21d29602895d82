/**
 * Why a replica could not keep a dataflow when a controller connected anew, in the order in which the causes are looked for: one list for
 * the decision, for what is told, and for its documentation.
 */
export const CAUSES = {
  exports: 'one of its exports runs in a dataflow with other exports',
  description: 'what it computes, reads or writes is described otherwise',
  compaction: 'an export has compacted beyond the new as-of',
  permission: 'it may write, and the new one may not',
  reader: 'it sends its results to somebody who is gone',
  memory: 'it reads what the environment keeps in its memory',
  import: 'an index that it imports was not retained',
} as const;

export type Cause = keyof typeof CAUSES;
