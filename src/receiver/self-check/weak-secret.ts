import { isUuid } from '../../base/uuid.js'

/** With fewer bytes a secret can be guessed from one captured callback. RFC 2104, section 3, wants 32. */
const MIN_BYTES = 16

const PLACEHOLDER =
  /^(?:<.*>|\$\{.*\}|\{\{.*\}\}|%\w+%|(?:change|replace)[-_ ]?(?:me|this|it)(?![a-z]).*|(?:your|my|the)[-_ ]?(?:webhook[-_ ]?|callback[-_ ]?|signing[-_ ]?|shared[-_ ]?)?secret(?:[-_ ]?(?:here|text|key))?|(?:super[-_ ]?)?secret(?:[-_ ]?key)?\d*|passw(?:or|0r)d\d*|todo|tbd|x{3,}|\*{3,}|\.{3,}|placeholder|dummy|undefined|null|none)$/i

const API_KEY =
  /^(?:(?:sk|pk|rk)_(?:live|test)_|whsec_|gh[pousr]_|github_pat_|xox[abprs]-|glpat-|AKIA[\dA-Z]{12}|AIza[\w-]{20}|eyJ[\w-]+\.|Bearer )/

/** Why a secret is probably weak, without the secret itself; undefined if there is no sign of it. */
export function secretWeakness(secret: string): string | undefined {
  const text = secret.trim()
  if (PLACEHOLDER.test(text)) return 'a secret looks like a placeholder'
  if (isUuid(text)) return 'a secret is a UUID, as a client id is'
  if (API_KEY.test(text)) return 'a secret has the form of an API key or a token'
  const bytes = Buffer.byteLength(secret)
  return bytes < MIN_BYTES ? `a secret has ${bytes} bytes, fewer than ${MIN_BYTES}` : undefined
}
