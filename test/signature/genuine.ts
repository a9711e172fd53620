import { verifyCallback, type Verification, type VerifyInput } from '../../src/signature/index.js'

/** The recorded first delivery, whose signature openssl made too (fixtures/vectors, `plain`). */
export const genuine = {
  callbackUrl: 'https://partner.example.com/hooks/transfers',
  secret: 's3cret~Text-with_dots.and-dashes-0123456',
  timestamp: 'Tue, 03 Nov 2026 09:14:27 GMT',
  authorization: 'HMAC-SHA256 Signature=3Xm/BLBpdTZULD+WfdEE+HZZ6hNWLhru40Nk8OVl3KQ=',
  body: Buffer.from('{"Id": "64b87e81-f9c7-4125-8565-b199c6e65b4f"}'),
}

export const signedAt = new Date('2026-11-03T09:14:27Z')

/** Verifies the genuine callback with some of its fields replaced, by values of any type. */
export function verify(changes: { readonly [Field in keyof VerifyInput]?: unknown } = {}): Verification {
  return verifyCallback({ ...genuine, ...changes } as VerifyInput)
}

/** What a refusal looks like. */
export function refused(code: string): object {
  return { valid: false, code }
}
