import { checkKnownOptions, invalidOption } from '../option-checks.js'
import { fetchAccessToken } from './access-token.js'
import { accountRequest, type AccountUpdate } from './accounts.js'
import { Calls } from './calls.js'
import { ClientError } from './client-error.js'
import { parseClientOptions, type ClientOptions } from './client-options.js'
import { attemptRequest, type ServiceRequest, type ServiceResponse } from './request.js'
import { withRetries } from './retry.js'
import { idempotencyKeyOption, OWNER, subscriptionRequest, type NewSubscription } from './subscriptions.js'
import { TokenCache } from './token-cache.js'

export interface CallOptions {
  /** Ends the call, wherever it stands; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

export interface CreateSubscriptionOptions extends CallOptions {
  /**
   * A UUID, the same for every attempt. Give the one of an earlier call to try that again.
   * @default a new one, which the result and a ClientError carry; the reason of a signal does not
   */
  readonly idempotencyKey?: string | undefined
}

export interface ClientSubscriptions {
  /**
   * Creates a subscription (SERVICE 4.2). Resolves with any status, as none is documented. Repeats an attempt without an
   * answer, or with 5xx or 429, with the same idempotency key.
   * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN: nothing was sent
   * @throws ClientError every code
   */
  create(
    subscription: NewSubscription,
    options?: CreateSubscriptionOptions,
  ): Promise<ServiceResponse & { readonly idempotencyKey: string }>
}

export interface ClientAccounts {
  /**
   * Updates an account (SERVICE 4.3). Resolves with any status, as none is documented. Repeats an attempt without an
   * answer, or with 5xx or 429: PUT is idempotent (RFC 9110, section 9.2.2). So one that was lost on the way may overtake
   * an update that somebody else made in between.
   * @throws CountersignError ERR_OPTION_INVALID, ERR_OPTION_UNKNOWN: nothing was sent
   * @throws ClientError every code
   */
  update(accountId: string, update: AccountUpdate, options?: CallOptions): Promise<ServiceResponse>
}

export interface Client {
  /**
   * A token for requests of your own, to be sent as `Authorization: Bearer ...` (SERVICE 5). From the cache while it lives,
   * otherwise fetched (SERVICE 4.1), once for all who wait.
   * @throws ClientError every code
   */
  accessToken(options?: CallOptions): Promise<string>
  readonly subscriptions: ClientSubscriptions
  readonly accounts: ClientAccounts
  /** Ends the calls under way, which reject with ERR_CLIENT_CLOSED, and the connections. Safe to call twice. */
  close(): Promise<void>
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
  // All of it in closures, where nobody who looks at the client finds it.
  const { access, connections, credentials, retries } = parseClientOptions(options)
  const tokens = new TokenCache(
    (signal) => fetchAccessToken({ ...access, credentials, retries }, signal),
    retries.clock,
  )
  const calls = new Calls()
  let closed: Promise<void> | undefined

  /** With a token, and with another one when that is refused: once, or a service that refuses all would go on for ever. */
  const send = (request: ServiceRequest, signal: AbortSignal): Promise<ServiceResponse> => {
    let renewed = false
    const sendWith = (token: string, attempt: number) =>
      attemptRequest(access, withToken(request, token), attempt, signal)
    return withRetries(retries, signal, async (attempt) => {
      const token = await tokens.get(signal)
      const first = await sendWith(token, attempt)
      if (renewed || !('response' in first) || first.response.status !== 401) return first
      renewed = true
      return sendWith(await tokens.get(signal, token), attempt)
    })
  }

  return {
    async accessToken(options) {
      return calls.run(signalOption('accessToken', options, ['signal']), (signal) => tokens.get(signal))
    },
    subscriptions: {
      async create(subscription, options) {
        const userSignal = signalOption(OWNER, options, ['signal', 'idempotencyKey'])
        const idempotencyKey = idempotencyKeyOption(options?.idempotencyKey)
        const request = subscriptionRequest(subscription, idempotencyKey, access.logger)
        try {
          const response = await calls.run(userSignal, (signal) => send(request, signal))
          return { ...response, idempotencyKey }
        } catch (error) {
          throw withIdempotencyKey(error, idempotencyKey)
        }
      },
    },
    accounts: {
      async update(accountId, update, options) {
        const userSignal = signalOption('accounts.update', options, ['signal'])
        const request = accountRequest(accountId, update)
        return calls.run(userSignal, (signal) => send(request, signal))
      },
    },
    close() {
      calls.close()
      return (closed ??= connections.close())
    },
  }
}

function withToken(request: ServiceRequest, token: string): ServiceRequest {
  return {
    ...request,
    headers: { ...request.headers, Authorization: `Bearer ${token}` },
    hidden: [...request.hidden, token],
  }
}

/** Anew, as others may have been given the same error: those who waited for the same token. */
function withIdempotencyKey(error: unknown, idempotencyKey: string): unknown {
  if (!(error instanceof ClientError)) return error
  const { code, message, status, cause } = error
  return new ClientError(code, message, { status, cause: cause as Error | undefined, idempotencyKey })
}

function signalOption(
  owner: string,
  options: CallOptions | undefined,
  known: readonly string[],
): AbortSignal | undefined {
  if (options === undefined) return undefined
  checkKnownOptions(owner, options, known)
  const { signal } = options
  if (signal === undefined || typeof signal?.addEventListener === 'function') return signal
  throw invalidOption(owner, 'signal', signal, 'pass an AbortSignal')
}
