import type { Server } from 'node:http'
import { performance } from 'node:perf_hooks'
// Not the globals: a test that installs fake timers must not keep a server from stopping.
import { setImmediate } from 'node:timers'

/** Nothing may arrive for so long before the listening socket is closed. */
const QUIET_MS = 25
/** After this time one quiet event loop iteration is enough; after twice this time none is needed. */
const QUIET_LIMIT_MS = 500
/** An event loop iteration in which nothing happens takes a tenth of this time. */
const SHORT_ROUND_MS = 0.5
/** How long requests that have arrived may take to be accepted, before the receiver accepts no more. */
const INTAKE_LIMIT_MS = 250
/** The connections of a server and their requests. */
interface Traffic {
  /** Increases with each new connection and each new request. */
  readonly arrivals: number
  /** Whether a request waits for its answer. */
  readonly isAnswering: boolean
  /** From now on the last answer of each connection has `Connection: close`. */
  closeAfterAnswers(): void
}

interface Stoppable {
  readonly server: Server
  readonly connections: Traffic
  /** From now on requests wait, until the returned function is called. */
  holdRequests?(): () => void
  stopReceiver(): Promise<void>
  /** Called when the receiver has stopped. Senders that still have no answer afterwards get none. */
  answerUnanswered?(): void
  /**
   * How long connections are kept open after the last handler has finished, in milliseconds: those of other requests, and those
   * that have had no request.
   */
  readonly lastRequestLimitMs: number
}

/**
 * Closes a server so that no sender of a request gets a connection reset instead of an answer. Closing a listening
 * socket resets every connection that the kernel has accepted and the process has not. Data that a client sends on
 * a connection that was just closed is lost, too. Therefore both are done only at a moment when nothing arrives.
 *
 * Until then requests are held. Clients that wait for an answer then send nothing more, and each event loop
 * iteration, which accepts one connection from the kernel's queue, is as short as possible.
 */
export async function stopServer({
  server,
  connections,
  holdRequests,
  stopReceiver,
  answerUnanswered,
  lastRequestLimitMs,
}: Stoppable): Promise<void> {
  connections.closeAfterAnswers()
  const release = holdRequests?.()
  await quiet(connections)
  // In the same event loop iteration that found nothing new. It also closes idle connections.
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  release?.()
  await answered(connections)

  // A connection whose last answer was in progress when the stop began has no `Connection: close`. It is closed
  // after an event loop iteration that has read what arrived, because a request may just have arrived.
  const sweep = setInterval(() => setImmediate(() => server.closeIdleConnections()), 50)
  try {
    await stopReceiver()
  } finally {
    answerUnanswered?.()
    const timer = setTimeout(() => server.closeAllConnections(), lastRequestLimitMs)
    await closed
    clearInterval(sweep)
    clearTimeout(timer)
  }
}

/** Resolves in an event loop iteration in which neither a connection nor a request has arrived. */
async function quiet(connections: Traffic): Promise<void> {
  const startedAt = performance.now()
  let lastRoundAt = startedAt
  let quietSince = startedAt
  for (let seen = -1; ;) {
    await roundOfTheEventLoop()
    const now = performance.now()
    const hasArrived = connections.arrivals !== seen
    if (hasArrived) quietSince = now
    // In a longer iteration, for example if another process had the CPU, something may have arrived after the event
    // loop checked.
    const isQuiet = !hasArrived && now - lastRoundAt <= SHORT_ROUND_MS
    if (isQuiet && (now - quietSince >= QUIET_MS || now - startedAt >= QUIET_LIMIT_MS)) return
    // If something arrives in every iteration, there is no better moment to wait for.
    if (now - startedAt >= 2 * QUIET_LIMIT_MS) return
    seen = connections.arrivals
    lastRoundAt = now
  }
}

async function answered(connections: Traffic): Promise<void> {
  const startedAt = performance.now()
  while (connections.isAnswering && performance.now() - startedAt < INTAKE_LIMIT_MS)
    await roundOfTheEventLoop()
}

function roundOfTheEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
