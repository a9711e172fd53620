import { eventTypeNameProblem } from '../../../base/event-type-name.js'
import { isUuid } from '../../../base/uuid.js'
import { parsePayload } from '../../../callback/payload.js'
import { parseHttpDate } from '../../../signature/timestamp.js'
import { headerValues } from '../../../testing/http-message.js'
import { parseRecordedRequest, RecordedRequestError } from '../../../testing/recorded-requests.js'
import { signedCallback } from '../../../testing/signed-callback.js'
import type { RewriteContext } from './rewrite.js'
import { scrambledJson, type Scramble } from './scramble.js'

interface FixtureOptions {
  readonly callbackUrl: string
  readonly scramble: Scramble
  /** Returns the JSON of another payload, or nothing. */
  readonly rewrite: ((payload: unknown, context: RewriteContext) => Promise<string | undefined>) | undefined
}

export interface Fixture {
  readonly http: Buffer
  readonly idempotencyKey: string
  readonly body: string
  readonly signature: string
  readonly subscription: {
    readonly eventTypeName: string
    readonly callbackUrl: string
    readonly secret: string
  }
}

/** A fixture is part of a repository, so everybody may know its secret. */
const FIXTURE_SECRET = 'only-for-fixtures~everybody-knows-it'
const OTHER_EVENT_TYPE = 'transfers.book-completed'

/**
 * A captured request with another body, another key and a new signature. Of its headers only event type and timestamp are
 * kept: others may name people, machines and networks. If the result is a text, it is the reason why there is no fixture.
 */
export async function fixtureOf(
  bytes: Buffer,
  { callbackUrl, scramble, rewrite }: FixtureOptions,
): Promise<Fixture | string> {
  let request
  try {
    request = parseRecordedRequest(bytes)
  } catch (error) {
    if (error instanceof RecordedRequestError) return 'it has no complete body'
    throw error
  }
  const header = (name: string) => {
    const [value, ...others] = headerValues(request.rawHeaders, name)
    return others.length > 0 ? undefined : value
  }
  const timestamp = header('authorization-timestamp')
  if (timestamp === undefined || parseHttpDate(timestamp) === undefined) return 'it has no valid timestamp'
  const claimed = header('x-event-type')
  const eventTypeName = eventTypeNameProblem(claimed) === undefined ? claimed! : OTHER_EVENT_TYPE
  // A receiver refuses every other body.
  const payload = parsePayload(request.body)
  if (!payload) return 'its body is not a JSON object'
  const body = rewrite
    ? await rewrite(payload, { eventType: eventTypeName })
    : scrambledJson(request.body.toString('utf8'), scramble)
  if (body === undefined) return 'the function returned nothing'
  const key = header('x-idempotency-key')?.toLowerCase()
  const idempotencyKey = scramble(isUuid(key) ? key : '00000000-0000-4000-8000-000000000000')
  const subscription = { eventTypeName, callbackUrl, secret: FIXTURE_SECRET }
  const callback = signedCallback({ subscription, body, timestamp, idempotencyKey })
  const signature = callback.headers['Authorization']!
  return { http: callback.toHttp(), idempotencyKey, body, signature, subscription }
}
