import type { Dispatcher } from 'undici'

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

export interface BodyReader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>
  cancel(): Promise<unknown>
}

export interface Connections {
  readonly fetch: Fetch
  close(): Promise<void>
}

/** Somebody else's fetch, who sees to its connections. */
export function foreignConnections(fetch: Fetch): Connections {
  return { fetch: (url, init) => fetch(url, init), close: () => Promise.resolve() }
}

/** Connections of this client's own, which are kept and used again, made when the first is needed. */
export function ownConnections(baseUrl: string, connectTimeoutMs: number): Connections {
  const lazily = () => connect(baseUrl, connectTimeoutMs)
  let connected: ReturnType<typeof connect> | undefined
  return {
    async fetch(url, init) {
      const { fetch, dispatcher } = await (connected ??= lazily())
      return fetch(url, { ...init, dispatcher })
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
  const { Agent, EnvHttpProxyAgent, fetch } = await import('undici')
  // The time-outs of the attempt are what counts.
  const options = { connect: { timeout: connectTimeoutMs }, headersTimeout: 0, bodyTimeout: 0 }
  // Plain http stays on this machine, where nobody listens in: by way of a proxy it would not.
  const plain = baseUrl.startsWith('http:')
  const dispatcher: Dispatcher = plain ? new Agent(options) : new EnvHttpProxyAgent(options)
  return { fetch, dispatcher }
}
