/** The known name that was most likely meant, if a misspelling explains the difference. */
export function similarName(name: string, known: readonly string[]): string | undefined {
  // A name this long is not a misspelling, and the time of the comparison grows with the length.
  if (name.length > 60) return undefined
  const [best] = known
    .map((each) => ({ each, distance: editDistance(name.toLowerCase(), each.toLowerCase()) }))
    // At least two thirds of the characters must match.
    .filter(({ each, distance }) => distance <= Math.max(name.length, each.length) / 3)
    .sort((one, other) => one.distance - other.distance)
  return best?.each
}

/**
 * How many characters must be inserted, deleted, replaced or swapped with their neighbour (optimal string
 * alignment).
 */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const replaced = last[column - 1]! + (from[row - 1] === to[column - 1] ? 0 : 1)
      let least = Math.min(replaced, last[column]! + 1, current[column - 1]! + 1)
      const isSwap =
        row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      if (isSwap) least = Math.min(least, beforeLast[column - 2]! + 1)
      current.push(least)
    }
    beforeLast = last
    last = current
  }
  return last[to.length]!
}
