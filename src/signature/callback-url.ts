import { memo } from './memo.js'
import { SignatureInputError } from './signature-error.js'

/** The parts of a subscribed callback URL that are signed (SERVICE 5.1, rule 2). */
export interface SignedUrl {
  /** Absolute path and query, and the line feed that ends them. */
  readonly pathLine: string
  /** Host, with the port unless it is the scheme's default, between the semicolons that part it from its neighbours. */
  readonly hostField: string
  /** The one spelling of the URL that every party signs alike. */
  readonly spelling: string
}

/** @throws SignatureInputError ERR_CALLBACK_URL_INVALID when it is no absolute http or https URL. */
export function signedUrl(callbackUrl: unknown): SignedUrl {
  if (typeof callbackUrl === 'string') return parse(callbackUrl)
  throw invalid(`is ${callbackUrl === null ? 'null' : typeof callbackUrl}`)
}

/**
 * Why a URL should not be subscribed, with the spelling to subscribe instead; undefined when it is fine. Refused is what
 * this machine would write differently from how it was subscribed, as the sender may sign the other spelling, and what is
 * never signed: a fragment, user info, an empty query. Neither user info nor a query is repeated, as both may hold a
 * credential.
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
    // Not URL.canParse: on Node 20, once it has been optimized, it refuses hosts that are not ASCII.
    url = new URL(callbackUrl)
  } catch {
    throw invalid(`${textThatIs(callbackUrl)} no absolute URL`)
  }
  if (OTHER_SCHEMES.includes(url.protocol)) throw invalid(`starts with "${url.protocol}"`)
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw invalid(`${textThatIs(callbackUrl)} no http or https URL`)
  const pathAndQuery = url.pathname + url.search
  const spelling = `${url.protocol}//${url.host}${pathAndQuery}`
  return { pathLine: `${pathAndQuery}\n`, hostField: `;${url.host};`, spelling }
})

function invalid(found: string): SignatureInputError {
  const message = `callbackUrl must be the absolute http or https URL that was subscribed, but ${found}.`
  return new SignatureInputError('ERR_CALLBACK_URL_INVALID', message)
}

/** Only these are repeated: whatever holds a colon parses as a URL, and its beginning as a scheme. */
const OTHER_SCHEMES = ['ftp:', 'ws:', 'wss:', 'file:']

/** What is no URL may be a secret in the wrong place. Only what is plainly a path is repeated. */
function textThatIs(value: string): string {
  return /^(?:\/[a-z-]*){1,10}$/.test(value) && value.length <= 60
    ? `${JSON.stringify(value)} is`
    : `a text of ${value.length} characters is`
}

/** Without user info and query, and of a bounded length. */
function shown(url: string): string {
  const [start] = url.split('?', 1)
  return JSON.stringify(`${start!.replace(/^.*@/s, '…@').slice(0, 300)}${start === url ? '' : '?…'}`)
}
