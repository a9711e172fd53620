import { domainToASCII, domainToUnicode } from 'node:url'
import type { Cause } from './causes.js'
import type { Alternative, Hypothesis } from './change.js'
import { pathHypotheses } from './path-changes.js'
import { queryHypothesis } from './query-changes.js'
import { partsOf, type RequestUrls, type UrlParts } from './request-urls.js'

/** The mistakes that give another URL. `written` is the configured URL as it is spelled. */
export function urlHypotheses(
  written: string,
  request: RequestUrls,
  others: readonly URL[],
): readonly Hypothesis<UrlParts>[] {
  const fragments = [written, ...request.targets].flatMap((target) => /#.*/s.exec(target)?.[0] ?? [])
  fragments.push(...others.flatMap(({ hash }) => (hash === '' ? [] : hash)))
  return [
    { cause: 'url-scheme-or-port', alternatives: (parts) => otherPorts(parts, request) },
    { cause: 'url-host', alternatives: (parts) => otherHosts(parts, request) },
    ...pathHypotheses(written, request),
    queryHypothesis(written, request),
    ...byDifference(others),
    {
      cause: 'url-fragment',
      *alternatives(parts) {
        for (const fragment of fragments) {
          yield { value: { ...parts, query: parts.query + fragment }, change: 'with its fragment' }
        }
        yield { value: { ...parts, query: `${parts.query}#` }, change: 'with an empty fragment', weight: 3 }
      },
    },
  ]
}

function* otherPorts(
  { host, path, query }: UrlParts,
  { hosts, ports }: RequestUrls,
): Iterable<Alternative<UrlParts>> {
  const name = withoutPort(host)
  const withHost = (changed: string) => ({ host: changed, path, query })
  yield { value: withHost(name), change: 'without a port' }
  yield { value: withHost(`${name}:443`), change: 'with the port 443' }
  yield { value: withHost(`${name}:80`), change: 'with the port 80' }
  for (const port of [...hosts.flatMap((each) => /:(\d{1,5})$/.exec(each)?.[1] ?? []), ...ports]) {
    yield { value: withHost(`${name}:${port}`), change: 'with the port of the request' }
  }
  for (const port of ['8443', '8080', '3000', '8000', '5000', '4000', '9443']) {
    yield { value: withHost(`${name}:${port}`), change: `with the port ${port}`, weight: 3 }
  }
}

function* otherHosts(parts: UrlParts, { hosts }: RequestUrls): Iterable<Alternative<UrlParts>> {
  const { host } = parts
  const name = withoutPort(host)
  const port = host.slice(name.length)
  for (const each of hosts) {
    // Only the port differs: that is another cause.
    if (withoutPort(each) === name) continue
    yield { value: { ...parts, host: each }, change: 'the host of the request' }
    yield {
      value: { ...parts, host: each.toLowerCase() },
      change: 'the host of the request in lower case',
      weight: 2,
    }
    yield {
      value: { ...parts, host: withoutPort(each) },
      change: 'the host of the request without its port',
      weight: 2,
    }
  }
  const changes: readonly (readonly [string, string])[] = [
    [
      name.startsWith('www.') ? name.slice(4) : `www.${name}`,
      name.startsWith('www.') ? 'without www' : 'with www',
    ],
    [domainToUnicode(name), 'in Unicode'],
    [domainToASCII(name), 'in Punycode'],
    [`${name}.`, 'with a dot at its end'],
    [name.replace(/\.$/, ''), 'without the dot at its end'],
    [name.toUpperCase(), 'in upper case'],
    [name.replace(/^./, (letter) => letter.toUpperCase()), 'with a capital first letter'],
  ]
  for (const [changed, change] of changes) {
    if (changed !== '')
      yield {
        value: { ...parts, host: changed + port },
        change,
        weight:
          change.includes('www') || changed.startsWith('xn--') || domainToASCII(changed) === name ? 1 : 3,
      }
  }
}

/** Whole URLs that may have been meant. The cause is named by what differs, so that a lost slash is not called another URL. */
function byDifference(others: readonly URL[]): Hypothesis<UrlParts>[] {
  const urls = others.map(partsOf)
  const causes = [
    'url-scheme-or-port',
    'url-host',
    'url-trailing-slash',
    'url-path',
    'url-query',
    'url-of-other-subscription',
  ] as const
  return causes.map((cause) => ({
    cause,
    isSlow: true,
    alternatives: (parts) =>
      urls
        .filter((other) => difference(parts, other) === cause)
        .map((value) => ({ value, change: 'the URL of another subscription, or one that was given to try' })),
  }))
}

function difference(one: UrlParts, other: UrlParts): Cause {
  const differing = (['host', 'path', 'query'] as const).filter((part) => one[part] !== other[part])
  if (differing.length !== 1) return 'url-of-other-subscription'
  const [part] = differing
  if (part === 'host')
    return withoutPort(one.host) === withoutPort(other.host) ? 'url-scheme-or-port' : 'url-host'
  if (part === 'query') return 'url-query'
  return one.path.replace(/\/$/, '') === other.path.replace(/\/$/, '') ? 'url-trailing-slash' : 'url-path'
}

function withoutPort(host: string): string {
  return host.replace(/:\d*$/, '')
}
