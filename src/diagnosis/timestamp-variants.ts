import { parseHttpDate } from '../signature/timestamp.js'
import type { Cause, CauseTexts } from './causes.js'
import { unchanged, variants, type Variant } from './change.js'
import { shownHeader } from './header-names.js'
import { valuesOf, type HeaderLine } from './received-request.js'
import { timestampHypothesis } from './timestamp-changes.js'

/** Unauthenticated: each of them has a hundred other forms. */
export const MAX_TIMESTAMPS = 3

/** The timestamps that may have been signed. The first one is unchanged only if exactly one well-formed value arrived. */
export function timestampVariants(lines: readonly HeaderLine[]): Variant<string>[] {
  const values = valuesOf(lines, 'authorization-timestamp')
  const [value = ''] = values
  const elsewhere = lines
    .filter(({ name, value }) => name !== 'authorization-timestamp' && mayBeTimestamp(name, value))
    .slice(0, MAX_TIMESTAMPS)
    .map(({ name, value }) =>
      ofOtherHeader(
        shownHeader(name),
        value,
        values.some((each) => each !== ''),
      ),
    )
  if (values.length === 1 && value !== '') {
    const [asReceived, ...others] = variants(unchanged(value), [timestampHypothesis], (text) => text)
    // The receiver refuses what is not an HTTP date, also if it was signed.
    const notDate = changed(value, 'timestamp-reformatted', 'as it arrived, although it is not an HTTP date')
    return [parseHttpDate(value) === undefined ? notDate : asReceived!, ...others, ...elsewhere]
  }
  if (values.length > 1) {
    const each = values
      .slice(0, MAX_TIMESTAMPS)
      .map((text) => changed(text, 'timestamp-repeated', 'one of the values'))
    return [...each, changed(values.join(', '), 'timestamp-repeated', 'all values'), ...elsewhere]
  }
  return [...elsewhere, changed('', 'timestamp-missing', 'an empty timestamp')]
}

function changed(value: string, cause: Cause, change: string): Variant<string> {
  return { value, causes: [cause], changes: [change], weight: 1 }
}

function ofOtherHeader(name: string, value: string, isBeside: boolean): Variant<string> {
  const texts: CauseTexts = isBeside
    ? {
        message: `The value of ${name} was signed, and Authorization-Timestamp arrived with another value.`,
        cure: `Have the sender sign the value of Authorization-Timestamp, not that of ${name}. If something on the way set Authorization-Timestamp, have it pass on the value that the sender wrote.`,
      }
    : {
        message: `The value of ${name} was signed, and Authorization-Timestamp did not arrive.`,
        cure: `Have the sender send what it signs as Authorization-Timestamp, or have the proxy pass on that header under its own name.`,
      }
  return { ...changed(value, 'headers-renamed', `${name} has the timestamp`), texts }
}

/** Also any header with a date, as some proxies keep only the value. */
function mayBeTimestamp(name: string, value: string): boolean {
  return value.length <= 64 && (isTimestampName(name) || parseHttpDate(value) !== undefined)
}

/** Whether a header has a name such as X-Original-Authorization-Timestamp. */
export function isTimestampName(name: string): boolean {
  return /timestamp|signed-at|signature-time/.test(name)
}
