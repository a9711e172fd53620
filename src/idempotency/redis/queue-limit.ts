import { setMaxListeners } from 'node:events'

/**
 * Returns the signal that abandons a command which the client could not write to a connection within about `limitMs`. Commands
 * of the same tenth of a second share a signal: a signal and a timer for each of them cost about as much as the command.
 */
export function queueLimit(limitMs: number): () => AbortSignal {
  let shared: AbortSignal | undefined
  return () => {
    if (shared) return shared
    const controller = new AbortController()
    // Every command that waits listens to it. Node prints a warning about a leak from the eleventh listener on.
    setMaxListeners(Infinity, controller.signal)
    setTimeout(() => (shared = undefined), SHARED_MS).unref()
    setTimeout(() => controller.abort(), limitMs).unref()
    return (shared = controller.signal)
  }
}

const SHARED_MS = 100
