import { ownSubscriptionId } from '../../callback/callback.js'
import type { Arrival } from '../inbox.js'
import { identityOf } from '../identity.js'
import { orderKeyOf } from './order.js'
import { storedText } from './sql-text.js'

/** One array for each column, so that one statement serves any number of arrivals. Bodies are sent as one binary value. */
export function columnsOf(arrivals: readonly Arrival[]): unknown[] {
  const identities = arrivals.map(identityOf)
  const callbacks = arrivals.map(({ callback }) => callback)
  const subscriptions = callbacks.map(({ subscription }) => subscription)
  const bodies = callbacks.map(({ rawBody }) => rawBody)
  let offset = 1
  const offsets = bodies.map(({ length }) => (offset += length) - length)
  return [
    callbacks.map(({ type }) => storedText(type)),
    callbacks.map(({ idempotencyKey }) => storedText(idempotencyKey)),
    identities.map(({ keyHash }) => keyHash),
    identities.map(({ bodyHash }) => bodyHash),
    identities.map(({ signature }) => signature),
    arrivals.map(({ orderKey }) => (orderKey === undefined ? null : orderKeyOf(orderKey))),
    callbacks.map(({ signedAt }) => Number(signedAt)),
    callbacks.map(({ receivedAt }) => Number(receivedAt)),
    subscriptions.map(({ eventTypeName }) => storedText(eventTypeName)),
    subscriptions.map(({ callbackUrl }) => storedText(callbackUrl)),
    subscriptions.map(({ description }) => (description === undefined ? null : storedText(description))),
    subscriptions.map((each) => {
      const id = ownSubscriptionId(each)
      return id === undefined ? null : storedText(id)
    }),
    callbacks.map(({ secretFingerprint = '' }) => storedText(secretFingerprint)),
    offsets,
    bodies.map(({ length }) => length),
    Buffer.concat(bodies),
  ]
}

const GIVEN = [
  ['event_type', 'text'],
  ['idempotency_key', 'text'],
  ['key_hash', 'bytea'],
  ['body_hash', 'bytea'],
  ['signature', 'bytea'],
  ['order_key', 'bigint'],
  ['signed_at', 'bigint'],
  ['received_at', 'bigint'],
  ['subscribed_type', 'text'],
  ['callback_url', 'text'],
  ['description', 'text'],
  ['subscription_id', 'text'],
  ['secret_fingerprint', 'text'],
  ['body_offset', 'integer'],
  ['body_length', 'integer'],
] as const

const ARRAYS = GIVEN.map(([, type], index) => `$${index + 1}::${type}[]`).join(', ')
const NAMES = GIVEN.map(([name]) => name).join(', ')
/** The arrivals as rows, in their order. The parameters after those are the bodies and the current time. */
export const ARRIVING = `unnest(${ARRAYS}) WITH ORDINALITY AS arriving (${NAMES}, position)`
const BODIES = `$${GIVEN.length + 1}`
export const NOW = `$${GIVEN.length + 2}`
/** The columns of an entry that are as they arrived. */
export const COLUMNS = `${GIVEN.slice(0, -2)
  .map(([name]) => name)
  .join(', ')}, body`
export const VALUES = COLUMNS.replace(/body$/, `substring(${BODIES}::bytea FROM body_offset FOR body_length)`)
