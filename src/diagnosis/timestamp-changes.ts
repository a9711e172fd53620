import { formatHttpDate, parseHttpDate } from '../signature/timestamp.js'
import type { Alternative, Hypothesis } from './change.js'

const MAX_LENGTH = 64
const HOUR_MS = 3_600_000

/** Whole hours from -12 to +14, and the zones in use that are not whole hours. */
const ZONES_HOURS = [
  ...Array.from({ length: 27 }, (_, index) => index - 12).filter((hours) => hours !== 0),
  -9.5,
  -3.5,
  3.5,
  4.5,
  5.5,
  5.75,
  6.5,
  8.75,
  9.5,
  10.5,
  12.75,
]

/** Other texts for the same moment, and the same text in another zone. */
export const timestampHypothesis: Hypothesis<string> = {
  cause: 'timestamp-reformatted',
  alternatives: otherForms,
}

function* otherForms(text: string): Iterable<Alternative<string>> {
  const moment = momentOf(text)
  if (moment === undefined) return
  const date = new Date(moment)
  const imf = formatHttpDate(date)
  const iso = date.toISOString()
  const [weekday = '', day = '', month = '', year = '', time = ''] = imf.replace(',', '').split(' ')
  const fullDay = WEEKDAYS[date.getUTCDay()]!
  yield { value: imf, change: 'as an HTTP date' }
  yield { value: iso.replace('.000Z', 'Z'), change: 'as ISO 8601' }
  yield { value: iso, change: 'as ISO 8601 with milliseconds' }
  yield { value: `${moment / 1000}`, change: 'in seconds since 1970' }
  yield { value: `${moment}`, change: 'in milliseconds since 1970' }
  yield { value: imf.replace('GMT', '+0000'), change: 'with +0000 in place of GMT' }
  yield { value: imf.replace('GMT', 'UTC'), change: 'with UTC in place of GMT' }
  yield { value: iso.replace(/\.\d+Z$/, '+00:00'), change: 'as ISO 8601 with the zone +00:00' }
  yield {
    value: `${fullDay}, ${day}-${month}-${year.slice(2)} ${time} GMT`,
    change: 'in the form of RFC 850',
    weight: 2,
  }
  yield {
    value: `${weekday} ${month} ${day.replace(/^0/, ' ')} ${time} ${year}`,
    change: 'in the form of asctime',
    weight: 2,
  }
  yield { value: imf.replace(/, 0/, ', '), change: 'with a day of one digit', weight: 2 }
  yield { value: imf.slice(5), change: 'without the day of the week', weight: 2 }
  yield { value: imf.toLowerCase(), change: 'in lower case', weight: 2 }
  yield { value: imf.replace(' GMT', ''), change: 'without the zone', weight: 2 }
  yield { value: iso.slice(0, 19), change: 'as ISO 8601 without the zone', weight: 2 }
  yield { value: iso.slice(0, 19).replace('T', ' '), change: 'as ISO 8601 with a space', weight: 2 }
  yield {
    value: `${weekday} ${month} ${day} ${year} ${time} GMT+0000`,
    change: 'as JavaScript prints it',
    weight: 3,
  }
  yield* inOtherZones(moment)
}

function* inOtherZones(moment: number): Iterable<Alternative<string>> {
  for (const hours of ZONES_HOURS) {
    const local = new Date(moment + hours * HOUR_MS)
    const zone = zoneText(hours)
    yield {
      value: formatHttpDate(local).replace('GMT', zone),
      change: 'with the time of another zone',
      weight: 2,
    }
    yield {
      value: local.toISOString().replace(/\.\d+Z$/, `${zone.slice(0, 3)}:${zone.slice(3)}`),
      change: 'as ISO 8601 with the time of another zone',
      weight: 3,
    }
    // The time of a zone that is called GMT although it is not.
    yield { value: formatHttpDate(local), change: 'with the time of another zone called GMT', weight: 3 }
  }
}

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

/** The moment that a text in one of many forms names. */
export function momentOf(text: string): number | undefined {
  if (text.length > MAX_LENGTH) return undefined
  const moment = parseHttpDate(text) ?? sinceEpoch(text) ?? Date.parse(text)
  // Beyond these years the forms have more digits. NaN is in no range.
  return moment > 0 && moment < Date.UTC(10_000, 0) ? moment : undefined
}

/** Without the forms that have no zone, which name another moment in each zone. */
export function certainMomentOf(text: string): number | undefined {
  const hasZone = /^\d{4}-\d\d-\d\dT[\d:.]{5,15}(?:Z|[+-]\d\d:?\d\d)$/i.test(text)
  return parseHttpDate(text) ?? sinceEpoch(text) ?? (hasZone ? momentOf(text) : undefined)
}

function sinceEpoch(text: string): number | undefined {
  if (/^\d{9,10}$/.test(text)) return Number(text) * 1000
  return /^\d{12,13}$/.test(text) ? Number(text) : undefined
}

function zoneText(hours: number): string {
  const minutes = Math.abs(hours) * 60
  const digits = [Math.floor(minutes / 60), minutes % 60]
    .map((each) => String(each).padStart(2, '0'))
    .join('')
  return `${hours < 0 ? '-' : '+'}${digits}`
}
