import type { buildConnector, Dispatcher } from 'undici'
import type { AttemptEffect } from './effect.js'
import { withoutInterimResponses } from './interim-responses.js'
import { checkProxyVariables } from './proxy-variables.js'

/** What the client asks of `fetch`: those of Node and undici fit, and so does a function that adds to either of them. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>

export interface FetchInit {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body: string
  /** A redirect must not carry a token or a secret elsewhere. */
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

/** Sends a request, and notes in `effect` whether it may have left this machine. */
export type SendRequest = (url: string, init: FetchInit, effect: AttemptEffect) => Promise<FetchResponse>

export interface Connections {
  readonly send: SendRequest
  close(): Promise<void>
}

/** Somebody else's fetch, who sees to its connections. */
export function foreignConnections(fetch: Fetch): Connections {
  return {
    async send(url, init, effect) {
      // What it does is not seen here, and a call that is aborted is not waited for.
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

/** Connections of this client's own, which are kept and used again, made when the first is needed. */
export function ownConnections(baseUrl: string, connectTimeoutMs: number): Connections {
  const lazily = () => connect(baseUrl, connectTimeoutMs)
  let connected: ReturnType<typeof connect> | undefined
  return {
    async send(url, init, effect) {
      const { fetch, dispatcher } = await (connected ??= lazily())
      return fetch(url, { ...init, dispatcher: noting(dispatcher, effect) })
    },
    async close() {
      const { dispatcher } = (await connected?.catch(() => undefined)) ?? {}
      await dispatcher?.destroy()
    },
  }
}

async function connect(baseUrl: string, connectTimeoutMs: number) {
  // Where no fetch has been used yet, undici makes its own agent that of Node's fetch, for the whole process; to look at
  // one of these classes makes Node set up its own before.
  void globalThis.Response
  const { Agent, buildConnector, EnvHttpProxyAgent, fetch, Pool } = await import('undici')
  const factory = (origin: string | URL, options: object) => {
    const { connect } = options as { connect?: buildConnector.connector | buildConnector.BuildOptions }
    const connector = typeof connect === 'function' ? connect : buildConnector(connect)
    return new Pool(origin, { ...options, connect: tolerant(connector) })
  }
  // The time-outs of the attempt are what counts.
  const options = { connect: { timeout: connectTimeoutMs }, headersTimeout: 0, bodyTimeout: 0, factory }
  // Plain http is for loopback only: through a proxy, the secret would leave this machine unencrypted.
  const plain = baseUrl.startsWith('http:')
  if (!plain) checkProxyVariables(baseUrl, process.env)
  const dispatcher: Dispatcher = plain ? new Agent(options) : new EnvHttpProxyAgent(options)
  return { fetch, dispatcher }
}

/** The same dispatcher for one request, which notes when that begins to be written. */
function noting(dispatcher: Dispatcher, effect: AttemptEffect): Dispatcher {
  const dispatch: Dispatcher['dispatch'] = (options, handler) => {
    const { onConnect } = handler
    // Called when there is a connection, and a tunnel where one is needed, before the first byte is written.
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

/** Whether an error, or what caused it, says that there was no connection on which anything could have been sent. */
function isConnectFailure(error: unknown, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > 3) return false
  const { code, syscall, cause, errors } = error as Readonly<Record<string, unknown>>
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || syscall === 'connect' || syscall === 'getaddrinfo') return true
  // One error for each address that was tried.
  if (Array.isArray(errors) && errors.length > 0)
    return errors.every((each) => isConnectFailure(each, depth + 1))
  return isConnectFailure(cause, depth + 1)
}
