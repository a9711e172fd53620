import type { buildConnector, Dispatcher } from 'undici'
import type { AttemptEffect } from './effect.js'
import { withoutInterimResponses } from './interim-responses.js'
import { checkProxyVariables } from './proxy-variables.js'

/** The part of `fetch` that the client uses. The fetch of Node and of undici fit, and so does a wrapper of either. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>

export interface FetchInit {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body: string
  /** A redirect must not send a token or a secret to another address. */
  readonly redirect: 'manual'
  readonly signal: AbortSignal
}

export interface FetchResponse {
  readonly status: number
  readonly headers: { forEach(each: (value: string, name: string) => void): void }
  readonly body: { getReader(): BodyReader } | null
}

interface BodyReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>
  cancel(): Promise<unknown>
}

/** Sends a request, and records in `effect` whether it may have left this machine. */
export type SendRequest = (url: string, init: FetchInit, effect: AttemptEffect) => Promise<FetchResponse>

export interface Connections {
  readonly send: SendRequest
  close(): Promise<void>
}

/** A fetch of the application, which manages its connections. */
export function foreignConnections(fetch: Fetch): Connections {
  return {
    async send(url, init, effect) {
      // Its progress cannot be observed. An aborted call is not waited for.
      effect.isPossible = true
      try {
        return await fetch(url, init)
      } catch (error) {
        if (isConnectFailure(error)) effect.isPossible = false
        throw error
      }
    },
    close: () => Promise.resolve(),
  }
}

/** Persistent connections of this client, created with the first request. */
export function ownConnections(baseUrl: string, connectTimeoutMs: number): Connections {
  let connected: ReturnType<typeof connect> | undefined
  return {
    async send(url, init, effect) {
      const { fetch, dispatcher } = await (connected ??= connect(baseUrl, connectTimeoutMs))
      return fetch(url, { ...init, dispatcher: noting(dispatcher, effect) })
    },
    async close() {
      const { dispatcher } = (await connected?.catch(() => undefined)) ?? {}
      await dispatcher?.destroy()
    },
  }
}

async function connect(baseUrl: string, connectTimeoutMs: number) {
  // If no fetch has been used yet, undici makes its own agent that of Node's fetch for the whole process. Reading
  // one of these classes makes Node create its own agent first.
  void globalThis.Response
  const { Agent, buildConnector, EnvHttpProxyAgent, fetch, Pool } = await import('undici')
  const factory = (origin: string | URL, options: object) => {
    const { connect } = options as { connect?: buildConnector.connector | buildConnector.BuildOptions }
    const connector = typeof connect === 'function' ? connect : buildConnector(connect)
    return new Pool(origin, { ...options, connect: tolerant(connector) })
  }
  // The timeout of the attempt applies.
  const options = { connect: { timeout: connectTimeoutMs }, headersTimeout: 0, bodyTimeout: 0, factory }
  // Plain http is only for loopback addresses: through a proxy, the secret would leave this machine unencrypted.
  const plain = baseUrl.startsWith('http:')
  if (!plain) checkProxyVariables(baseUrl, process.env)
  const dispatcher: Dispatcher = plain ? new Agent(options) : new EnvHttpProxyAgent(options)
  return { fetch, dispatcher }
}

/** The same dispatcher for one request. It records when the request begins to be written. */
function noting(dispatcher: Dispatcher, effect: AttemptEffect): Dispatcher {
  const dispatch: Dispatcher['dispatch'] = (options, handler) => {
    const { onConnect } = handler
    // Called when there is a connection, and a tunnel if one is needed, before the first byte is written.
    handler.onConnect = function (...given) {
      effect.isPossible = true
      onConnect?.apply(this, given)
    }
    return dispatcher.dispatch(options, handler)
  }
  return Object.create(dispatcher, { dispatch: { value: dispatch } }) as Dispatcher
}

function tolerant(connector: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connector(options, (...result) => {
      if (result[1]) withoutInterimResponses(result[1])
      callback(...result)
    })
}

/** Whether an error, or one of its causes, says that there was no connection, so that nothing was sent. */
function isConnectFailure(error: unknown, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > 3) return false
  const { code, syscall, cause, errors } = error as Readonly<Record<string, unknown>>
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || syscall === 'connect' || syscall === 'getaddrinfo') return true
  // One error for each address that was tried.
  if (Array.isArray(errors) && errors.length > 0)
    return errors.every((each) => isConnectFailure(each, depth + 1))
  return isConnectFailure(cause, depth + 1)
}
