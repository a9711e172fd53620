import { maskedValue, textMask } from '../base/mask-texts.js'
import { HIDDEN, KnownSecrets } from '../logging/known-secrets.js'

/** Below this length, a secret may be part of any word, of a number and of the names of fields. */
const SHORT = 6

function mayBeInNumbersOrNames(secret: string): boolean {
  return secret.length < SHORT || Number.isFinite(Number(secret))
}

/**
 * The last guard in front of the log: Countersign writes no secrets, but handlers write too, and so do the errors that
 * they throw. Hides the given secrets in all their spellings, and what follows the name of a scheme as a signature or a
 * token does. Takes lines of JSON, or other text.
 */
export function redactor(secrets: readonly string[]): (line: string) => string {
  const long = secrets.filter((secret) => !mayBeInNumbersOrNames(secret))
  const short = secrets.filter((secret) => secret !== '' && mayBeInNumbersOrNames(secret))
  const known = new KnownSecrets()
  known.add([{ secret: long }])
  if (short.length === 0) return (line) => known.hide(line)
  const mask = textMask(short, HIDDEN)
  return (line) => hideShort(known.hide(line), mask)
}

/**
 * In JSON each text by itself: a line that was cut up would not be JSON any more. What pino writes itself stays, as nothing
 * could be read without it.
 */
function hideShort(line: string, mask: (text: string) => string): string {
  try {
    const value: unknown = JSON.parse(line)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return mask(line)
    const { level, time, msg, ...fields } = value as Readonly<Record<string, unknown>>
    const masked = maskedValue(fields, mask) as object
    return `${JSON.stringify({ level, time, ...masked, msg: maskedValue(msg, mask) })}${line.endsWith('\n') ? '\n' : ''}`
  } catch {
    // No JSON, or nested too deeply.
    return mask(line)
  }
}
