import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Calls `onClosed` once, when the response is closed, or immediately if it is closed already. */
type WhenClosed = (request: IncomingMessage, response: ServerResponse, onClosed: () => void) => void

/**
 * A response that waits for an earlier one of its connection (pipelining) has no socket yet, and emits no `close` if the
 * connection is closed. A sender may pipeline any number of requests, so each connection has one listener for all of them.
 */
export function createWhenClosed(): WhenClosed {
  const waiting = new WeakMap<Socket, Set<() => void>>()

  const waitingOn = (socket: Socket): Set<() => void> => {
    const known = waiting.get(socket)
    if (known) return known
    const added = new Set<() => void>()
    waiting.set(socket, added)
    socket.once('close', () => {
      for (const onClosed of added) onClosed()
      added.clear()
    })
    return added
  }

  return ({ socket }, response, onClosed) => {
    if (response.destroyed) return onClosed()
    if (response.socket) return void response.once('close', onClosed)
    // The requests of some adapters have no socket. Over HTTP/2 a response loses it when it is closed.
    if (socket?.destroyed !== false) return onClosed()
    const others = waitingOn(socket).add(onClosed)
    response.once('close', () => {
      if (others.delete(onClosed)) onClosed()
    })
  }
}
