/**
 * `true` if the list has all of the names; otherwise those that it lacks. `true satisfies HasAll<...>` then fails to compile,
 * and tells which ones they are.
 */
export type HasAll<Name, List extends readonly Name[]> = [Exclude<Name, List[number]>] extends [never]
  ? true
  : Exclude<Name, List[number]>
