// A token in the middle of a sentence, as HTTP clients put it into their messages.
const CREDENTIALS = String.raw`(?<=HMAC-SHA256 Signature=|\b[Bb]earer |\bBasic )[\w.~+/-]{8,}=*`

const HIDDEN = '[hidden]'

/**
 * The last guard in front of the log: Countersign writes no secrets, but handlers write too, and so do the errors that
 * they throw. Hides the given secrets, as text, as the Base64 that is sent as `secretText` and as forms and addresses
 * encode them, and whatever stands where a signature or a token stands. Takes lines of JSON, or other text.
 */
export function redactor(secrets: readonly string[]): (line: string) => string {
  const texts = secrets
    // A secret of a few letters would hide half of the log, and with it that it is one.
    .filter((secret) => secret.length >= 6)
    .flatMap((secret) => [
      secret,
      JSON.stringify(secret).slice(1, -1),
      Buffer.from(secret).toString('base64'),
      new URLSearchParams({ secret }).toString().slice('secret='.length),
      encodeURIComponent(secret),
    ])
    .sort((one, other) => other.length - one.length)
    .map((text) => text.replace(/[$()*+./?[\\\]^{|}]/g, String.raw`\$&`))
  const pattern = new RegExp([...texts, CREDENTIALS].join('|'), 'g')
  return (line) => line.replace(pattern, HIDDEN)
}
