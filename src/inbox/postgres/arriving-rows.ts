import { ownSubscriptionId } from '../../callback/callback.js'
import type { Arrival } from '../engine.js'
import { IDENTITY_BYTES, writeIdentity } from '../identity.js'
import { bigintArray, byteaArray, integerArray, textArray } from './binary-arrays.js'
import { orderKeyOf } from './order.js'
import { storedHeaders } from '../stored-headers.js'
import { storedText } from './sql-text.js'

type TextColumn = readonly [name: string, valueOf: (arrival: Arrival) => string | null]
type BigintColumn = readonly [name: string, valueOf: (arrival: Arrival) => bigint | null]

/** The columns that differ between arrivals. */
const TEXTS: readonly TextColumn[] = [
  ['idempotency_key', ({ callback }) => storedText(callback.idempotencyKey)],
  ['body_id', ({ bodyId }) => storedOrNull(bodyId)],
]
/** The same, for `contents`. */
const CONTENT_TEXTS: readonly TextColumn[] = [
  ['trace_context', ({ traceContext }) => storedOrNull(traceContext)],
  ['headers', ({ headers }) => storedHeaders(headers)],
]
const BIGINTS: readonly BigintColumn[] = [
  ['order_key', ({ orderKey }) => (orderKey === undefined ? null : BigInt(orderKeyOf(orderKey)))],
  ['signed_at', ({ callback }) => BigInt(Number(callback.signedAt))],
  ['received_at', ({ callback }) => BigInt(Number(callback.receivedAt))],
]

/** The columns that are equal for all callbacks of a subscription. Consecutive arrivals with equal values share one element. */
const SHARED: readonly TextColumn[] = [
  ['event_type', ({ callback }) => storedText(callback.type)],
  ['subscribed_type', ({ callback }) => storedText(callback.subscription.eventTypeName)],
  ['callback_url', ({ callback }) => storedText(callback.subscription.callbackUrl)],
  ['description', ({ callback }) => storedOrNull(callback.subscription.description)],
  ['subscription_id', ({ callback }) => storedOrNull(ownSubscriptionId(callback.subscription))],
  ['secret_fingerprint', ({ callback }) => storedText(callback.secretFingerprint)],
]

/** The first parameters of `store_new`: one array for each column. All identities are one value. */
export function columnsOf(arrivals: readonly Arrival[]): unknown[] {
  const representatives: Arrival[] = []
  const sharedAt: number[] = []
  const identities = Buffer.allocUnsafe(arrivals.length * IDENTITY_BYTES)
  for (const [index, arrival] of arrivals.entries()) {
    const last = representatives.at(-1)
    if (last === undefined || !areAlike(last, arrival)) representatives.push(arrival)
    sharedAt.push(representatives.length)
    writeIdentity(arrival, identities, index * IDENTITY_BYTES)
  }
  return [
    ...[...TEXTS, ...CONTENT_TEXTS].map(([, valueOf]) => textArray(arrivals.map(valueOf))),
    ...BIGINTS.map(([, valueOf]) => bigintArray(arrivals.map(valueOf))),
    ...SHARED.map(([, valueOf]) => textArray(representatives.map(valueOf))),
    integerArray(sharedAt),
    byteaArray(arrivals.map(({ callback }) => callback.rawBody)),
    identities,
  ]
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

const TYPES = [
  ...[...TEXTS, ...CONTENT_TEXTS].map(() => 'text[]'),
  ...BIGINTS.map(() => 'bigint[]'),
  ...SHARED.map(() => 'text[]'),
  'integer[]',
  'bytea[]',
  'bytea',
]
/** The parameters that `columnsOf` returns. */
export const COLUMN_PARAMETERS = TYPES.map((type, index) => `$${index + 1}::${type}`)
/** The parameter with this place after those. */
export const parameterAfterColumns = (place: number): string => `$${COLUMN_PARAMETERS.length + place}`

const NAMES = [...TEXTS, ...CONTENT_TEXTS, ...BIGINTS, ...SHARED].map(([name]) => name)
const [SHARED_AT, BODIES, IDENTITIES] = COLUMN_PARAMETERS.slice(NAMES.length)

/** The columns of an entry that are as they arrived, and their values in a statement with one arrival. */
export const ENTRY_OF_ONE = {
  columns: [
    ...namesOf(TEXTS),
    ...namesOf(BIGINTS),
    ...namesOf(SHARED),
    'key_hash',
    'body_hash',
    'signature',
  ].join(', '),
  values: [
    ...[...TEXTS, ...BIGINTS].map((column) => `(${parameterOf(column)})[1]`),
    ...SHARED.map((column) => `(${parameterOf(column)})[(${SHARED_AT})[1]]`),
    ...[1, 17, 33].map((from) => `substring(${IDENTITIES} FROM ${from} FOR 16)`),
  ].join(', '),
}

/** The same of `contents`. */
export const CONTENT_OF_ONE = {
  columns: [...namesOf(CONTENT_TEXTS), 'body'].join(', '),
  values: [...CONTENT_TEXTS.map((column) => `(${parameterOf(column)})[1]`), `(${BODIES})[1]`].join(', '),
}

function namesOf(columns: readonly (TextColumn | BigintColumn)[]): string[] {
  return columns.map(([name]) => name)
}

function parameterOf([name]: TextColumn | BigintColumn): string {
  return COLUMN_PARAMETERS[NAMES.indexOf(name)]!
}
