import { refuseOption } from '../base/option-checks.js'
import { isUuid } from '../base/uuid.js'

/** The rules of SERVICE 2.2. */
export interface ClientCredentials {
  readonly clientId: string
  readonly clientSecret: string
}

const MAX_SECRET_LENGTH = 40

/**
 * Checks both credentials by the rules of SERVICE 2.2 before anything is sent. Messages contain neither: each may
 * be the secret in the wrong variable.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function checkCredentials(owner: string, clientId: unknown, clientSecret: unknown): ClientCredentials {
  refuseOption(owner, 'clientId', idProblem(clientId, clientSecret))
  refuseOption(owner, 'clientSecret', secretProblem(clientSecret))
  return { clientId: clientId as string, clientSecret: clientSecret as string }
}

function idProblem(clientId: unknown, clientSecret: unknown): string | undefined {
  if (isUuid(clientId)) return undefined
  if (typeof clientId !== 'string' || clientId === '') return missing('clientId', clientId)
  const found = `clientId is a text of ${clientId.length} characters that is not a UUID`
  if (isUuid(clientSecret)) return `${found}, but clientSecret is one: are the two swapped?`
  if (isUuid(clientId.trim())) return `${found} for the white space around it: leave that out.`
  return `${found}: use the client_Id that the service has given you.`
}

// "a-z (not case-sensitive)": letters of both cases, sent unchanged.
function secretProblem(clientSecret: unknown): string | undefined {
  if (typeof clientSecret !== 'string' || clientSecret === '') return missing('clientSecret', clientSecret)
  const length = `clientSecret is a text of ${clientSecret.length} characters`
  const stray = strayCharacter(clientSecret)
  if (stray)
    return `${length} and ${stray}: a client secret has letters, digits and - _ . ~ only. Was it copied whole, and nothing else?`
  if (clientSecret.length <= MAX_SECRET_LENGTH) return undefined
  return `${length}: a client secret has at most ${MAX_SECRET_LENGTH}. Was it copied twice, or something else with it?`
}

/** The kind of the first invalid character; never the character. */
function strayCharacter(secret: string): string | undefined {
  if (/^[a-z0-9._~-]+$/i.test(secret)) return undefined
  if (/[\r\n]$/.test(secret)) return 'ends with a line end'
  if (/\s$/.test(secret)) return 'ends with white space'
  if (/^\s/.test(secret)) return 'begins with white space'
  if (/\s/.test(secret)) return 'holds white space'
  if (/["'`\u2018-\u201f]/.test(secret)) return 'holds a quotation mark'
  if (/[+/=]/.test(secret)) return 'holds a character of Base64 that is not among its own'
  if (/[^\x21-\x7e]/.test(secret)) return 'holds a character that is not ASCII, or not printable'
  return 'holds a punctuation mark that is not among its own'
}

function missing(name: string, value: unknown): string {
  const found = value === '' ? 'empty' : value === null ? 'null' : typeof value
  return `${name} must be a text, but is ${found}. Is the environment variable set?`
}
