import { maskedValue, textMask } from '../base/mask-texts.js'
import { isRecord } from '../base/option-checks.js'
import { HIDDEN, KnownSecrets } from '../logging/known-secrets.js'

/** A shorter secret may be part of any word, of a number and of the names of fields. */
const SHORT = 6

function mayBeInNumbersOrNames(secret: string): boolean {
  return secret.length < SHORT || Number.isFinite(Number(secret))
}

/**
 * The last check before the log: Countersign logs no secrets, but handlers and their errors may. It replaces the
 * given secrets in all their spellings, and the signature or token after the name of a scheme. It accepts lines of
 * JSON, and other text.
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
 * In JSON each string separately, so that the line is still JSON. The fields that pino writes itself are unchanged,
 * because the line could not be parsed without them.
 */
function hideShort(line: string, mask: (text: string) => string): string {
  try {
    const value: unknown = JSON.parse(line)
    if (!isRecord(value)) return mask(line)
    const { level, time, msg, ...fields } = value
    const masked = maskedValue(fields, mask) as object
    return `${JSON.stringify({ level, time, ...masked, msg: maskedValue(msg, mask) })}${line.endsWith('\n') ? '\n' : ''}`
  } catch {
    // Not JSON, or nested too deeply.
    return mask(line)
  }
}
