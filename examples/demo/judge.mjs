// What must hold, whatever was delivered and killed when.

/**
 * @param deliveries the simulator's record: what was sent, what it was worth, what was answered
 * @param ledger what the handlers wrote: { key, at: 'start' | 'end', failed, pid }
 * @param killed process ids
 */
export function judge({ deliveries, ledger, killed }) {
  const runs = runsByKey(ledger, killed)
  const isHandled = (key) => (runs.get(key)?.succeeded ?? 0) > 0
  const attempts = deliveries.flatMap((delivery) => delivery.attempts)
  const keysOf = (list) => new Set(list.map(({ idempotencyKey }) => idempotencyKey))
  const genuine = attempts.filter(({ authenticity }) => authenticity === 'genuine')
  const genuineKeys = keysOf(genuine)
  const acknowledgedKeys = keysOf(genuine.filter(isAccepted))
  const forged = attempts.filter(({ authenticity }) => authenticity === 'forged')
  return {
    isHandled,
    problems: {
      'genuine, and never taken in': [...genuineKeys].filter((key) => !acknowledgedKeys.has(key)),
      'genuine, taken in, and lost': [...acknowledgedKeys].filter((key) => !isHandled(key)),
      'forged, and answered 2xx': [...keysOf(forged.filter(isAccepted))],
      'forged or suspect, and handled': [...runs.keys()].filter((key) => !genuineKeys.has(key)),
      'handled twice at once': [...runs].filter(([, { overlapped }]) => overlapped).map(([key]) => key),
      'handled again without need': [...runs]
        .filter(([, { succeeded, interrupted }]) => succeeded > 1 + interrupted)
        .map(([key]) => key),
    },
  }
}

function isAccepted({ status }) {
  return status >= 200 && status < 300
}

/** Lines were appended as things happened, so their order is that of time, also across processes. */
function runsByKey(ledger, killed) {
  const runs = new Map()
  for (const { key, at, failed, pid } of ledger) {
    const run = runs.get(key) ?? { succeeded: 0, interrupted: 0, overlapped: false }
    runs.set(key, run)
    if (at === 'end') {
      run.isOpen = false
      if (!failed) run.succeeded++
    } else {
      // A process that was killed runs no longer, and may not have been able to record what it had finished.
      if (run.pid !== pid && killed.has(run.pid)) run.interrupted++
      else if (run.isOpen) run.overlapped = true
      run.isOpen = true
      run.pid = pid
    }
  }
  return runs
}
