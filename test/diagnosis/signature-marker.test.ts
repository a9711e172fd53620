import { explainCallback, type ReceivedRequest } from '../../src/diagnosis/index.js'
import { markSignatures } from '../../src/diagnosis/signature-marker.js'
import { DEPLOYMENTS } from './deployments.js'
import { CLOCKS } from './deployments/clocks.js'
import { CONFIGURED, received, signature, SIGNED } from './signed-elsewhere.js'

/** The request as a capture has it. */
function marked(request: ReceivedRequest): ReceivedRequest {
  return { ...request, rawHeaders: request.rawHeaders!.map(markSignatures) }
}

test('a genuine callback is verified by the salted digest of its signature', () => {
  const explanation = explainCallback(marked(received({})), { subscriptions: [CONFIGURED] })
  expect(explanation).toEqual({ verified: true, findings: [], hmacs: 1 })
})

// The clocks of callbacks are compared only where the signature itself can be verified.
const others = DEPLOYMENTS.filter((each) => !CLOCKS.includes(each))

test.each(others.map((each) => [`${each.cause}: ${each.mistake}`, each] as const))(
  'with a digest, %s',
  (_, { cause, togetherWith, certainty = 'proven', request, options }) => {
    const { findings } = explainCallback(marked(request), {
      subscriptions: [CONFIGURED],
      maxMs: 10_000,
      ...options,
    })
    expect(findings[0]).toMatchObject({ cause, certainty })
    expect(findings[0]?.togetherWith).toBe(togetherWith)
  },
)

test('a marker does not contain the signature, and differs each time', () => {
  const bytes = signature(SIGNED)
  for (const text of [bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('hex')]) {
    const value = `HMAC-SHA256 Signature=${text}`
    expect(markSignatures(value)).not.toContain(text)
    expect(markSignatures(value)).not.toBe(markSignatures(value))
  }
})

test('a marker that somebody sends proves nothing without the secret', () => {
  const forged = `HMAC-SHA256 Signature=[salted-sha256:${'0'.repeat(32)}:${'A'.repeat(43)}=]`
  const request = received({}, { headers: () => [['Authorization', forged]] })
  const { verified, findings } = explainCallback(request, { subscriptions: [CONFIGURED] })
  expect(verified).toBe(false)
  expect(findings.every(({ certainty }) => certainty === 'likely')).toBe(true)
})
