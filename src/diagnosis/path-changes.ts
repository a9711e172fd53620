import type { Alternative, Hypothesis, Weight } from './change.js'
import type { RequestUrls, UrlParts } from './request-urls.js'

/** Prefixes that gateways and frameworks add by default. */
const COMMON_PREFIXES = ['/api', '/v1', '/prod', '/dev', '/staging', '/default']

/** A prefix of more segments is unlikely, and each is an alternative. */
const MAX_SEGMENTS = 4

export function pathHypotheses(written: string, request: RequestUrls): readonly Hypothesis<UrlParts>[] {
  return [
    {
      cause: 'url-trailing-slash',
      *alternatives(parts) {
        const { path } = parts
        if (path.endsWith('/'))
          yield { value: { ...parts, path: path.slice(0, -1) }, change: 'without the slash at its end' }
        else yield { value: { ...parts, path: `${path}/` }, change: 'with a slash at its end' }
      },
    },
    { cause: 'url-encoding', alternatives: (parts) => otherSpellings(parts, written) },
    { cause: 'url-path', alternatives: (parts) => otherPaths(parts, request) },
  ]
}

function* otherPaths(parts: UrlParts, { targets, prefixes }: RequestUrls): Iterable<Alternative<UrlParts>> {
  const { path } = parts
  const withPath = otherPath(parts)
  const requested = targets.map((target) => target.split(/[?#]/, 1)[0]!)
  for (const each of requested) {
    // Only a slash differs: that is another cause.
    if (each.replace(/\/$/, '') !== path.replace(/\/$/, '')) yield withPath(each, 'the path of the request')
  }
  for (const prefix of prefixes) {
    yield withPath(prefix.replace(/\/$/, '') + path, 'with the prefix that the proxy names')
    for (const each of requested)
      yield withPath(
        prefix.replace(/\/$/, '') + each,
        'the path of the request with the prefix that the proxy names',
        2,
      )
    if (path.startsWith(`${prefix}/`))
      yield withPath(path.slice(prefix.length), 'without the prefix that the proxy names')
  }
  for (const start of segmentEnds(path))
    yield withPath(path.slice(start) || '/', 'without its first segments')
  // The request may have a prefix that the configured path lacks, or the other way round.
  for (const each of requested) {
    for (const end of segmentEnds(each))
      yield withPath(each.slice(0, end) + path, 'with the first segments of the path of the request', 2)
  }
  yield withPath(path.toLowerCase(), 'in lower case')
  yield withPath(path.toUpperCase(), 'in upper case', 3)
  yield withPath(path.replaceAll(/\/{2,}/g, '/'), 'with single slashes')
  yield withPath(`/${path}`, 'with two slashes at its beginning', 2)
  yield withPath(path.slice(1), 'without the slash at its beginning', 3)
  yield withPath('/', 'the root', 2)
  for (const prefix of COMMON_PREFIXES) yield withPath(prefix + path, `with the prefix ${prefix}`, 3)
}

function otherPath(parts: UrlParts) {
  return (path: string, change: string, weight: Weight = 1) => ({ value: { ...parts, path }, change, weight })
}

function* otherSpellings(parts: UrlParts, written: string): Iterable<Alternative<UrlParts>> {
  const { path } = parts
  const withPath = otherPath(parts)
  const raw = /^[a-z]+:\/\/[^/?#]*([^?#]*)/is.exec(written)?.[1]
  if (raw !== undefined) yield withPath(raw, 'as it is written in the configuration')
  yield withPath(encodeURI(path.toWellFormed()), 'encoded once more', 3)
  if (path.includes('%')) {
    yield withPath(upperCodes(path), 'with codes in upper case')
    yield withPath(lowerCodes(path), 'with codes in lower case')
    try {
      yield withPath(decodeURIComponent(path), 'decoded')
      yield withPath(encodeURI(decodeURIComponent(path)), 'with only the codes that are needed')
      yield withPath(encodeURI(decodeURIComponent(path).normalize('NFD')), 'in Unicode form NFD', 2)
      yield withPath(encodeURI(decodeURIComponent(path).normalize('NFC')), 'in Unicode form NFC', 2)
      yield withPath(path.replaceAll('%20', '+'), 'with + for spaces', 2)
    } catch {
      // A % that begins no code.
    }
  }
  yield withPath(path.replaceAll('+', '%20'), 'with %20 for +', 2)
  yield withPath(path.replaceAll('+', '%2B'), 'with %2B for +', 2)
  yield withPath(path.replaceAll(/[!'()*~:@,;$&=]/g, percentCode), 'with codes for punctuation', 2)
}

export function percentCode(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
}

export function upperCodes(text: string): string {
  return text.replaceAll(/%[\da-f]{2}/gi, (code) => code.toUpperCase())
}

export function lowerCodes(text: string): string {
  return text.replaceAll(/%[\da-f]{2}/gi, (code) => code.toLowerCase())
}

/** Where the first segments end: 4 and 8 of `/api/v1/hooks`. */
function segmentEnds(path: string): number[] {
  return [...path.matchAll(/(?<=[^/])\/|(?<=[^/])$/g)].slice(0, MAX_SEGMENTS).map(({ index }) => index)
}
