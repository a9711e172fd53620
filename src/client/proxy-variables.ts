import { parseUrl } from '../base/parse-url.js'

/** An environment variable that does not name a proxy. The message has the name of the variable, never its value. */
export class ProxyVariableError extends Error {}

const PROTOCOLS = ['http:', 'https:', 'socks:', 'socks5:']

/**
 * undici's own error for a malformed proxy variable is "Invalid URL", without the name of the variable. Both
 * variables are checked for either scheme, because undici reads both.
 * @throws ProxyVariableError
 */
export function checkProxyVariables(baseUrl: string, env: NodeJS.ProcessEnv): void {
  const proxies = [nameOf('http_proxy', env), nameOf('https_proxy', env)].filter((name) => env[name])
  for (const name of proxies) checkProxy(name, env[name]!)
  if (proxies.length > 0) checkExceptions(nameOf('no_proxy', env), baseUrl, env)
}

function checkProxy(name: string, value: string): void {
  const cure = 'write it like http://proxy.example.com:3128'
  const url = parseUrl(value)
  if (!url || !PROTOCOLS.includes(url.protocol) || url.hostname === '') {
    throw new ProxyVariableError(`${name} is not an absolute http, https or socks5 URL: ${cure}`)
  }
  try {
    decodeURIComponent(url.username + url.password)
  } catch {
    throw new ProxyVariableError(`${name} has user information with a stray %: percent-encode it (%25)`)
  }
}

/** An entry that is a URL matches no host. The request would go through the proxy that the entry should exclude. */
function checkExceptions(name: string, baseUrl: string, env: NodeJS.ProcessEnv): void {
  const { host, hostname } = new URL(baseUrl)
  for (const entry of (env[name] ?? '').split(/[,\s]+/)) {
    const url = entry.includes('://') ? parseUrl(entry) : undefined
    if (url && [host, hostname].includes(url.host)) {
      throw new ProxyVariableError(`${name} lists the service as a URL: write the host only, ${host}`)
    }
  }
}

/** The variable that undici reads: an empty one in lower case hides the one in upper case. */
function nameOf(lowerCase: string, env: NodeJS.ProcessEnv): string {
  return env[lowerCase] === undefined ? lowerCase.toUpperCase() : lowerCase
}
