// Entries for an inbox, stored and handled without HTTP.
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { subscription } from '../receiver/requests.mjs'

/** What receivers and workers use of an inbox. */
const ENGINE = Symbol.for('countersign.engine')

/** How many callers there are at a time. */
export const CALLERS = 64

const { eventTypeName: type, callbackUrl } = subscription

/** Resolves to the claims of those that begin as they are stored: `begin`. */
export async function fill(inbox, count, { callers = CALLERS, bodyBytes = 0, headers, begin } = {}) {
  const claims = []
  for (let added = 0; added < count; added += callers) {
    const adding = Array.from({ length: Math.min(callers, count - added) }, () =>
      inbox[ENGINE].add({ ...arrival(bodyBytes), headers: headers?.() }, begin),
    )
    for (const { claim } of await Promise.all(adding)) if (claim) claims.push(claim)
  }
  return claims
}

export async function end(inbox, claims) {
  for (let ended = 0; ended < claims.length; ended += CALLERS) {
    const some = claims.slice(ended, ended + CALLERS)
    await inbox[ENGINE].settle(some.map((claim) => ({ claim, end: { move: 'complete' } })))
  }
}

export async function empty(inbox, count) {
  const engine = inbox[ENGINE]
  for (let ended = 0; ended < count;) {
    const request = { eventTypes: [type], limit: CALLERS, leaseMs: 60_000, beginBelow: 99 }
    const { entries } = await engine.claim(request)
    const notBegun = entries.filter(({ begun }) => !begun)
    if (notBegun.length > 0) await engine.begin(notBegun, 60_000)
    await engine.settle(entries.map((claim) => ({ claim, end: { move: 'complete' } })))
    ended += entries.length
  }
}

/** The body has at least `bodyBytes` bytes of text that cannot be compressed much. */
function arrival(bodyBytes) {
  const idempotencyKey = randomUUID()
  const id = randomUUID()
  const missing = Math.max(0, bodyBytes - JSON.stringify({ Id: id, Reference: '' }).length)
  const reference = missing > 0 && { Reference: randomBytes(missing).toString('base64').slice(0, missing) }
  const rawBody = Buffer.from(JSON.stringify({ Id: id, ...reference }))
  const now = new Date()
  return {
    callback: {
      type,
      idempotencyKey,
      signedAt: now,
      receivedAt: now,
      rawBody,
      subscription: { eventTypeName: type, callbackUrl },
      secretFingerprint: '0123456789ab',
    },
    key: `${idempotencyKey}@${type} ${callbackUrl}`,
    bodyHash: createHash('sha256').update(rawBody).digest('base64'),
    signature: randomBytes(32).toString('base64'),
  }
}
