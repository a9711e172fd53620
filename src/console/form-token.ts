import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** The name of the field in every form. */
export const TOKEN_FIELD = 'token'

/**
 * The token in the forms of one browser, against CSRF. Another site can send a form to the console. It does not know the secret
 * of the browser, which is in a cookie, or the token, which is computed from that secret.
 */
export function formToken(browserSecret: string, operatorName: string): string {
  return createHmac('sha256', browserSecret)
    .update(`countersign console\n${operatorName}`)
    .digest('base64url')
}

export function isFormToken(token: string | null, browserSecret: string, operatorName: string): boolean {
  const expected = Buffer.from(formToken(browserSecret, operatorName))
  const given = Buffer.from(token ?? '')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** 256 random bits. */
export function randomSecret(): string {
  return randomBytes(32).toString('base64url')
}
