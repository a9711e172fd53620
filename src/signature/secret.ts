import { createSecretKey, type KeyObject } from 'node:crypto'
import { memo } from './memo.js'
import { SignatureInputError } from './signature-error.js'

/**
 * The HMAC keys of one secret or several: the UTF-8 bytes of the text (SERVICE 5.1). The Base64 of the text is only its
 * form in the request that creates a subscription.
 * @throws SignatureInputError ERR_SECRET_INVALID
 */
export function hmacKeys(secret: string | readonly string[]): KeyObject[] {
  if (typeof secret === 'string') return [hmacKey(secret)]
  if (Array.isArray(secret) && secret.length > 0) return Array.from(secret, hmacKey)
  throw new SignatureInputError(
    'ERR_SECRET_INVALID',
    'secret must be the secret text, or a list of at least one.',
  )
}

export function hmacKey(secret: unknown): KeyObject {
  const problem = secretProblem(secret)
  if (problem) throw new SignatureInputError('ERR_SECRET_INVALID', problem)
  return keyOf(secret as string)
}

/** Why a value cannot be a secret, or undefined if it can. The text does not contain the value. */
export function secretProblem(secret: unknown): string | undefined {
  if (typeof secret !== 'string') {
    return `secret must be the secret text as a string, but is ${secret === null ? 'null' : typeof secret}. Is the environment variable set?`
  }
  if (secret === '') return 'secret must not be empty. Is the environment variable set?'
  // A lone surrogate has no UTF-8 bytes. Node replaces it, so two different secrets could have the same key.
  if (!secret.isWellFormed()) return 'secret must be well-formed Unicode: it holds half of a surrogate pair.'
  return undefined
}

/**
 * Whether a secret looks like the Base64 `secretText` of a plain text. This is a likely mistake, because a secret has two
 * forms: the text, from which the key is made, and its Base64, which is sent to the service.
 */
export function looksLikeSecretText(secret: string): boolean {
  if (secret.length < 8 || !/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(secret))
    return false
  // A random text of the Base64 alphabet, even a short one, decodes to printable ASCII only once in thousands of times.
  return /^[\x20-\x7e]+$/.test(Buffer.from(secret, 'base64').toString('latin1'))
}

const keyOf = memo((secret) => createSecretKey(Buffer.from(secret, 'utf8')))
