import { explainCallback, type ExplainOptions } from '../../src/diagnosis/index.js'
import { CONFIGURED, received } from './signed-elsewhere.js'

const forged = received({ secret: 'nobody-knows-this-0123456789' })
const MINIMUM_MS = 1
const explain = (options: Partial<ExplainOptions>) =>
  explainCallback(forged, { subscriptions: [CONFIGURED], ...options })

test('never computes more HMACs than it may, and says that it stopped', () => {
  expect(explain({ maxHmacs: 10, maxMs: 10_000 })).toMatchObject({ hmacs: 10, stoppedBy: 'maxHmacs' })
  expect(explain({ maxMs: 10_000 })).toMatchObject({ hmacs: 2_000, stoppedBy: 'maxHmacs' })
})

test('names no cause as ruled out if it stopped before all single changes', () => {
  expect(explain({ maxHmacs: 10, maxMs: 10_000 }).findings.at(-1)?.details.ruledOut).toEqual([])
  expect(explain({ maxMs: 10_000 }).findings.at(-1)?.details.ruledOut).toContain('secret-white-space')
})

test('ends after the time that it may take, within a few forms of the body', () => {
  const list = Array.from({ length: 1_200 }, (_, index) => ({
    name: `ä/b${index}`,
    amount: index / 7,
    on: true,
  }))
  const request = received({
    secret: 'nobody-knows-this-0123456789',
    body: JSON.stringify({ Id: 'x', list }),
  })
  const explanation = explainCallback(request, { subscriptions: [CONFIGURED], maxMs: MINIMUM_MS })
  expect(explanation).toMatchObject({ stoppedBy: 'maxMs' })
  expect(explanation.hmacs).toBeLessThan(2_000)
})

test('verifies in any time', () => {
  expect(
    explainCallback(received({}), { subscriptions: [CONFIGURED], maxMs: MINIMUM_MS, maxHmacs: 1 }).verified,
  ).toBe(true)
})

test('finds the subscription among a thousand', () => {
  const others = Array.from({ length: 1_000 }, (_, index) => ({
    eventTypeName: `other.type-${index}`,
    callbackUrl: `https://partner.example.com/hooks/${index}`,
    secret: `other-secret-${index}-0123456789`,
  }))
  const request = received({ secret: CONFIGURED.secret })
  const subscriptions = [...others, { ...CONFIGURED, secret: `${CONFIGURED.secret}\n` }]
  const { findings } = explainCallback(request, { subscriptions, maxMs: 10_000 })
  expect(findings[0]).toMatchObject({ cause: 'secret-white-space', certainty: 'proven' })
})

test('finds a mistake among two thousand subscriptions of one event type, and says that not all were tried', () => {
  const tenants = Array.from({ length: 2_000 }, (_, index) => ({
    eventTypeName: CONFIGURED.eventTypeName,
    callbackUrl: `https://partner.example.com/hooks/${index}`,
    secret: `secret-of-tenant-${index}-0123456789`,
  }))
  const subscriptions = [...tenants, { ...CONFIGURED, secret: `${CONFIGURED.secret}\n` }]
  const { findings } = explainCallback(received({}), { subscriptions, maxMs: 10_000 })
  expect(findings[0]).toMatchObject({ cause: 'secret-white-space', certainty: 'proven' })
  expect(explainCallback(forged, { subscriptions, maxMs: 10_000 })).toMatchObject({ stoppedBy: 'maxHmacs' })
})

test('the time to check the options counts', () => {
  const tenants = Array.from({ length: 5_000 }, (_, index) => ({
    eventTypeName: CONFIGURED.eventTypeName,
    callbackUrl: `https://partner.example.com/hooks/${index}`,
    secret: `secret-of-tenant-${index}-0123456789`,
  }))
  const { hmacs, stoppedBy } = explainCallback(forged, { subscriptions: tenants, maxMs: MINIMUM_MS })
  expect({ hmacs, stoppedBy }).toEqual({ hmacs: 8, stoppedBy: 'maxMs' })
})

test.each<[string, object, RegExp]>([
  ['subscriptions', { subscriptions: 'x' }, /subscriptions is of type string: pass a list/],
  [
    'subscriptions',
    { subscriptions: [{ ...CONFIGURED, callbackUrl: '/hooks' }] },
    /subscriptions\[0\]: callbackUrl is of type string/,
  ],
  [
    'subscriptions',
    { subscriptions: [{ ...CONFIGURED, secret: undefined }] },
    /subscriptions\[0\]: secret is undefined/,
  ],
  ['subscriptions', { subscriptions: [{ ...CONFIGURED, eventTypeName: 1 }] }, /eventTypeName is 1/],
  ['maxHmacs', { maxHmacs: 2_001 }, /maxHmacs is 2001: use a whole number from 1 to 2000/],
  ['maxMs', { maxMs: 0 }, /maxMs is 0: use a whole number from 1 to 10000/],
  ['previousSecrets', { previousSecrets: [''] }, /previousSecrets is a list with something else than texts/],
  [
    'urls',
    { urls: Array.from({ length: 101 }, () => 'https://a.example') },
    /urls is a list of 101: pass a list of at most 100/,
  ],
  ['maxHmac', { maxHmac: 1 }, /has no option "maxHmac"/],
])('refuses a wrong %s: %j', (option, options, message) => {
  const attempt = () => explain(options)
  expect(attempt).toThrow(message)
  expect(attempt).toThrow(expect.objectContaining({ owner: 'explainCallback', option }))
})
