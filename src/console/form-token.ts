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
  return isSame(token, formToken(browserSecret, operatorName))
}

/** Proves that the console made a text for the browser and the operator of this token. */
export function sealOf(token: string, text: string): string {
  return createHmac('sha256', token).update(text).digest('base64url')
}

export function isSeal(seal: string | null, token: string, text: string): boolean {
  return isSame(seal, sealOf(token, text))
}

function isSame(given: string | null, expected: string): boolean {
  const [one, other] = [Buffer.from(given ?? ''), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** 256 random bits. */
export function randomSecret(): string {
  return randomBytes(32).toString('base64url')
}
