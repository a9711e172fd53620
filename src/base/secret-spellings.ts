/**
 * A secret in the forms in which programs write texts: as it is, in JSON, in JSON within JSON, as URLs and forms encode it,
 * as Base64 (such as the `secretText` of a subscription) and as hexadecimal digits.
 */
export function secretSpellings(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const base64 = bytes.toString('base64')
  const inJson = JSON.stringify(secret).slice(1, -1)
  return [
    secret,
    inJson,
    JSON.stringify(inJson).slice(1, -1),
    // A lone surrogate has no such form. Such a secret is refused later.
    encodeURIComponent(secret.toWellFormed()),
    new URLSearchParams({ secret }).toString().slice('secret='.length),
    base64,
    base64.replace(/=+$/, ''),
    bytes.toString('base64url'),
    // The digits of one character occur in every number.
    ...(secret.length >= 2 ? [bytes.toString('hex')] : []),
  ]
}
