import { maskedValue, textMask } from '../base/mask-texts.js'

// A token in the middle of a sentence, as HTTP clients put it into their messages.
const CREDENTIALS = /(?<=HMAC-SHA256 Signature=|\b[Bb]earer |\bBasic )[\w.~+/-]{8,}=*/g

const HIDDEN = '[hidden]'

/** Below this length, a secret may be part of any word, of a number and of the names of fields. */
const SHORT = 6

/**
 * The last guard in front of the log: Countersign writes no secrets, but handlers write too, and so do the errors that
 * they throw. Hides the given secrets, as text, as the Base64 that is sent as `secretText` and as forms and addresses
 * encode them, and whatever stands where a signature or a token stands. Takes lines of JSON, or other text.
 */
export function redactor(secrets: readonly string[]): (line: string) => string {
  const long = secrets.filter((secret) => secret.length >= SHORT)
  const short = secrets.filter((secret) => secret !== '' && secret.length < SHORT)
  const forms = long.length === 0 ? undefined : new RegExp(formsOf(long).join('|'), 'gi')
  const hideLong = (line: string) => (forms ? line.replace(forms, HIDDEN) : line).replace(CREDENTIALS, HIDDEN)
  if (short.length === 0) return hideLong
  const mask = textMask(short, HIDDEN)
  return (line) => hideShort(hideLong(line), mask)
}

function formsOf(secrets: readonly string[]): string[] {
  return secrets
    .flatMap((secret) => [
      secret,
      JSON.stringify(secret).slice(1, -1),
      Buffer.from(secret).toString('base64'),
      new URLSearchParams({ secret }).toString().slice('secret='.length),
      encodeURIComponent(secret),
    ])
    .sort((one, other) => other.length - one.length)
    .map((text) => text.replace(/[$()*+./?[\\\]^{|}]/g, String.raw`\$&`))
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
