import { parseUrl } from '../base/parse-url.js'
import { valuesOf, type HeaderLine } from './received-request.js'

/** The parts of a URL that are signed. */
export interface UrlParts {
  readonly host: string
  readonly path: string
  /** With its question mark, or empty. */
  readonly query: string
}

/** The signed parts as the URL standard spells them. */
export function partsOf(url: URL): UrlParts {
  return { host: url.host, path: url.pathname, query: url.search }
}

/** What the request says about the URL that it was sent to. Proxies and senders write it. */
export interface RequestUrls {
  readonly hosts: readonly string[]
  readonly ports: readonly string[]
  /** Paths with their queries. */
  readonly targets: readonly string[]
  readonly prefixes: readonly string[]
}

/** Unauthenticated: each list is cut, so that the number of alternatives is bounded. */
const MAX_HINTS = 6
const MAX_TARGET_LENGTH = 2_048

const HOST_HEADERS = ['host', 'x-forwarded-host', 'x-original-host', 'x-host', 'x-forwarded-server']
const TARGET_HEADERS = [
  'x-original-url',
  'x-rewrite-url',
  'x-original-uri',
  'x-forwarded-uri',
  'x-forwarded-path',
  'x-envoy-original-path',
  'x-request-uri',
]

export function requestUrls(path: string, lines: readonly HeaderLine[]): RequestUrls {
  const listed = (names: readonly string[]) =>
    names
      .flatMap((name) => valuesOf(lines, name))
      .flatMap((value) => value.split(',').map((each) => each.trim()))
  const forwarded = valuesOf(lines, 'forwarded').flatMap((value) =>
    [...value.matchAll(/\bhost="?([^",;\s]+)/gi)].map(([, host]) => host!),
  )
  const written = [path, ...listed(TARGET_HEADERS)]
  // A proxy may pass on the absolute form of the request target (RFC 9112, section 3.2.2).
  const absolute = written.flatMap((target) => (/^https?:/i.test(target) ? (parseUrl(target) ?? []) : []))
  const targets = [...absolute.map(({ pathname, search }) => pathname + search), ...written]
  return {
    hosts: cut([...listed(HOST_HEADERS), ...forwarded, ...absolute.map(({ host }) => host)].filter(isHost)),
    ports: cut(listed(['x-forwarded-port']).filter((port) => /^\d{1,5}$/.test(port))),
    targets: cut(targets.filter((target) => target.startsWith('/') && target.length <= MAX_TARGET_LENGTH)),
    prefixes: cut(
      listed(['x-forwarded-prefix', 'x-script-name', 'x-base-path']).filter((each) =>
        /^\/[\w./-]{1,100}$/.test(each),
      ),
    ),
  }
}

function isHost(text: string): boolean {
  return text.length <= 255 && /^[^\s/?#@\\;"]+$/.test(text)
}

function cut(texts: readonly string[]): string[] {
  return [...new Set(texts)].slice(0, MAX_HINTS)
}
