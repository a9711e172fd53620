import { asciiJson } from './printable.js'

/** The service documents no limit. The name is sent in a header, and most servers accept at least 8 KB of headers. */
const MAX_LENGTH = 1_024

/**
 * Why a text cannot be an eventTypeName, or undefined if it can. Callbacks carry it in X-Event-Type (SERVICE 6), so
 * it must be a valid field value of HTTP (RFC 9110, section 5.5): visible characters, and spaces and tabs only
 * between them.
 */
export function eventTypeNameProblem(eventTypeName: unknown): string | undefined {
  const cure = 'use a name such as "transfers.book-completed"'
  if (typeof eventTypeName !== 'string') {
    const isAbsent = eventTypeName === null || eventTypeName === undefined
    return `eventTypeName is ${isAbsent ? String(eventTypeName) : `of type ${typeof eventTypeName}`}: ${cure}`
  }
  if (eventTypeName.length > MAX_LENGTH) {
    return `eventTypeName is a text of ${eventTypeName.length} characters: use at most ${MAX_LENGTH}`
  }
  const found = `eventTypeName is ${asciiJson(eventTypeName.slice(0, 100))}`
  if (eventTypeName === '') return `${found}: ${cure}`
  if (/^[\t ]|[\t ]$/.test(eventTypeName)) return `${found}: leave out the white space around it`
  // obs-text (%x80-FF) is allowed in a field value. Higher characters cannot be sent as one byte.
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(eventTypeName)) return undefined
  return `${found}: no HTTP header can carry that; ${cure}`
}
