import type { ClientRequest } from 'node:http'

/**
 * Passes a 101 (RFC 9110, section 15.2.2) that the request did not ask for to the `response` listeners, and closes the
 * connection. Without an `upgrade` listener, node:http emits neither `response` nor `error` for it.
 */
export function upgradeAsResponse<Request extends ClientRequest>(request: Request): Request {
  return request.on('upgrade', (response, socket) => {
    socket.destroy()
    request.emit('response', response)
  })
}
