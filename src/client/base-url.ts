import { isLoopback } from '../base/loopback.js'
import { invalidOption } from '../base/option-checks.js'
import { parseUrl } from '../base/parse-url.js'

/** The base address without a trailing slash. @throws CountersignError ERR_OPTION_INVALID */
export function baseUrlOption(owner: string, baseUrl: unknown): string {
  const refuse = (shown: string, cure: string) => invalidOption(owner, 'baseUrl', baseUrl, cure, shown)
  if (typeof baseUrl !== 'string') {
    const shown = baseUrl === null ? 'null' : typeof baseUrl
    throw refuse(shown, 'pass the service base address. Is the environment variable set?')
  }
  // A value that is not a URL is not part of the message: it may be the secret in the wrong variable.
  const url = /^https?:\/\//i.test(baseUrl.trim()) ? parseUrl(baseUrl) : undefined
  if (!url) {
    const shown = `a text of ${baseUrl.length} characters that is not an absolute http or https URL`
    throw refuse(shown, 'write it like "https://api.bank.example"')
  }
  const address = url.origin + url.pathname
  const shown = JSON.stringify(address.slice(0, 300))
  if (url.username || url.password)
    throw refuse(`${shown} with user information`, 'leave out what stands before the @')
  if (baseUrl.includes('?')) throw refuse(`${shown} with a query`, 'leave out the ? and what follows')
  if (baseUrl.includes('#')) throw refuse(`${shown} with a fragment`, 'leave out the # and what follows')
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    const cure = 'use https, as tokens and secrets would be sent unencrypted; plain http is for loopback only'
    throw refuse(shown, cure)
  }
  return address.replace(/\/+$/, '')
}
