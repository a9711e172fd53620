import { randomBytes } from 'node:crypto'
import { explainCallback, type ReceivedRequest } from '../../src/diagnosis/index.js'
import { opensslSignature } from './openssl.js'
import { CONFIGURED, received, SIGNED } from './signed-elsewhere.js'

const withAuthorization = (value: string) =>
  received(
    {},
    {
      headers: (headers) =>
        headers.map(([name, old]) => [name, name === 'Authorization' ? value : old] as const),
    },
  )

const explain = (request: ReceivedRequest, subscriptions = [CONFIGURED]) =>
  explainCallback(request, { subscriptions, maxMs: 10_000 })

const ALGORITHMS = [
  ['sha1', 'SHA-1', 20],
  ['sha384', 'SHA-384', 48],
  ['sha512', 'SHA-512', 64],
] as const
const FORMS = ['base64', 'base64url', 'hex'] as const
const EACH = ALGORITHMS.flatMap(([algorithm, shown, length]) =>
  FORMS.map((form) => ({ algorithm, shown, length, form })),
)

test.each(EACH)('HMAC-$shown in $form is proven by one match', ({ algorithm, shown, form }) => {
  const other = {
    ...CONFIGURED,
    callbackUrl: 'https://partner.example.com/other',
    secret: 'other-0123456789',
  }
  for (const bodyHash of ['sha256', algorithm]) {
    const text = opensslSignature(SIGNED, { hmac: algorithm, bodyHash }).toString(form)
    for (const value of [`HMAC-SHA256 Signature=${text}`, `HMAC-${shown} ${text}`, `X sig="${text}"`]) {
      const { verified, findings, hmacs } = explain(withAuthorization(value), [other, CONFIGURED])
      expect(verified).toBe(false)
      expect(findings).toMatchObject([{ cause: 'signature-algorithm', certainty: 'proven' }])
      expect(findings[0]!.details.changes).toEqual([expect.stringContaining(`HMAC-${shown}`)])
      expect(JSON.stringify(findings)).not.toContain(text)
      expect(hmacs).toBeLessThanOrEqual(6)
    }
  }
})

test.each(EACH)('$length random bytes in $form are no proof, and are named for what they may be', (each) => {
  const { shown, length, form } = each
  const text = randomBytes(length).toString(form)
  for (const value of [`HMAC-SHA256 Signature=${text}`, `HMAC-${shown} Signature=${text}`]) {
    const { findings } = explain(withAuthorization(value))
    expect(findings).toMatchObject([{ cause: 'forged-or-unknown', certainty: 'likely' }])
    expect(findings[0]!.details.sign).toContain(`${length} bytes, the length of HMAC-${shown}`)
    expect(findings[0]!.details.ruledOut).toContain('signature-algorithm')
    expect(JSON.stringify(findings)).not.toContain(text)
  }
})

test.each([
  ['base64', 42],
  ['base64', 30],
  ['base64url', 41],
  ['hex', 62],
  ['hex', 33],
] as const)(
  'a signature in %s of which %i characters arrived is proven, a forged one is not',
  (form, kept) => {
    const cut = (bytes: Buffer) => `HMAC-SHA256 Signature=${bytes.toString(form).slice(0, kept)}`
    expect(explain(withAuthorization(cut(opensslSignature(SIGNED)))).findings).toMatchObject([
      {
        cause: 'authorization-scheme',
        certainty: 'proven',
        details: { changes: ['only the beginning of the signature arrived'] },
      },
    ])
    const { findings } = explain(withAuthorization(cut(randomBytes(32))))
    expect(findings).toMatchObject([
      { cause: 'forged-or-unknown', details: { sign: expect.stringContaining('a signature has 32') } },
    ])
  },
)

test('fewer bytes than prove something are not said to be right', () => {
  for (const kept of [0, 1, 8, 20]) {
    const value = `HMAC-SHA256 Signature=${opensslSignature(SIGNED).toString('base64').slice(0, kept)}`
    const { findings } = explain(withAuthorization(value))
    expect(findings).toMatchObject([
      {
        cause: 'authorization-scheme',
        certainty: 'likely',
        message: expect.not.stringContaining('is right'),
      },
      {
        cause: 'forged-or-unknown',
        message: expect.stringContaining('No signature arrived that could be compared'),
      },
    ])
  }
})

test('a value of another length is only likely to be a signature if the body is not known, or the timestamp', () => {
  const request = withAuthorization(`HMAC-SHA512 Signature=${randomBytes(64).toString('base64')}`)
  const expected = {
    cause: 'signature-algorithm',
    certainty: 'likely',
    message: expect.stringContaining('length'),
  }
  const unread = explain({ ...request, bodyRead: false })
  expect(unread).toMatchObject({ hmacs: 0, findings: [expected, { cause: 'forged-or-unknown' }] })
  const rawHeaders = request.rawHeaders!.filter(
    (_, at) => request.rawHeaders![at - (at % 2)] !== 'Authorization-Timestamp',
  )
  const { findings } = explain({ ...request, rawHeaders })
  expect(findings.map(({ cause }) => cause)).toEqual([
    'signature-algorithm',
    'timestamp-missing',
    'forged-or-unknown',
  ])
})

test('any number of values and subscriptions costs no more HMACs than the search may compute', () => {
  const texts = ALGORITHMS.map(([, , length]) => randomBytes(length).toString('base64'))
  const request = withAuthorization(
    `HMAC-SHA256 ${Array.from({ length: 20 }, () => texts.join(' ')).join(' ')}`,
  )
  const subscriptions = Array.from({ length: 1_000 }, (_, at) => ({
    ...CONFIGURED,
    callbackUrl: `https://partner.example.com/${at}`,
    secret: `secret-${at}-0123456789`,
  }))
  for (const maxHmacs of [1, 10, 2_000]) {
    const { hmacs, findings } = explainCallback(request, { subscriptions, maxHmacs, maxMs: 10_000 })
    expect(hmacs).toBeLessThanOrEqual(maxHmacs)
    // Not all of the secrets were tried, so nothing is ruled out.
    expect(findings.at(-1)).toMatchObject({ cause: 'forged-or-unknown', details: { ruledOut: [] } })
  }
})
