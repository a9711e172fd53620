import type { Server } from 'node:http'
import { performance } from 'node:perf_hooks'
// Not the globals: a test that fakes the timers must not keep a server from stopping.
import { setImmediate } from 'node:timers'
import type { Connections } from './connections.js'

/** How long nothing may arrive before the listening socket is closed. */
const QUIET_MS = 25
/** How long to wait for that under load. */
const QUIET_LIMIT_MS = 500
/** A round of the event loop in which nothing happens takes a tenth of it. */
const SHORT_ROUND_MS = 0.5
/** How long what has arrived may take to be taken in, before the receiver takes in no more. */
const INTAKE_LIMIT_MS = 250
/** How long a connection on which nothing has arrived yet is kept open after the last handler has finished. */
const LAST_REQUEST_LIMIT_MS = 1_000

interface Stoppable {
  readonly server: Server
  readonly connections: Connections
  /** Has requests wait from now on, until the function that it returns is called. */
  holdRequests(): () => void
  stopReceiver(): Promise<void>
}

/**
 * Closes a server so that nobody who has sent a request gets a reset instead of an answer. To close a listening socket
 * resets every connection that the kernel has accepted and the process has not, and whatever a client sends to a connection
 * that was just closed is lost as well. So both are done only at a moment when nothing arrives.
 *
 * Requests are held until then: clients that wait for an answer before they send the next request come to rest, and each
 * round of the event loop, which takes one connection from the kernel's queue, is as short as it can be.
 */
export async function stopServer({
  server,
  connections,
  holdRequests,
  stopReceiver,
}: Stoppable): Promise<void> {
  connections.closeAfterAnswers()
  const release = holdRequests()
  await quiet(connections)
  // In the same round of the event loop in which nothing was found to have arrived. Closes idle connections, too.
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  release()
  await answered(connections)

  // A connection whose last answer was under way when the stop began does not know that it was the last. Looked at after
  // the round of the event loop that has read what arrived, as a request may just have come.
  const sweep = setInterval(() => setImmediate(() => server.closeIdleConnections()), 50)
  try {
    await stopReceiver()
  } finally {
    const timer = setTimeout(() => server.closeAllConnections(), LAST_REQUEST_LIMIT_MS)
    await closed
    clearInterval(sweep)
    clearTimeout(timer)
  }
}

/** Resolves in a round of the event loop in which neither a connection nor a request has arrived. */
async function quiet(connections: Connections): Promise<void> {
  const startedAt = performance.now()
  let lastRoundAt = startedAt
  let quietSince = startedAt
  for (let seen = -1; ;) {
    await roundOfTheEventLoop()
    const now = performance.now()
    const hasArrived = connections.arrivals !== seen
    if (hasArrived) quietSince = now
    // In a round that took longer, for example as another process had the processor, something may have arrived since the
    // event loop looked.
    const isQuiet = !hasArrived && now - lastRoundAt <= SHORT_ROUND_MS
    if (isQuiet && (now - quietSince >= QUIET_MS || now - startedAt >= QUIET_LIMIT_MS)) return
    // Where something arrives in every round there is no better moment to wait for.
    if (now - startedAt >= 2 * QUIET_LIMIT_MS) return
    seen = connections.arrivals
    lastRoundAt = now
  }
}

async function answered(connections: Connections): Promise<void> {
  const startedAt = performance.now()
  while (connections.isAnswering && performance.now() - startedAt < INTAKE_LIMIT_MS)
    await roundOfTheEventLoop()
}

function roundOfTheEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
