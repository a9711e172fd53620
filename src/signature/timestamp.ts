import { memo } from './memo.js'
import { SignatureInputError } from './signature-error.js'

const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec'
const DAYS = 'SunMonTueWedThuFriSat'
const FOUR_CENTURIES_MS = 146_097 * 86_400_000

const DAY = '(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat)'
const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)'
// 60 is a leap second (RFC 5322, section 3.3).
const TIME = '(?:[01]\\d|2[0-3]):[0-5]\\d:(?:[0-5]\\d|60)'
const IMF_FIXDATE = new RegExp(`^${DAY}, \\d\\d ${MONTH} \\d{4} ${TIME} GMT$`)
const RFC_850 = new RegExp(`^(Sun|Mon|Tues|Wednes|Thurs|Fri|Satur)day, \\d\\d-${MONTH}-\\d\\d ${TIME} GMT$`)
const ASCTIME = new RegExp(`^${DAY} ${MONTH} [\\d ]\\d ${TIME} \\d{4}$`)

/**
 * An HTTP date (RFC 9110, section 5.6.7) as milliseconds since 1970, or undefined if the text is not one. `Date.parse`
 * accepts too much: a wrong weekday, 31 February, and many other formats.
 *
 * All three formats are accepted, as the RFC requires of recipients. The text itself is signed, so an attacker cannot
 * change the spelling of the same time.
 */
export function parseHttpDate(text: string): number | undefined {
  return typeof text === 'string' ? parse(text) : undefined
}

/**
 * The form that is sent: IMF-fixdate.
 * @throws SignatureInputError ERR_TIMESTAMP_MALFORMED if it is not a valid Date
 */
export function formatHttpDate(date: Date): string {
  if (isDate(date) && !Number.isNaN(date.getTime())) return date.toUTCString()
  const found = isDate(date) ? 'an invalid one' : `of type ${typeof date}`
  throw new SignatureInputError('ERR_TIMESTAMP_MALFORMED', `The time must be a valid Date, but is ${found}.`)
}

/** By its tag, because `instanceof` fails for a Date of another realm, such as a test runner's. */
export function isDate(value: unknown): value is Date {
  return Object.prototype.toString.call(value) === '[object Date]'
}

// Callbacks arrive in bursts, and those of a burst often have the same timestamp. An unauthenticated request can add only
// valid dates to the cache, and those are short.
const parse = memo((text): number | undefined => {
  if (IMF_FIXDATE.test(text)) return fixdate(text)
  if (RFC_850.test(text)) {
    const [weekday, date] = text.split('day, ') as [string, string]
    // The year has two digits. No callback was signed before 2000.
    const year = `20${date.slice(7, 9)}`
    return fixdate(`${weekday.slice(0, 3)}, ${date.slice(0, 2)} ${date.slice(3, 6)} ${year}${date.slice(9)}`)
  }
  if (ASCTIME.test(text)) {
    const day = text.slice(8, 10).replace(' ', '0')
    return fixdate(
      `${text.slice(0, 3)}, ${day} ${text.slice(4, 7)} ${text.slice(20)} ${text.slice(11, 19)} GMT`,
    )
  }
  return undefined
})

/** The time of a well-formed IMF-fixdate, or undefined if the calendar has no such day. */
function fixdate(text: string): number | undefined {
  const day = digits(text, 5)
  const year = digits(text, 12) * 100 + digits(text, 14)
  const month = MONTHS.indexOf(text.slice(8, 11)) / 3
  // Date.UTC reads the years 0 to 99 as 1900 to 1999. Therefore 400 years are added and subtracted: the calendar repeats
  // after that.
  const moment =
    Date.UTC(year + 400, month, day, digits(text, 17), digits(text, 20), digits(text, 23)) - FOUR_CENTURIES_MS
  const midnight = new Date(Date.UTC(year + 400, month, day))
  if (midnight.getUTCDate() !== day || DAYS.indexOf(text.slice(0, 3)) !== midnight.getUTCDay() * 3)
    return undefined
  return moment
}

function digits(text: string, at: number): number {
  return (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48
}
