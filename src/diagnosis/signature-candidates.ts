import { parseAuthorization } from '../signature/authorization-header.js'
import type { Cause } from './causes.js'
import { unchanged, type Variant } from './change.js'
import { shownHeader } from './header-names.js'
import { valuesOf, type HeaderLine } from './received-request.js'

/** Unauthenticated: every candidate is compared with every HMAC. */
const MAX_CANDIDATES = 8

/** 32 bytes in hexadecimal digits, or in either alphabet of Base64 with or without padding. */
export const SIGNATURE = /(?<![\w+/-])(?:[\da-f]{64}|[A-Za-z\d+/_-]{43}=?)(?![\w+/=-])/gi

/** The signatures that may have been meant: the one of Authorization, and others in other forms and other headers. */
export function signatureCandidates(lines: readonly HeaderLine[]): Variant<Buffer>[] {
  const values = valuesOf(lines, 'authorization')
  const [value = ''] = values
  const signature = values.length === 1 ? parseAuthorization(value) : undefined
  if (signature !== undefined)
    return [unchanged(Buffer.from(signature, 'base64')), ...renamed(lines)].slice(0, MAX_CANDIDATES)
  const found = values.flatMap((each) =>
    inValue(each, values.length > 1 || isRepeated(each) ? 'authorization-repeated' : undefined),
  )
  return [...found, ...renamed(lines)].slice(0, MAX_CANDIDATES)
}

/** Whether a proxy joined two headers to one. */
export function isRepeated(value: string): boolean {
  return (value.match(/hmac-sha256/gi)?.length ?? 0) > 1
}

/** The spelling of what may be a signature in a value. Anybody can write one, so this proves nothing. */
export function spellingOf(value: string): Cause | undefined {
  const [text] = value.match(SIGNATURE) ?? []
  return text === undefined ? undefined : formOf(text)
}

export function hasSignature(value: string): boolean {
  return spellingOf(value) !== undefined
}

/** Other headers than Authorization that may have the signature. */
export function renamedLines(lines: readonly HeaderLine[]): HeaderLine[] {
  return lines.filter(
    ({ name, value }) =>
      name !== 'authorization' && (/auth|signature|hmac/.test(name) || /hmac-sha256|signature=/i.test(value)),
  )
}

/** What may be signatures in other headers than Authorization. */
export function renamed(lines: readonly HeaderLine[]): Variant<Buffer>[] {
  const state = valuesOf(lines, 'authorization').some((value) => value !== '')
    ? 'has no signature that matches'
    : 'did not arrive'
  return renamedLines(lines)
    .slice(0, MAX_CANDIDATES)
    .flatMap(({ name, value }) => {
      const shown = shownHeader(name)
      const texts = {
        message: `The signature arrived in ${shown}, and Authorization ${state}.`,
        cure: 'Have the proxy pass on Authorization under its own name, and not set another one.',
      }
      const changes = [`${shown} has the signature`]
      return inValue(value, 'headers-renamed').map((each) => ({ ...each, changes, texts }))
    })
}

function inValue(value: string, cause: Cause | undefined): Variant<Buffer>[] {
  return (value.match(SIGNATURE) ?? []).map((text) => {
    const own = cause ?? formOf(text)
    return { value: bytesOf(text), causes: [own], changes: [CHANGES[own] ?? 'another form'], weight: 1 }
  })
}

const CHANGES: Partial<Record<Cause, string>> = {
  'authorization-repeated': 'one of its values has the signature',
  'authorization-hex': 'hexadecimal digits',
  'authorization-url-safe-base64': 'URL-safe Base64, or no padding',
  'authorization-scheme': 'another scheme or parameter',
}

function formOf(text: string): Cause {
  if (text.length === 64) return 'authorization-hex'
  return /[-_]/.test(text) || !text.endsWith('=') ? 'authorization-url-safe-base64' : 'authorization-scheme'
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, text.length === 64 ? 'hex' : 'base64')
}
