import { explainCallback } from '../../src/diagnosis/index.js'
import type { Deployment } from './deployments/deployment.js'
import { CONFIGURED, received, signature, SIGNED } from './signed-elsewhere.js'

test('a secret, a signature or a body that stands in a path or a host is not repeated', () => {
  const misplaced: Partial<Deployment>[] = [
    { request: received({ target: `/${CONFIGURED.secret}` }, { path: `/${CONFIGURED.secret}` }) },
    {
      request: received(
        { host: `${CONFIGURED.secret}.example.com` },
        {
          headers: (headers) =>
            headers.map(([name, value]) => [
              name,
              name === 'Host' ? `${CONFIGURED.secret}.example.com` : value,
            ]),
        },
      ),
    },
    {
      request: received(
        { target: `/${encodeURIComponent(SIGNED.body as string)}` },
        { path: `/${encodeURIComponent(SIGNED.body as string)}` },
      ),
    },
  ]
  for (const { request } of misplaced) {
    const { findings } = explainCallback(request!, { subscriptions: [CONFIGURED], maxMs: 10_000 })
    expect(findings[0]?.certainty).toBe('proven')
    expect(JSON.stringify(findings)).not.toContain(CONFIGURED.secret)
    expect(JSON.stringify(findings)).not.toContain('64b87e81')
  }
})

test('a signature of the request in its path is not repeated', () => {
  const target = `/${signature(SIGNED).toString('base64url')}`
  const { findings } = explainCallback(received({ target }, { path: target }), {
    subscriptions: [CONFIGURED],
    maxMs: 10_000,
  })
  expect(findings[0]).toMatchObject({ cause: 'url-path', certainty: 'proven' })
  expect(JSON.stringify(findings)).not.toContain(target.slice(1))
})

test.each([
  ['percent-encoded', encodeURIComponent],
  ['with its slashes', (text: string) => text],
])('a signature of another request in the path is not repeated, %s', (_, write) => {
  // Its Base64 has slashes and plus signs.
  const other = Buffer.alloc(32, Buffer.from('ff7ffbef', 'hex')).toString('base64')
  const target = `/hooks/${write(other)}`
  const { findings } = explainCallback(received({ target }, { path: target }), {
    subscriptions: [CONFIGURED],
    maxMs: 10_000,
  })
  expect(findings[0]?.details.signedUrl).toMatch(/^partner\.example\.com.*…/)
  for (let at = 0; at + 20 <= other.length; at++)
    expect(JSON.stringify(findings)).not.toContain(write(other.slice(at, at + 20)))
})

// Configured by mistake, white space becomes an empty key when it is trimmed, and quotes when they are taken off.
test.each([' ', '\n', '"', "''"])(
  'an empty key, with which anybody can sign, is never tried: %j',
  (secret) => {
    const request = received({ secret: '' })
    const { findings } = explainCallback(request, {
      subscriptions: [{ ...CONFIGURED, secret }],
      maxMs: 10_000,
    })
    expect(findings.filter(({ certainty }) => certainty === 'proven')).toEqual([])
  },
)
