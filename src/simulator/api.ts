import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { accountEndpoint, ACCOUNTS } from './account-endpoint.js'
import { ApiRefusal, type ApiCall } from './api-call.js'
import { describeCall } from './api-record.js'
import type { AnsweredApiRequest, Endpoint, Refusal, ServiceAccount, SimulatedResponse } from './api-types.js'
import { checkResponse, type SimulatorSettings } from './settings.js'
import type { SubscriptionBook } from './subscription-book.js'
import { subscriptionEndpoint } from './subscription-endpoint.js'
import { Tokens } from './token-endpoint.js'

/** The header that names the parts of an answer that the service does not document. */
const NOT_SHOWN = 'X-Not-Shown-By-The-Service'
const MAX_BODY_BYTES = 1_048_576
const MAX_RECORDED = 10_000

/** The service's HTTP interface (SERVICE 4.1 to 4.3). */
export class Api {
  readonly requests: AnsweredApiRequest[] = []
  readonly tokens: Tokens
  readonly accounts: ReadonlyMap<string, ServiceAccount>
  readonly #settings: SimulatorSettings
  readonly #createSubscription: (call: ApiCall) => SimulatedResponse
  readonly #updateAccount: (call: ApiCall) => ServiceAccount

  constructor(settings: SimulatorSettings, book: SubscriptionBook) {
    const { subscriptionResponse } = settings
    this.#settings = settings
    this.tokens = new Tokens(settings)
    const accounts = new Map<string, ServiceAccount>()
    this.accounts = accounts
    this.#updateAccount = accountEndpoint(accounts, settings.missingAccountField)
    this.#createSubscription = subscriptionEndpoint(book, (subscription) =>
      subscriptionResponse
        ? checkResponse('subscriptionResponse', subscriptionResponse(subscription))
        : ownDefault(201),
    )
  }

  readonly listener: RequestListener = (request, response) => {
    void readBody(request).then(
      (body) => this.#serve(callOf(request, body), response),
      // The client has closed the connection.
      () => response.destroy(),
    )
  }

  async #serve(call: ApiCall, response: ServerResponse): Promise<void> {
    const described = describeCall(call, [this.#settings.clientSecret])
    const { intercept, logger } = this.#settings
    let refusal: Refusal | undefined
    let answer: SimulatedResponse | 'hang-up'
    try {
      const interception = await intercept?.(described)
      answer =
        interception === undefined
          ? this.#answer(call)
          : interception === 'hang-up'
            ? interception
            : checkResponse('intercept', interception)
    } catch (error) {
      if (error instanceof ApiRefusal) {
        const { reason, status, message } = error
        refusal = { endpoint: call.endpoint, reason, status, message }
      } else {
        logger.error({ err: error }, 'a function given to the simulator threw')
      }
      answer = this.#refuse(refusal)
    }
    const status = answer === 'hang-up' ? undefined : answer.status
    this.requests.push({ ...described, status, refusal: refusal?.reason })
    if (this.requests.length > MAX_RECORDED) this.requests.shift()
    logger.info(
      { method: call.method, endpoint: call.endpoint, status, refusal: refusal?.reason },
      'API request',
    )
    send(response, answer)
  }

  #answer(call: ApiCall): SimulatedResponse {
    const { endpoint, method, hasQuery, body } = call
    if (endpoint === 'none') {
      const paths = 'POST /security/v1/oauth2/token, POST /webhooks/v1/ and PUT /accounts/v1/<account_id>'
      throw new ApiRefusal(404, 'no-such-path', `there are ${paths}`)
    }
    const allowed = endpoint === 'account' ? 'PUT' : 'POST'
    if (method !== allowed) throw new ApiRefusal(405, 'method', `the method must be ${allowed}`)
    if (hasQuery) {
      const status = endpoint === 'token' ? 400 : 404
      const cure = 'leave out the ? and what follows, or encode it as %3F where it belongs to an account id'
      throw new ApiRefusal(status, 'no-such-path', `the address must have no query: ${cure}`)
    }
    if (!body) {
      const status = endpoint === 'token' ? 400 : 413
      throw new ApiRefusal(status, 'body-too-large', `the body is larger than ${MAX_BODY_BYTES} bytes`)
    }
    if (endpoint === 'token') return this.tokens.answer(call)
    this.tokens.require(call)
    if (endpoint === 'subscription') return this.#createSubscription(call)
    const account = this.#updateAccount(call)
    const { accountResponse } = this.#settings
    return accountResponse ? checkResponse('accountResponse', accountResponse(account)) : ownDefault(200)
  }

  #refuse(refusal: Refusal | undefined): SimulatedResponse {
    if (!refusal)
      return { status: 500, body: { message: 'a function given to the simulator threw; see its logger' } }
    const { refusalResponse, logger } = this.#settings
    try {
      if (refusalResponse) return checkResponse('refusalResponse', refusalResponse(refusal))
    } catch (error) {
      logger.error({ err: error }, 'a function given to the simulator threw')
      return this.#refuse(undefined)
    }
    const { reason, message, status, endpoint } = refusal
    return ownDefault(
      status,
      { reason, message },
      endpoint === 'token' && status === 400 ? 'body' : undefined,
    )
  }
}

function ownDefault(status: number, body?: unknown, notShown = 'status, body'): SimulatedResponse {
  return { status, body, headers: { [NOT_SHOWN]: notShown } }
}

function callOf({ method = '', url = '', rawHeaders }: IncomingMessage, body: Buffer | undefined): ApiCall {
  const path = url.split('?', 1)[0]!
  return { endpoint: endpointOf(path), method, path, hasQuery: path !== url, rawHeaders, body }
}

function endpointOf(path: string): Endpoint {
  if (path === '/security/v1/oauth2/token') return 'token'
  if (path === '/webhooks/v1/') return 'subscription'
  return path.startsWith(ACCOUNTS) && !path.slice(ACCOUNTS.length).includes('/') ? 'account' : 'none'
}

/**
 * The body, or undefined if it is too large. It is read to its end in any case, within the server's requestTimeout:
 * the client would not see an earlier answer if the connection was reset while it was sending.
 */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  let chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= MAX_BODY_BYTES) chunks.push(chunk)
    else chunks = []
  }
  return size > MAX_BODY_BYTES ? undefined : Buffer.concat(chunks)
}

function send(response: ServerResponse, answer: SimulatedResponse | 'hang-up'): void {
  if (answer === 'hang-up') return void response.destroy()
  const { status, headers = {}, body } = answer
  try {
    const bytes = Buffer.from(
      body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body),
    )
    const type = body === undefined || typeof body === 'string' ? {} : { 'Content-Type': 'application/json' }
    const length = status === 204 || status === 304 ? {} : { 'Content-Length': bytes.length }
    response.writeHead(status, { ...type, ...length, ...headers }).end(bytes)
  } catch {
    // A header or a body that was passed to the simulator cannot be written.
    response.writeHead(500).end()
  }
}
