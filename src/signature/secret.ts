import { createSecretKey, type KeyObject } from 'node:crypto'
import { memo } from './memo.js'
import { SignatureInputError } from './signature-error.js'

/**
 * The HMAC keys of one secret or several: the UTF-8 bytes of the text (SERVICE 5.1). Not its Base64, which is how the
 * text travels when a subscription is created.
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

/** Why a value cannot be a secret, without repeating it, or undefined when it can. */
export function secretProblem(secret: unknown): string | undefined {
  if (typeof secret !== 'string') {
    return `secret must be the secret text as a string, but is ${secret === null ? 'null' : typeof secret}. Is the environment variable set?`
  }
  if (secret === '') return 'secret must not be empty. Is the environment variable set?'
  // A lone surrogate has no UTF-8 bytes: Node would replace it, and two different secrets could make one key.
  if (!secret.isWellFormed()) return 'secret must be well-formed Unicode: it holds half of a surrogate pair.'
  return undefined
}

/**
 * Whether a secret looks like the Base64 `secretText` of a plain text, the mix-up to expect as a secret has two
 * spellings: the text, which makes the key, and its Base64, which is sent to the service.
 */
export function looksLikeSecretText(secret: string): boolean {
  if (secret.length < 8 || !/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(secret))
    return false
  // A random text over the Base64 alphabet decodes to printable ASCII once in thousands of times even when short.
  return /^[\x20-\x7e]+$/.test(Buffer.from(secret, 'base64').toString('latin1'))
}

const keyOf = memo((secret) => createSecretKey(Buffer.from(secret, 'utf8')))
