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

/**
 * Tells what is going on: on a terminal in one line that changes, elsewhere in a line for each stage and for each hundred
 * that are done.
 */
export function createProgress(output) {
  let last
  return {
    show(stage, done, total) {
      const counted = total === undefined ? stage : `${stage}: ${done} of ${total}`
      if (output.isTTY) return output.write(`\r\x1b[2K${counted}`)
      const line = total === undefined ? stage : `${stage}: ${Math.floor(done / 100) * 100} of ${total}`
      if (line !== last) output.write(`${line}\n`)
      last = line
    },
    /** Makes room for what is printed next. */
    end() {
      output.write(output.isTTY ? '\r\x1b[2K' : '\n')
    },
  }
}

/** One row for each fault. */
export function rowsByFault({ deliveries, isHandled }) {
  const byFault = groupBy(deliveries, ({ fault }) => fault ?? 'no fault')
  return [...byFault].map(([fault, ofFault]) => {
    const attempts = ofFault.flatMap((delivery) => delivery.attempts)
    const answers = groupBy(attempts, ({ status }) => status ?? 'no answer')
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
