/** Which conversions resolution may assume without being asked: the cast table's implicit rows. */
import { castAllowed, findCast } from '../repr/casts.ts';
import { type SqlType, typeToString } from '../repr/types.ts';

const known = new Map<string, boolean>();

export function canCastImplicitly(from: SqlType, to: SqlType): boolean {
  if (from.name === 'record' || to.name === 'record') return from.name === to.name;
  const key = `${typeToString(from)}>${typeToString(to)}`;
  let hit = known.get(key);
  if (hit === undefined) {
    const cast = findCast(from, to, false);
    hit = cast !== undefined && castAllowed(cast.context, 'implicit');
    known.set(key, hit);
  }
  return hit;
}
