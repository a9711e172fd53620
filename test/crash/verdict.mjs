// What must hold whatever was killed when.

/**
 * @param acknowledged keys that were answered 200
 * @param ledger what the handlers wrote: { key, at: 'start' | 'end', pid, time }
 * @param killedAt by pid, when a process was killed
 * @param handled keys that the inbox has as handled at the end
 * @param unfinished how many entries it has that are not
 */
export function verdict({ acknowledged, ledger, killedAt, handled, unfinished }) {
  const runs = runsByKey(ledger, killedAt)
  const repeats = [...runs.values()].flatMap((ofKey) =>
    ofKey.slice(1).map((run, index) => [ofKey[index], run]),
  )
  const finished = (key) => handled.has(key) && (runs.get(key) ?? []).some(({ ended }) => ended)
  return {
    handled: handled.size,
    repeated: repeats.length,
    lost: [...acknowledged].filter((key) => !finished(key)).length,
    stuck: unfinished,
    twiceAtOnce: repeats.filter(([before, after]) => after.from < before.to).length,
    // Only the death of the process that ran it makes a run be repeated.
    unexplained: repeats.filter(([before, after]) => !killedAt.has(before.pid) || before.pid === after.pid)
      .length,
  }
}

function runsByKey(ledger, killedAt) {
  const runs = new Map()
  for (const { key, at, pid, time } of ledger) {
    const ofKey = runs.get(key) ?? []
    runs.set(key, ofKey)
    if (at === 'start') ofKey.push({ pid, from: time, to: killedAt.get(pid) ?? Infinity, ended: false })
    else
      Object.assign(
        ofKey.findLast((run) => run.pid === pid && !run.ended),
        { to: time, ended: true },
      )
  }
  return runs
}
