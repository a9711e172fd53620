/**
 * Below a list of names, `void (true satisfies HasAll<Name, typeof LIST>)` fails to compile when the list lacks a name, and the
 * error has the missing names.
 */
export type HasAll<Name, List extends readonly Name[]> = [Exclude<Name, List[number]>] extends [never]
  ? true
  : Exclude<Name, List[number]>
