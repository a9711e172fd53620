// What was sent, and what became of it.

/** Prints rows of text under their heads, each column as wide as it has to be. */
export function printTable(heads, rows) {
  const lines = [heads, ...rows].map((cells) => cells.map(String))
  const widths = heads.map((_, column) => Math.max(...lines.map((cells) => cells[column].length)))
  for (const cells of lines) {
    console.log(
      cells
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    )
  }
}

/** One row for each fault. */
export function rowsByFault({ deliveries, isHandled }) {
  const byFault = groupBy(deliveries, ({ fault }) => fault ?? 'no fault')
  return [...byFault].map(([fault, ofFault]) => {
    const attempts = ofFault.flatMap((delivery) => delivery.attempts)
    const answers = groupBy(attempts, ({ status, error }) => status ?? `none (${error})`)
    const counted = [...answers].map(([answer, { length }]) => `${length} x ${answer}`).sort()
    const handled = ofFault.filter(({ idempotencyKey }) => isHandled(idempotencyKey)).length
    return [fault, ofFault.length, attempts.length, counted.join(', '), handled]
  })
}

function groupBy(list, keyOf) {
  const groups = new Map()
  for (const each of list) groups.set(keyOf(each), [...(groups.get(keyOf(each)) ?? []), each])
  return groups
}
