import fc from 'fast-check'
import { explainCallback } from '../../src/diagnosis/index.js'
import { randomRuns } from '../support/random-runs.js'
import { received, signature, SIGNED, type Signed } from './signed-elsewhere.js'

/** Long enough that no word of a finding contains it by chance. */
const secrets = fc
  .oneof(
    fc.string({ minLength: 12, maxLength: 60 }),
    fc.string({ unit: 'grapheme', minLength: 12, maxLength: 60 }),
    fc.base64String({ minLength: 16, maxLength: 60 }),
    fc.uuid(),
  )
  .filter((secret) => secret.isWellFormed() && secret.trim().length >= 12 && /[a-z\d]{3}/i.test(secret))

const values = fc.oneof(fc.uuid(), fc.string({ minLength: 10, maxLength: 40 }), fc.integer())
const bodies = fc
  .dictionary(fc.string({ minLength: 6, maxLength: 12 }), values, { minKeys: 2, maxKeys: 6 })
  .map((payload) => JSON.stringify(payload))

/** What became of a secret between the two ends. */
const mistakes: readonly ((secret: string) => string)[] = [
  (secret) => Buffer.from(secret).toString('base64'),
  (secret) => Buffer.from(secret).toString('hex'),
  (secret) => `${secret}\n`,
  (secret) => `"${secret}"`,
  (secret) => encodeURIComponent(secret),
  (secret) => secret.toUpperCase(),
  (secret) => secret.normalize('NFD'),
  (secret) => secret.slice(0, -1),
  (secret) => secret,
]

/** Places of a request and a configuration into which somebody pasted a secret, a signature or a body. */
const PLACES = [
  'path',
  'query',
  'host',
  'id',
  'eventTypeName',
  'X-Original-Authorization',
  'X-Forwarded-Host',
  'nowhere',
] as const

interface Pasted {
  readonly place: (typeof PLACES)[number]
  readonly pasted: string
  /** Whether a path has it without percent-encoding. */
  readonly isRaw: boolean
}

function explained(signed: Signed, configured: string, { place, pasted, isRaw }: Pasted) {
  const encoded = isRaw ? pasted.replace(/[^\w+/=.-]/g, '') : encodeURIComponent(pasted)
  const target =
    { path: `/hooks/${encoded}`, query: `/hooks?token=${encoded}` }[place as string] ?? signed.target
  const header = place.startsWith('X-') || place === 'host'
  const text = pasted.replace(/[^\t\x20-\x7e\x80-\xff]/g, '?')
  const request = received(
    { ...signed, target },
    {
      path: target,
      headers: (headers) =>
        header ? [...headers, [place === 'host' ? 'Host' : place, text] as const] : headers,
    },
  )
  const subscription = {
    callbackUrl: 'https://partner.example.com/hooks/transfers',
    secret: configured,
    id: place === 'id' ? pasted : 'north',
    eventTypeName: place === 'eventTypeName' ? pasted : 'transfers.book-completed',
  }
  const options = { subscriptions: [subscription], previousSecrets: [signed.secret as string], maxMs: 10_000 }
  return explainCallback(request, options)
}

/** Every part of this length, so that also a cut or a wrapped text is found. */
function parts(text: string, length: number): string[] {
  return Array.from({ length: Math.max(text.length - length, 0) + 1 }, (_, at) => text.slice(at, at + length))
}

const PASTED = PLACES.flatMap((place) =>
  (['secret', 'signature', 'body'] as const).map((what) => ({ place, what })),
)

test.each(PASTED)(
  'no finding contains a secret, a signature or a body: $what pasted into $place',
  ({ place, what }) => {
    fc.assert(
      fc.property(
        secrets,
        fc.constantFrom(...mistakes),
        bodies,
        fc.boolean(),
        (secret, change, body, isRaw) => {
          const signed = { ...SIGNED, secret, body }
          const configured = change(secret)
          const valid = [signature(signed), signature({ ...signed, secret: configured })]
          const pasted = { secret, body, signature: valid[0]!.toString('base64') }[what]
          const output = JSON.stringify(explained(signed, configured, { place, pasted, isRaw }))
          const hidden = [
            secret,
            configured,
            encodeURIComponent(secret),
            body,
            encodeURIComponent(body),
            ...valid.map((each) => encodeURIComponent(each.toString('base64'))),
            ...valid.flatMap((each) =>
              (['base64', 'base64url', 'hex'] as const).map((form) => each.toString(form)),
            ),
          ]
          for (const text of hidden.map((each) => JSON.stringify(each.trim()).slice(1, -1)))
            if (text.length >= 12) expect(output).not.toContain(text)
          for (const each of valid)
            for (const part of parts(each.toString('base64'), 32)) expect(output).not.toContain(part)
        },
      ),
      { numRuns: randomRuns(8) },
    )
  },
)
