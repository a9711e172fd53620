import { createHmac, createSecretKey, hash, timingSafeEqual } from 'node:crypto'
import { verify as octokitVerify } from '@octokit/webhooks-methods'
import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { signCallback, stringToSign, verifyCallback } from 'countersign/signature'
import { median, ratio } from './statistics.mjs'

const SIZES = [300, 1024, 4096, 16_384, 65_536]
const AIMS = new Map([
  [300, { atMost: 1.15 }],
  [16_384, { atMost: 1.05 }],
])

const secret = 'a secret of forty characters, as they are'
const callbackUrl = 'https://partner.example.com/hooks/transfers'

/** What it costs to verify a callback of each size, beside the cryptography alone and beside other libraries. */
export async function benchVerify({ quick }) {
  const rows = []
  for (const size of SIZES) {
    const seconds = await measure(contenders(size), { rounds: quick ? 25 : 120, roundMs: 3 })
    rows.push(...rowsOf(size, seconds))
  }
  return rows
}

/** In short turns, one after the other and then in reverse, so that whatever slows the machine down slows all alike. */
async function measure(verifiers, { rounds, roundMs }) {
  const names = Object.keys(verifiers)
  const calls = {}
  for (const name of names) {
    await time(verifiers[name], 2000)
    calls[name] = Math.ceil(roundMs / 1000 / (await time(verifiers[name], 500)))
  }
  const seconds = Object.fromEntries(names.map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const name of names) seconds[name].push(await time(verifiers[name], calls[name]))
    names.reverse()
  }
  return seconds
}

/** Seconds per call. */
async function time(verify, calls) {
  const startedAt = performance.now()
  for (let call = 0; call < calls; call++) {
    const answer = verify(call % POOL)
    if ((answer instanceof Promise ? await answer : answer) !== true)
      throw new Error('refused what is genuine')
  }
  return (performance.now() - startedAt) / 1000 / calls
}

const POOL = 16

/** Each verifies the same bodies, the way a server has them: as bytes. */
function contenders(size) {
  const timestamp = new Date().toUTCString()
  const bodies = Array.from({ length: POOL }, (_, index) => {
    const start = `{"Id":"${String(index).padStart(8, '0')}-0000-4000-8000-000000000000","Reference":"`
    return Buffer.from(`${start}${'x'.repeat(size - start.length - 2)}"}`)
  })

  const authorizations = bodies.map((body) => signCallback({ callbackUrl, secret, timestamp, body }))
  const key = createSecretKey(secret, 'utf8')
  const texts = bodies.map((body) => stringToSign({ callbackUrl, timestamp, body }))
  const signatures = texts.map((text) => createHmac('sha256', key).update(text).digest())

  const stripe = new Stripe('sk_test_none').webhooks
  const stripeHeaders = bodies.map((body) =>
    stripe.generateTestHeaderString({ payload: body.toString(), secret }),
  )
  const standard = new Webhook(secret, { format: 'raw' })
  const standardHeaders = bodies.map((body) => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
    'webhook-signature': standard.sign('msg_1', new Date(), body),
  }))
  const octokitHeaders = bodies.map(
    (body) => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  )

  return {
    bare: (i) =>
      hash('sha256', bodies[i], 'base64').length === 44 &&
      timingSafeEqual(createHmac('sha256', key).update(texts[i]).digest(), signatures[i]),
    countersign: (i) =>
      verifyCallback({ callbackUrl, secret, timestamp, authorization: authorizations[i], body: bodies[i] })
        .valid,
    stripe: (i) => stripe.signature.verifyHeader(bodies[i], stripeHeaders[i], secret),
    octokit: (i) => octokitVerify(secret, bodies[i].toString(), octokitHeaders[i]),
    standardwebhooks: (i) =>
      standard.verify(bodies[i], standardHeaders[i], { jsonParse: false }) === undefined,
  }
}

function rowsOf(size, seconds) {
  const row = (name, what, comparison) => ({
    part: 'verify',
    what: `${size < 1024 ? `${size} B` : `${size / 1024} KiB`}: ${what}`,
    measured: `${(median(seconds[name]) * 1e6).toFixed(2)} µs`,
    ...comparison,
  })
  const countersignBeside = (name, aim) => ({
    ratio: ratio(seconds.countersign, seconds[name]),
    of: `countersign ÷ ${name}`,
    aim,
  })
  return [
    row('bare', 'SHA-256, HMAC, timingSafeEqual'),
    row('countersign', 'countersign', countersignBeside('bare', AIMS.get(size))),
    row('stripe', 'stripe', countersignBeside('stripe', { below: 1 })),
    row('standardwebhooks', 'standardwebhooks', countersignBeside('standardwebhooks', { below: 1 })),
    row('octokit', '@octokit/webhooks-methods', countersignBeside('octokit')),
  ]
}
