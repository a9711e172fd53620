import { memo } from './memo.js'
import { SignatureInputError } from './signature-error.js'

/** The parts of a subscribed callback URL that are signed (SERVICE 5.1, rule 2). */
export interface SignedUrl {
  /** Absolute path and query, and the line feed that ends them. */
  readonly pathLine: string
  /** The host, with a port that is not the scheme's default, between the two semicolons of the string to sign. */
  readonly hostField: string
  /** The spelling of the URL for which all implementations produce the same signature. */
  readonly spelling: string
}

/** @throws SignatureInputError ERR_CALLBACK_URL_INVALID if it is not an absolute http or https URL. */
export function signedUrl(callbackUrl: unknown): SignedUrl {
  if (typeof callbackUrl === 'string') return parse(callbackUrl)
  throw invalid(`is ${callbackUrl === null ? 'null' : typeof callbackUrl}`)
}

/**
 * Why a URL must not be subscribed, with the spelling to use instead, or undefined if it can be subscribed. A URL is
 * refused if the URL standard spells it differently, because the sender may sign the other spelling. It is also refused
 * if it has parts that are never signed: a fragment, user information, an empty query. The message contains neither the
 * user information nor the query, because both may hold a credential.
 */
export function callbackUrlProblem(callbackUrl: unknown): string | undefined {
  try {
    const { spelling } = signedUrl(callbackUrl)
    return spelling === callbackUrl ? undefined : spellingProblem(callbackUrl as string, spelling)
  } catch (error) {
    return (error as Error).message
  }
}

function spellingProblem(callbackUrl: string, spelling: string): string {
  const [given, wanted] = [shown(callbackUrl), shown(spelling)]
  const why = 'subscribe with that spelling and configure the same, as the URL is part of what is signed'
  if (given !== wanted) return `callbackUrl ${given} must be spelled ${wanted}: ${why}.`
  return `callbackUrl ${given} must have the query that new URL(callbackUrl).search gives, and no fragment: ${why}.`
}

const parse = memo((callbackUrl): SignedUrl => {
  let url: URL
  try {
    // Not URL.canParse: on Node 20 its optimized code refuses hosts that are not ASCII.
    url = new URL(callbackUrl)
  } catch {
    throw invalid(`${textThatIs(callbackUrl)} not an absolute URL`)
  }
  if (OTHER_SCHEMES.includes(url.protocol)) throw invalid(`starts with "${url.protocol}"`)
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw invalid(`${textThatIs(callbackUrl)} not an http or https URL`)
  const pathAndQuery = url.pathname + url.search
  const spelling = `${url.protocol}//${url.host}${pathAndQuery}`
  return { pathLine: `${pathAndQuery}\n`, hostField: `;${url.host};`, spelling }
})

function invalid(found: string): SignatureInputError {
  const message = `callbackUrl must be the absolute http or https URL that was subscribed, but ${found}.`
  return new SignatureInputError('ERR_CALLBACK_URL_INVALID', message)
}

/**
 * The schemes that a message may contain. Any text with a colon parses as a URL, and a part of a secret could be the
 * scheme.
 */
const OTHER_SCHEMES = ['ftp:', 'ws:', 'wss:', 'file:']

/** A text that is not a URL may be a misplaced secret. Only a text that is clearly a path is part of the message. */
function textThatIs(value: string): string {
  return /^(?:\/[a-z-]*){1,10}$/.test(value) && value.length <= 60
    ? `${JSON.stringify(value)} is`
    : `a text of ${value.length} characters is`
}

/** Without user information and query, and of limited length. */
function shown(url: string): string {
  const [start] = url.split('?', 1)
  return JSON.stringify(`${start!.replace(/^.*@/s, '…@').slice(0, 300)}${start === url ? '' : '?…'}`)
}
