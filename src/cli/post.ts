import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { upgradeAsResponse } from '../base/upgrade-response.js'

interface Post {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly chunked: boolean
}

export interface Poster {
  /** Resolves to the status of the answer, once the whole answer has arrived. */
  post(post: Post): Promise<number>
  close(): void
}

/**
 * Sends POST requests to one address, over persistent connections. With `node:http`, because fetch chooses the
 * framing of a body itself.
 */
export function createPoster(
  url: URL,
  { timeoutMs, connections }: { timeoutMs: number; connections: number },
): Poster {
  const secure = url.protocol === 'https:'
  const agent = new (secure ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: connections })
  const target = {
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port,
    path: url.pathname + url.search,
    method: 'POST',
    agent,
  }
  return {
    async post({ headers, body, chunked }) {
      const signal = AbortSignal.timeout(timeoutMs)
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const request = (secure ? httpsRequest : httpRequest)({
          ...target,
          headers: chunked ? { ...headers, 'Transfer-Encoding': 'chunked' } : headers,
          signal,
        })
        // A timeout is reported by its system name, because node:http reports every signal as an abort.
        const fail = (error: Error) => reject(Object.assign(error, signal.aborted && { code: 'ETIMEDOUT' }))
        upgradeAsResponse(request).on('response', resolve).on('error', fail).end(body)
      })
      try {
        for await (const chunk of response) void chunk
      } catch (error) {
        if (!signal.aborted) throw error
      }
      // Without a Content-Length, node:http takes the end of an aborted request for the end of the answer.
      if (signal.aborted)
        throw Object.assign(new Error('the answer did not end in time'), { code: 'ETIMEDOUT' })
      return response.statusCode!
    },
    close: () => agent.destroy(),
  }
}
