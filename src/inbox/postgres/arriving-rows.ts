import { ownSubscriptionId } from '../../callback/callback.js'
import type { Arrival } from '../inbox.js'
import { IDENTITY_BYTES, writeIdentity } from '../identity.js'
import { orderKeyOf } from './order.js'
import { storedHeaders } from '../stored-headers.js'
import { storedText } from './sql-text.js'

type Column = readonly [name: string, type: 'text' | 'bigint', valueOf: (arrival: Arrival) => string | null]

/** The columns that differ between arrivals. Each is one array, so that one statement can store any number of arrivals. */
const OWN: readonly Column[] = [
  ['idempotency_key', 'text', ({ callback }) => storedText(callback.idempotencyKey)],
  ['order_key', 'bigint', ({ orderKey }) => (orderKey === undefined ? null : orderKeyOf(orderKey))],
  ['signed_at', 'bigint', ({ callback }) => String(Number(callback.signedAt))],
  ['received_at', 'bigint', ({ callback }) => String(Number(callback.receivedAt))],
  ['body_id', 'text', ({ bodyId }) => storedOrNull(bodyId)],
  ['trace_context', 'text', ({ traceContext }) => storedOrNull(traceContext)],
  ['headers', 'text', ({ headers }) => storedHeaders(headers)],
]

/** The columns that are equal for all callbacks of a subscription. Consecutive arrivals with equal values share one element. */
const SHARED: readonly Column[] = [
  ['event_type', 'text', ({ callback }) => storedText(callback.type)],
  ['subscribed_type', 'text', ({ callback }) => storedText(callback.subscription.eventTypeName)],
  ['callback_url', 'text', ({ callback }) => storedText(callback.subscription.callbackUrl)],
  ['description', 'text', ({ callback }) => storedOrNull(callback.subscription.description)],
  ['subscription_id', 'text', ({ callback }) => storedOrNull(ownSubscriptionId(callback.subscription))],
  ['secret_fingerprint', 'text', ({ callback }) => storedText(callback.secretFingerprint ?? '')],
]

/** The parameters of a statement that reads `ARRIVING`. Identities and bodies are sent as one binary value. */
export function columnsOf(arrivals: readonly Arrival[]): unknown[] {
  const own: (string | null)[][] = OWN.map(() => [])
  const shared: (string | null)[][] = SHARED.map(() => [])
  const sharedAt: number[] = []
  const bodyAt: number[] = []
  const bodyBytes: number[] = []
  let end = arrivals.length * IDENTITY_BYTES
  const bytes = Buffer.alloc(end + arrivals.reduce((sum, { callback }) => sum + callback.rawBody.length, 0))
  let previous: Arrival | undefined
  for (const [index, arrival] of arrivals.entries()) {
    for (const [column, [, , valueOf]] of OWN.entries()) own[column]!.push(valueOf(arrival))
    if (previous === undefined || !areAlike(previous, arrival))
      for (const [column, [, , valueOf]] of SHARED.entries()) shared[column]!.push(valueOf(arrival))
    previous = arrival
    sharedAt.push(shared[0]!.length)
    writeIdentity(arrival, bytes, index * IDENTITY_BYTES)
    const { rawBody } = arrival.callback
    bytes.set(rawBody, end)
    bodyAt.push(end + 1)
    bodyBytes.push(rawBody.length)
    end += rawBody.length
  }
  return [...own, ...shared, integers(sharedAt), integers(bodyAt), integers(bodyBytes), bytes]
}

function areAlike({ callback: one }: Arrival, { callback: other }: Arrival): boolean {
  return (
    one.type === other.type &&
    one.secretFingerprint === other.secretFingerprint &&
    one.subscription.id === other.subscription.id &&
    one.subscription.eventTypeName === other.subscription.eventTypeName &&
    one.subscription.callbackUrl === other.subscription.callbackUrl &&
    one.subscription.description === other.subscription.description
  )
}

function storedOrNull(text: string | undefined): string | null {
  return text === undefined ? null : storedText(text)
}

/** An array of PostgreSQL as text, which costs less than to have the driver quote each number. */
function integers(numbers: readonly number[]): string {
  return `{${numbers.join(',')}}`
}

const PLACES = ['shared_at', 'body_at', 'body_bytes'] as const
const HASHES = ['key_hash', 'body_hash', 'signature'] as const

const parameter = (number: number, type: string) => `$${number}::${type}`
const BYTES = parameter(OWN.length + SHARED.length + PLACES.length + 1, 'bytea')
/** The parameter after those that `columnsOf` returns. */
export const NOW = `$${OWN.length + SHARED.length + PLACES.length + 2}`

const ROWS = [...OWN.map(([, type]) => type), ...PLACES.map(() => 'integer')]
  .map((type, at) => parameter(at < OWN.length ? at + 1 : at + 1 + SHARED.length, `${type}[]`))
  .join(', ')
const NAMES = [...OWN.map(([name]) => name), ...PLACES, 'position'].join(', ')
const SHARED_VALUES = SHARED.map(
  ([name, type], at) => `(${parameter(OWN.length + at + 1, `${type}[]`)})[shared_at] AS ${name}`,
)
const HASH_VALUES = HASHES.map(
  (name, at) =>
    `substring(${BYTES} FROM ((position - 1) * ${IDENTITY_BYTES})::integer + ${1 + at * 16} FOR 16) AS ${name}`,
)

/** The arrivals as rows, in their order, without their bodies. */
export const ARRIVING = `(
    SELECT given.*, ${[...SHARED_VALUES, ...HASH_VALUES].join(', ')}
    FROM unnest(${ROWS}) WITH ORDINALITY AS given (${NAMES})
  ) AS arriving`

const AS_ARRIVED = [...OWN.map(([name]) => name), ...SHARED.map(([name]) => name), ...HASHES].join(', ')
/** The columns of an entry that are as they arrived, and their values. Only here are the bodies copied. */
export const COLUMNS = `${AS_ARRIVED}, body`
export const VALUES = `${AS_ARRIVED}, substring(${BYTES} FROM body_at FOR body_bytes)`
