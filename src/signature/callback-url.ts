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
 * never signed: a fragment, user info, an empty query.
 */
export function callbackUrlProblem(callbackUrl: unknown): string | undefined {
  try {
    const { spelling } = signedUrl(callbackUrl)
    return spelling === callbackUrl
      ? undefined
      : `callbackUrl ${quote(callbackUrl)} must be spelled ${quote(spelling)}: subscribe with that spelling and configure the same, as the URL is part of what is signed.`
  } catch (error) {
    return (error as Error).message
  }
}

const parse = memo((callbackUrl): SignedUrl => {
  let url: URL
  try {
    url = new URL(callbackUrl)
  } catch {
    throw invalid(`${quote(callbackUrl)} is no absolute URL`)
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw invalid(`starts with ${quote(url.protocol)}`)
  const pathAndQuery = url.pathname + url.search
  const spelling = `${url.protocol}//${url.host}${pathAndQuery}`
  return { pathLine: `${pathAndQuery}\n`, hostField: `;${url.host};`, spelling }
})

function invalid(found: string): SignatureInputError {
  const message = `callbackUrl must be the absolute http or https URL that was subscribed, but ${found}.`
  return new SignatureInputError('ERR_CALLBACK_URL_INVALID', message)
}

// What stands before an @ may be a credential, which is not repeated; and a message has a bounded length.
function quote(url: unknown): string {
  return JSON.stringify(String(url).replace(/^.*@/s, '…@').slice(0, 300))
}
