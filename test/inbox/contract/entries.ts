import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import type { EntryId, VerifiedCallback } from '../../../src/callback/callback.js'
import type { Arrival, ClaimedEntry, ClaimEnd, ClaimEntries, ClaimToken } from '../../../src/inbox/engine.js'
import type { ActResult, EntrySummary } from '../../../src/inbox/operations.js'
import type { WholeInbox } from '../../support/whole-inbox.js'
import type { InboxState } from '../../../src/inbox/states.js'
import { randomHash } from '../../../src/testing/idempotency-store-tests/deliveries.js'

export const LONG = 3_600_000
export const SHORT = 500

export const EVENT_TYPE = 'transfers.book-completed'
export const CALLBACK_URL = 'https://partner.example.com/hooks/transfers'
/** Without an id or a description of its own. */
export const PLAIN_SUBSCRIPTION = {
  id: `${EVENT_TYPE} ${CALLBACK_URL}`,
  eventTypeName: EVENT_TYPE,
  callbackUrl: CALLBACK_URL,
}
export const RECEIVED_AT = Date.UTC(2025, 10, 21, 9)

export const STATES = [
  'stored',
  'running',
  'retrying',
  'handled',
  'dead',
  'unhandled',
  'quarantined',
  'discarded',
] as const satisfies readonly InboxState[]

export const ANY: ClaimEntries = { eventTypes: 'any', limit: 100, leaseMs: SHORT }
export const INTERRUPTED: ClaimEntries = { ...ANY, interrupted: true }

type ArrivalParts = Partial<Arrival> & Partial<VerifiedCallback>

export function createArrival(parts: ArrivalParts = {}): Arrival {
  const callback: VerifiedCallback = parts.callback ?? {
    type: parts.type ?? EVENT_TYPE,
    idempotencyKey: randomUUID(),
    signedAt: parts.signedAt ?? new Date(RECEIVED_AT - 1000),
    receivedAt: parts.receivedAt ?? new Date(RECEIVED_AT),
    rawBody: parts.rawBody ?? Buffer.from(JSON.stringify({ Id: randomUUID() })),
    subscription: parts.subscription ?? {
      id: 'tenant-1',
      eventTypeName: parts.type ?? EVENT_TYPE,
      callbackUrl: CALLBACK_URL,
      description: 'tenant 1',
    },
    secretFingerprint: '0123456789ab',
  }
  return {
    callback,
    key: parts.key ?? `${callback.idempotencyKey}@${CALLBACK_URL}`,
    bodyHash: createHash('sha256').update(callback.rawBody).digest('base64'),
    signature: randomHash(),
    suspicion: parts.suspicion,
    orderKey: parts.orderKey,
    bodyId: parts.bodyId,
    headers: parts.headers,
    traceContext: parts.traceContext,
  }
}

export const signedAnew = (arrival: Arrival): Arrival => ({ ...arrival, signature: randomHash() })

export function signedAt({ callback, ...arrival }: Arrival, ms: number): Arrival {
  return { ...arrival, callback: { ...callback, signedAt: new Date(ms) } }
}

export function withAnotherBody(arrival: Arrival): Arrival {
  const { callback, bodyHash } = createArrival()
  return {
    ...signedAnew(arrival),
    callback: { ...arrival.callback, rawBody: callback.rawBody },
    bodyHash,
  }
}

export function underAnotherKey(arrival: Arrival): Arrival {
  const idempotencyKey = randomUUID()
  return {
    ...arrival,
    callback: { ...arrival.callback, idempotencyKey },
    key: `${idempotencyKey}@${CALLBACK_URL}`,
  }
}

export async function addInOrder(
  inbox: WholeInbox,
  count: number,
  orderKey = 'account 1',
): Promise<EntryId[]> {
  const ids = []
  for (let i = 0; i < count; i++) ids.push((await inbox.add(createArrival({ orderKey }))).id)
  return ids
}

export async function claimDue(inbox: WholeInbox, request: ClaimEntries): Promise<readonly ClaimedEntry[]> {
  return (await inbox.claim(request)).entries
}

export async function claimNext(inbox: WholeInbox): Promise<ClaimedEntry> {
  const [claimed] = await claimDue(inbox, { ...ANY, limit: 1 })
  assert.ok(claimed, 'nothing is due')
  return claimed
}

/** Claims the next entry and begins it. */
export async function beginNext(inbox: WholeInbox): Promise<ClaimedEntry> {
  const claimed = await claimNext(inbox)
  assert.deepEqual(await inbox.begin([claimed], SHORT), new Set([claimed.id]))
  return claimed
}

/** When the entry ended, by the clock of the inbox. */
export async function endOf(inbox: WholeInbox, id: EntryId): Promise<number> {
  return Number((await inbox.show(id))?.finishedAt)
}

/** A callback that the service signs at this time, so that the latest signed time is this one. It is never claimed. */
export async function signAt(inbox: WholeInbox, ms: number, receivedAt = ms): Promise<void> {
  const times = { signedAt: new Date(ms), receivedAt: new Date(receivedAt) }
  await inbox.add(createArrival({ ...times, suspicion: 'only tells the time' }))
}

type EndMove = 'complete' | 'reschedule' | 'deadLetter'

export function endBy(move: EndMove) {
  if (move === 'reschedule') return { move, delayMs: LONG, error: 'busy' }
  if (move === 'deadLetter') return { move, error: 'account is closed' }
  return { move }
}

/** Ends one claim. Resolves to whether it was held. */
export async function settle(inbox: WholeInbox, claim: ClaimToken, end: ClaimEnd): Promise<boolean> {
  return (await inbox.settle([{ claim, end }])).has(claim.id)
}

/** Makes the types of `addIn` known as handled, except that of `unhandled`; and the usual type. */
export async function askForTypes(inbox: WholeInbox): Promise<void> {
  const handled = STATES.filter((state) => state !== 'unhandled').map((state) => `${state}.only`)
  await inbox.claim({ eventTypes: [...handled, EVENT_TYPE], limit: 0, leaseMs: SHORT })
}

/** An id that the inbox cannot have made. */
export const NO_ID = 'no id of any inbox'

/** Ids of no entry: of another inbox, or of none. The id of a deleted entry is not among them, because it cannot be predicted. */
export const FOREIGN_IDS = [NO_ID, '999999', '0', '-1', '1.5', '1e3', ' 1', '01', '', '9'.repeat(40)]

export async function finishNext(inbox: WholeInbox, move: EndMove): Promise<ClaimedEntry> {
  const begun = await beginNext(inbox)
  assert.equal(await settle(inbox, begun, endBy(move)), true)
  return begun
}

/** Adds an entry and brings it into a state. Nobody may have claimed entries of any type before. */
export async function addIn(state: InboxState, inbox: WholeInbox): Promise<EntryId> {
  await askForTypes(inbox)
  const type = `${state}.only`
  const { id } = await inbox.add(
    createArrival({
      type,
      suspicion: state === 'quarantined' ? 'stale' : undefined,
    }),
  )
  const moves: Partial<Record<InboxState, EndMove>> = {
    retrying: 'reschedule',
    handled: 'complete',
    dead: 'deadLetter',
  }
  if (state === 'running' || moves[state]) {
    const [claimed] = await claimDue(inbox, { eventTypes: [type], limit: 1, leaseMs: LONG })
    await inbox.begin([claimed!], LONG)
    if (moves[state]) await settle(inbox, claimed!, endBy(moves[state]))
  }
  if (state === 'discarded') await done(inbox.act(id, 'discard', 'ann'))
  assert.equal(await stateOf(inbox, id), state)
  return id
}

export async function done(acting: Promise<ActResult>): Promise<void> {
  assert.deepEqual(await acting, { done: true })
}

/** Why an action was refused; undefined when it was done. */
export async function refusalOf(acting: Promise<ActResult>): Promise<string | undefined> {
  const result = await acting
  return result.done ? undefined : result.message
}

export async function stateOf(inbox: WholeInbox, id: EntryId): Promise<InboxState | undefined> {
  return (await inbox.show(id))?.state
}

export const idsOf = (entries: readonly Pick<EntrySummary, 'id'>[]): EntryId[] => entries.map(({ id }) => id)

export const repeat = <Value>(times: number, value: Value): Value[] =>
  Array.from({ length: times }, () => value)

export async function resultsOf(inbox: WholeInbox, arrivals: readonly Arrival[]): Promise<string[]> {
  return (await Promise.all(arrivals.map((arrival) => inbox.add(arrival)))).map(({ result }) => result)
}

export function countEach(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}
