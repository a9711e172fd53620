import { createHash, createHmac } from 'node:crypto'

export const SUBSCRIPTION = {
  id: 'simulated',
  eventTypeName: 'transfer',
  callbackUrl: 'https://partner.example.com/hooks',
  secret: 'the secret of the simulated world, 43 characters',
}
export const OTHER_SUBSCRIPTION = {
  ...SUBSCRIPTION,
  id: 'simulated-other',
  eventTypeName: 'unhandled',
  secret: 'another secret of the simulated world, 47 chars',
}

/** Under which other key somebody sends what he has seen. */
export const KEYS = { replay: 'replay', 'replay-anew': 'replay anew' }

/**
 * The requests of the service, and those of somebody who has seen them. They are signed here, by SERVICE 5.1 and not by the package,
 * so that the two cannot be wrong in the same way.
 */
export function requestOf({ callback, as }, signedAtMs) {
  const subscription = callback.type === 'transfer' ? SUBSCRIPTION : OTHER_SUBSCRIPTION
  const body = Buffer.from(
    JSON.stringify({ Id: idOf(callback, 'body'), Order: callback.orderKey, Other: as === 'other-body' }),
  )
  const timestamp = new Date(signedAtMs).toUTCString()
  const key = idOf(callback, KEYS[as] ?? 'key')
  const secret = as === 'forged' ? 'a guess' : subscription.secret
  return {
    method: 'POST',
    path: '/hooks',
    headers: {
      'content-type': 'application/json',
      'x-idempotency-key': key,
      'x-event-type': as === 'other-type' ? 'another.type' : subscription.eventTypeName,
      'authorization-timestamp': timestamp,
      authorization: `HMAC-SHA256 Signature=${signatureOf(secret, timestamp, body)}`,
    },
    body,
  }
}

/** A UUID that is the same in every run. */
export function idOf({ number }, what) {
  const name = `${what} ${number}`
  const known = IDS.get(name)
  if (known) return known
  const hex = createHash('sha256').update(name).digest('hex')
  const id = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
  IDS.set(name, id)
  return id
}

const IDS = new Map()

function signatureOf(secret, timestamp, body) {
  const hash = createHash('sha256').update(body).digest('base64')
  const { pathname, search, host } = new URL(SUBSCRIPTION.callbackUrl)
  return createHmac('sha256', secret)
    .update(`${pathname}${search}\n${timestamp};${host};${hash}`)
    .digest('base64')
}
