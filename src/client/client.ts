import { fetchAccessToken } from './access-token.js'
import { createAccounts, type ClientAccounts } from './accounts.js'
import { sendAuthorized, type SendAuthorized } from './authorized-request.js'
import { signalOption, type CallOptions } from './call-options.js'
import { Calls } from './calls.js'
import { parseClientOptions, type ClientOptions } from './client-options.js'
import { createSubscriptions, type ClientSubscriptions } from './subscriptions.js'
import { TokenCache } from './token-cache.js'

/** A client of the service. `createClient` makes it. */
export interface Client {
  /**
   * A token for requests of your own, to be sent as `Authorization: Bearer ...`. It comes from the cache while it
   * is valid. Otherwise it is requested once for all concurrent callers.
   * @throws ClientError every code
   */
  accessToken(options?: CallOptions): Promise<string>
  readonly subscriptions: ClientSubscriptions
  readonly accounts: ClientAccounts
  /**
   * Aborts the calls in progress, which reject with ERR_CLOSED, and closes the connections. Safe to call
   * twice.
   */
  close(): Promise<void>
  /** `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * The service's API: tokens, subscriptions, accounts.
 *
 * @example
 *   const client = createClient({ baseUrl, clientId, clientSecret })
 *   const secret = generateSecret()
 *   await client.subscriptions.create({ eventTypeName: 'transfers.book-completed', callbackUrl, secret })
 *
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export function createClient(options: ClientOptions): Client {
  return openClient(options).client
}

/**
 * A client, and the texts that must not be shown from its answers: its client secret, and every token that it has
 * received so far. For the command line, which prints answers.
 * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN
 */
export function openClient(options: ClientOptions): { client: Client; hidden: () => string[] } {
  // Closures, so that an inspection of the client shows no secret.
  const { access: without, connections, credentials, retries } = parseClientOptions(options)
  const hidden = () => [credentials.clientSecret, ...tokens.received]
  const access = { ...without, hidden }
  const tokens: TokenCache = new TokenCache(
    (signal) => fetchAccessToken({ ...access, credentials, retries }, signal),
    retries.clock,
  )
  const calls = new Calls()
  const send: SendAuthorized = (request, signal) =>
    calls.run(signal, (signal) => sendAuthorized({ access, retries, tokens }, request, signal))
  let closed: Promise<void> | undefined

  const client: Client = {
    async accessToken(options) {
      return calls.run(signalOption('accessToken', options, ['signal']), (signal) => tokens.get(signal))
    },
    subscriptions: createSubscriptions(send, access.logger),
    accounts: createAccounts(send),
    close() {
      calls.close()
      return (closed ??= connections.close())
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
  return { client, hidden }
}
