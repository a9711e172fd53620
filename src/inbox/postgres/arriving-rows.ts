import { ownSubscriptionId } from '../../callback/callback.js'
import type { Arrival, BeginOnArrival } from '../engine.js'
import { IDENTITY_BYTES, writeIdentity } from '../identity.js'
import { bigintArray, byteaArray, integerArray, textArray, uuidArray } from './binary-arrays.js'
import type { CommonHeaders } from './common-headers.js'
import { storedText } from './sql-text.js'
import { textKey, typeKey } from './text-key.js'

/** An arrival, and whether its handlers are to begin as it is stored. */
export interface ArrivalToStore extends Arrival {
  readonly begin?: BeginOnArrival | undefined
}

type TextOf = (arrival: Arrival) => string | null
type NumberOf = (arrival: ArrivalToStore) => bigint | null

const TEXTS: readonly TextOf[] = [
  ({ callback }) => storedText(callback.idempotencyKey),
  ({ bodyId }) => storedOrNull(bodyId),
  ({ traceContext }) => storedOrNull(traceContext),
]
const BIGINTS: readonly NumberOf[] = [
  ({ orderKey }) => (orderKey === undefined ? null : BigInt(textKey(orderKey))),
  ({ callback }) => BigInt(Number(callback.signedAt)),
  ({ callback }) => BigInt(Number(callback.receivedAt)),
  // An older entry with its order key may be unfinished.
  ({ begin, orderKey }) => (begin === undefined || orderKey !== undefined ? null : BigInt(begin.leaseMs)),
]

/** The columns of a source, before that of the headers. */
const SOURCE: readonly TextOf[] = [
  ({ callback }) => storedText(callback.subscription.eventTypeName),
  ({ callback }) => storedText(callback.subscription.callbackUrl),
  ({ callback }) => storedOrNull(callback.subscription.description),
  ({ callback }) => storedOrNull(ownSubscriptionId(callback.subscription)),
  ({ callback }) => storedText(callback.secretFingerprint),
]
const ownType: TextOf = ({ callback }) =>
  callback.type === callback.subscription.eventTypeName ? null : storedText(callback.type)

/**
 * The first parameters of `store_new`: one array for each column. Consecutive arrivals of the same source and type share one element of
 * the columns that follow from these. The id of a source is a hash of its columns, so that no process has to look it up.
 */
export function columnsOf(arrivals: readonly ArrivalToStore[], commonHeaders: CommonHeaders): unknown[] {
  const headers = arrivals.map((arrival) => commonHeaders.divide(arrival))
  const representatives: ArrivalToStore[] = []
  const sharedHeaders: (string | null)[] = []
  const sharedAt: number[] = []
  const identities = Buffer.allocUnsafe(arrivals.length * IDENTITY_BYTES)
  for (const [index, arrival] of arrivals.entries()) {
    const last = representatives.at(-1)
    const { common } = headers[index]!
    if (last === undefined || common !== sharedHeaders.at(-1) || !areAlike(last, arrival)) {
      representatives.push(arrival)
      sharedHeaders.push(common)
    }
    sharedAt.push(representatives.length)
    writeIdentity(arrival, identities, index * IDENTITY_BYTES)
  }
  const sources = [...SOURCE.map((valueOf) => representatives.map(valueOf)), sharedHeaders]
  const sourceId = (_: unknown, index: number) => BigInt(sourceKey(sources.map((column) => column[index]!)))
  return [
    ...TEXTS.map((valueOf) => textArray(arrivals.map(valueOf))),
    textArray(headers.map(({ own }) => own)),
    ...BIGINTS.map((valueOf) => bigintArray(arrivals.map(valueOf))),
    bigintArray(representatives.map(sourceId)),
    ...sources.map(textArray),
    textArray(representatives.map(ownType)),
    bigintArray(representatives.map(({ callback }) => BigInt(typeKey(callback.type)))),
    integerArray(sharedAt),
    byteaArray(arrivals.map(({ callback }) => callback.rawBody)),
    ...[0, 16, 32].map((from) => uuidArray(identities, from, IDENTITY_BYTES)),
  ]
}

/** The id of a source with these columns, as they are stored. */
export function sourceKey(columns: readonly (string | null)[]): string {
  return textKey(JSON.stringify(columns))
}

/** The types of these parameters. */
export const COLUMN_TYPES = [
  ...TEXTS.map(() => 'text[]'),
  'text[]',
  ...BIGINTS.map(() => 'bigint[]'),
  'bigint[]',
  ...SOURCE.map(() => 'text[]'),
  'text[]',
  'text[]',
  'bigint[]',
  'integer[]',
  'bytea[]',
  'uuid[]',
  'uuid[]',
  'uuid[]',
]

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
