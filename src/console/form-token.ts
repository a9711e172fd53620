import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** The name of the field in every form. */
export const TOKEN_FIELD = 'token'

/**
 * The token of the forms of one browser (CSRF). Other sites can send a form to the console, but know neither the secret of the
 * browser, which is in a cookie, nor the token, which is made of it.
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

/** 256 bits, which nobody can guess. */
export function randomSecret(): string {
  return randomBytes(32).toString('base64url')
}
