// What must hold whatever was killed when.

/**
 * @param acknowledged keys that were answered 200
 * @param ledger what the handlers wrote: { key, at: 'start' | 'end' | 'failed', pid, time }
 * @param rows the keys that transactional handlers committed, if the handlers were transactional
 * @param killedAt by pid, when a process was killed
 * @param outages from when to when the database was out of reach
 * @param handled keys that the inbox has as handled at the end
 * @param unfinished how many entries it has that are not
 */
export function verdict({ acknowledged, ledger, rows, killedAt, outages, handled, unfinished }) {
  const runs = runsByKey(ledger, killedAt)
  const repeats = [...runs.values()].flatMap((ofKey) =>
    ofKey.slice(1).map((run, index) => [ofKey[index], run]),
  )
  const finished = (key) => handled.has(key) && (runs.get(key) ?? []).some(({ succeeded }) => succeeded)
  // Only the death of the process that ran it, or of the database, makes a run be repeated.
  const isExplained = ([before, after]) =>
    (killedAt.has(before.pid) && before.pid !== after.pid) ||
    outages.some(({ from, to }) => before.from <= to && from <= after.from)
  return {
    handled: handled.size,
    repeated: repeats.length,
    lost: [...acknowledged].filter((key) => !finished(key)).length,
    stuck: unfinished,
    twiceAtOnce: repeats.filter(([before, after]) => after.from < before.to).length,
    unexplained: repeats.filter((repeat) => !isExplained(repeat)).length,
    ...(rows && compareRows(rows, new Set([...handled, ...acknowledged]))),
  }
}

/** There must be one row for each of these keys, and no others. */
function compareRows(rows, keys) {
  const present = new Set(rows)
  const rightful = [...present].filter((key) => keys.has(key)).length
  return { rows: rows.length, missingRows: keys.size - rightful, extraRows: rows.length - rightful }
}

function runsByKey(ledger, killedAt) {
  const runs = new Map()
  for (const { key, at, pid, time } of ledger) {
    const ofKey = runs.get(key) ?? []
    runs.set(key, ofKey)
    if (at === 'start') ofKey.push({ pid, from: time, to: killedAt.get(pid) ?? Infinity, isOpen: true })
    else
      Object.assign(
        ofKey.findLast((run) => run.pid === pid && run.isOpen),
        { to: time, isOpen: false, succeeded: at === 'end' },
      )
  }
  return runs
}
