import { eventTypeNameProblem } from '../base/event-type-name.js'
import { parseUrl } from '../base/parse-url.js'
import { isUuid } from '../base/uuid.js'
import { headerValues } from '../testing/http-message.js'
import { ApiRefusal, jsonFields, type ApiCall } from './api-call.js'
import type { SimulatedResponse } from './api-types.js'
import type { ServiceSubscription, SubscriptionBook } from './subscription-book.js'

type Wanted = Pick<ServiceSubscription, 'eventTypeName' | 'callbackUrl' | 'secret' | 'description'>

/**
 * Creates subscriptions (SERVICE 4.2). A repeated key gets the answer of its first request, and creates nothing.
 * The returned function throws ApiRefusal.
 */
export function subscriptionEndpoint(
  book: SubscriptionBook,
  respond: (subscription: ServiceSubscription) => SimulatedResponse,
): (call: ApiCall) => SimulatedResponse {
  const answered = new Map<string, { readonly wanted: string; readonly response: SimulatedResponse }>()
  return (call) => {
    const [key = '', ...more] = headerValues(call.rawHeaders, 'x-idempotency-key')
    if (!isUuid(key) || more.length > 0) {
      throw new ApiRefusal(400, 'idempotency-key', 'one X-Idempotency-Key header must be a UUID')
    }
    const subscription = subscriptionIn(jsonFields(call))
    const wanted = JSON.stringify(subscription)
    const known = answered.get(key.toLowerCase())
    if (known?.wanted === wanted) return known.response
    if (known) {
      const message = 'X-Idempotency-Key belongs to a request with another body'
      throw new ApiRefusal(409, 'idempotency-key-reused', message)
    }
    if (book.isFull) throw new ApiRefusal(503, 'too-many', 'the simulator keeps no more subscriptions')
    const response = respond(book.add({ ...subscription, idempotencyKey: key }))
    answered.set(key.toLowerCase(), { wanted, response })
    return response
  }
}

function subscriptionIn(fields: ReadonlyMap<string, unknown>): Wanted {
  const eventTypeName = text(fields, 'eventTypeName')
  const problem = eventTypeNameProblem(eventTypeName)
  if (problem) throw new ApiRefusal(400, 'field', problem)
  const callbackUrl = text(fields, 'callbackUrl')
  // The URL parser drops white space at both ends, and line ends anywhere.
  const url = /[\s\p{Cc}]/u.test(callbackUrl) ? undefined : parseUrl(callbackUrl)
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ApiRefusal(400, 'field', 'callbackUrl must be an absolute http or https URL')
  }
  const secret = decode(text(fields, 'secretText'))
  // The service does not document whether it is required.
  const description = fields.has('description') ? text(fields, 'description', true) : undefined
  return { eventTypeName, callbackUrl, secret, description }
}

function text(fields: ReadonlyMap<string, unknown>, name: string, mayBeEmpty = false): string {
  const value = fields.get(name)
  if (typeof value === 'string' && (mayBeEmpty || value !== '')) return value
  throw new ApiRefusal(400, 'field', `${name} must be a text${mayBeEmpty ? '' : ', and not empty'}`)
}

function decode(secretText: string): string {
  const bytes = Buffer.from(secretText, 'base64')
  try {
    // Buffer.from skips characters that are not Base64, so only the canonical spelling is returned unchanged.
    if (bytes.toString('base64') === secretText)
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    // The refusal below covers this case as well.
  }
  throw new ApiRefusal(400, 'field', 'secretText must be the Base64 of the secret text in UTF-8')
}
