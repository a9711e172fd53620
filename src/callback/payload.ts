import { isUtf8 } from 'node:buffer'
import { isRecord } from '../base/option-checks.js'
import type { CallbackPayload } from './callback.js'

/**
 * The body of a callback as JSON, or undefined if it is not a JSON object (SERVICE 2.5). JSON is UTF-8 (RFC 8259,
 * section 8.1), where a byte-order mark may be ignored. The check for invalid bytes comes first, because decoding
 * replaces them silently.
 */
export function parsePayload(bytes: Buffer): CallbackPayload | undefined {
  if (!isUtf8(bytes)) return undefined
  const text = bytes.toString('utf8')
  try {
    const value: unknown = JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)
    return isRecord(value) ? (value as CallbackPayload) : undefined
  } catch {
    return undefined
  }
}
