import { formatHttpDate, parseHttpDate } from '../../src/signature/timestamp.js'

describe('reads', () => {
  test.each([
    // The three examples of RFC 9110, section 5.6.7; the second one moved on to this century.
    ['an IMF-fixdate', 'Sun, 06 Nov 1994 08:49:37 GMT', '1994-11-06T08:49:37Z'],
    ['an RFC 850 date', 'Sunday, 06-Nov-94 08:49:37 GMT', undefined],
    ['an RFC 850 date of this century', 'Saturday, 06-Nov-94 08:49:37 GMT', '2094-11-06T08:49:37Z'],
    ['an asctime date', 'Sun Nov  6 08:49:37 1994', '1994-11-06T08:49:37Z'],
    ['an asctime date with two digits for the day', 'Tue Nov 10 08:49:37 2026', '2026-11-10T08:49:37Z'],
    ['an asctime date with a zero before the day', 'Sun Nov 06 08:49:37 1994', '1994-11-06T08:49:37Z'],
    ['the year 00 as 2000', 'Saturday, 01-Jan-00 00:00:00 GMT', '2000-01-01T00:00:00Z'],
    ['the year 99 as 2099', 'Thursday, 31-Dec-99 23:59:59 GMT', '2099-12-31T23:59:59Z'],
    ['the first moment of a day', 'Tue, 03 Nov 2026 00:00:00 GMT', '2026-11-03T00:00:00Z'],
    ['the last moment of a day', 'Tue, 03 Nov 2026 23:59:59 GMT', '2026-11-03T23:59:59Z'],
    ['a leap second as the second after it', 'Sat, 31 Dec 2016 23:59:60 GMT', '2017-01-01T00:00:00Z'],
    ['a leap second within an hour', 'Tue, 03 Nov 2026 09:14:60 GMT', '2026-11-03T09:15:00Z'],
    ['a leap second in an RFC 850 date', 'Thursday, 31-Dec-26 23:59:60 GMT', '2027-01-01T00:00:00Z'],
    ['a leap second in an asctime date', 'Sat Dec 31 23:59:60 2016', '2017-01-01T00:00:00Z'],
    ['29 February of a leap year', 'Thu, 29 Feb 2024 12:00:00 GMT', '2024-02-29T12:00:00Z'],
    ['29 February of the year 2000', 'Tue, 29 Feb 2000 12:00:00 GMT', '2000-02-29T12:00:00Z'],
    ['a date before 1970', 'Wed, 31 Dec 1969 23:59:59 GMT', '1969-12-31T23:59:59Z'],
    ['the epoch', 'Thu, 01 Jan 1970 00:00:00 GMT', '1970-01-01T00:00:00Z'],
    ['a year below 100 as that year', 'Wed, 01 Jan 0025 00:00:00 GMT', '0025-01-01T00:00:00Z'],
    ['the last second of the year 9999', 'Fri, 31 Dec 9999 23:59:59 GMT', '9999-12-31T23:59:59Z'],
  ])('%s: %s', (_, text, iso) => {
    expect(parseHttpDate(text)).toBe(iso && Date.parse(iso))
  })
})

describe('takes for none', () => {
  test.each([
    ['nothing', ''],
    ['a word', 'now'],
    ['31 February', 'Sat, 31 Feb 2026 09:14:27 GMT'],
    ['31 February, with the weekday of 3 March', 'Tue, 31 Feb 2026 09:14:27 GMT'],
    ['31 April', 'Fri, 31 Apr 2026 09:14:27 GMT'],
    ['29 February of a common year', 'Sun, 29 Feb 2026 09:14:27 GMT'],
    ['29 February of 2100', 'Mon, 29 Feb 2100 09:14:27 GMT'],
    ['day 0', 'Sat, 00 Nov 2026 09:14:27 GMT'],
    ['day 32', 'Tue, 32 Nov 2026 09:14:27 GMT'],
    ['a wrong weekday', 'Wed, 03 Nov 2026 09:14:27 GMT'],
    ['a wrong weekday in RFC 850', 'Wednesday, 03-Nov-26 09:14:27 GMT'],
    ['a wrong weekday in asctime', 'Wed Nov  3 09:14:27 2026'],
    ['no weekday', '03 Nov 2026 09:14:27 GMT'],
    ['an unknown month', 'Tue, 03 Now 2026 09:14:27 GMT'],
    ['a month that spans two names', 'Tue, 03 anF 2026 09:14:27 GMT'],
    ['a month in full', 'Tue, 03 November 2026 09:14:27 GMT'],
    ['hour 24', 'Tue, 03 Nov 2026 24:00:00 GMT'],
    ['minute 60', 'Tue, 03 Nov 2026 09:60:00 GMT'],
    ['second 61', 'Tue, 03 Nov 2026 09:14:61 GMT'],
    ['a day of one digit', 'Tue, 3 Nov 2026 09:14:27 GMT'],
    ['a day padded with a space', 'Tue,  3 Nov 2026 09:14:27 GMT'],
    ['an asctime day that is not padded', 'Tue Nov 3 09:14:27 2026'],
    ['an hour of one digit', 'Tue, 03 Nov 2026 9:14:27 GMT'],
    ['no seconds', 'Tue, 03 Nov 2026 09:14 GMT'],
    ['a fraction of a second', 'Tue, 03 Nov 2026 09:14:27.5 GMT'],
    ['a year of two digits in IMF-fixdate', 'Tue, 03 Nov 26 09:14:27 GMT'],
    ['a year of four digits in RFC 850', 'Tuesday, 03-Nov-2026 09:14:27 GMT'],
    ['a year of five digits', 'Sat, 01 Jan 10000 00:00:00 GMT'],
    ['a year with a sign', 'Tue, 03 Nov +2026 09:14:27 GMT'],
    ['no zone', 'Tue, 03 Nov 2026 09:14:27'],
    ['the zone UTC', 'Tue, 03 Nov 2026 09:14:27 UTC'],
    ['the zone Z', 'Tue, 03 Nov 2026 09:14:27 Z'],
    ['a numeric zone', 'Tue, 03 Nov 2026 09:14:27 +0000'],
    ['a zone with an offset', 'Tue, 03 Nov 2026 09:14:27 GMT+0100'],
    ['an asctime date with a zone', 'Tue Nov  3 09:14:27 2026 GMT'],
    ['lower case', 'tue, 03 nov 2026 09:14:27 gmt'],
    ['upper case', 'TUE, 03 NOV 2026 09:14:27 GMT'],
    ['a short weekday in RFC 850', 'Tue, 03-Nov-26 09:14:27 GMT'],
    ['a long weekday in IMF-fixdate', 'Tuesday, 03 Nov 2026 09:14:27 GMT'],
    ['no comma', 'Tue 03 Nov 2026 09:14:27 GMT'],
    ['two spaces', 'Tue, 03 Nov 2026  09:14:27 GMT'],
    ['a tab for a space', 'Tue,\t03 Nov 2026 09:14:27 GMT'],
    ['a space before it', ' Tue, 03 Nov 2026 09:14:27 GMT'],
    ['a space after it', 'Tue, 03 Nov 2026 09:14:27 GMT '],
    ['a newline after it', 'Tue, 03 Nov 2026 09:14:27 GMT\n'],
    ['a second line', 'Tue, 03 Nov 2026 09:14:27 GMT\nTue, 03 Nov 2026 09:14:27 GMT'],
    ['a comment after it', 'Tue, 03 Nov 2026 09:14:27 GMT (UTC)'],
    ['digits of another script', 'Tue, \u0660\u0663 Nov 2026 09:14:27 GMT'],
    ['full-width digits', 'Tue, \uff10\uff13 Nov 2026 09:14:27 GMT'],
    ['ISO 8601', '2026-11-03T09:14:27Z'],
    ['seconds since 1970', '1793697267'],
    ['the text of a Date in JavaScript', 'Tue Nov 03 2026 09:14:27 GMT+0000 (Coordinated Universal Time)'],
    ['an invalid Date', 'Invalid Date'],
  ])('%s: %j', (_, text) => {
    expect(parseHttpDate(text)).toBeUndefined()
  })
})

test('writes an IMF-fixdate', () => {
  expect(formatHttpDate(new Date('2026-11-03T09:14:27.999Z'))).toBe('Tue, 03 Nov 2026 09:14:27 GMT')
})

test('writes every month and weekday so that it reads them again', () => {
  const days = Array.from({ length: 366 }, (_, day) => Date.UTC(2024, 0, 1 + day))
  expect(days.map((day) => parseHttpDate(formatHttpDate(new Date(day))))).toEqual(days)
})

test('reads a long text that is no date in no time', () => {
  const started = process.cpuUsage()
  expect(parseHttpDate(`${' '.repeat(1_000_000)}x`)).toBeUndefined()
  expect(parseHttpDate(`Tue, 03 Nov 2026 09:14:27 GMT${'\n'.repeat(1_000_000)}`)).toBeUndefined()
  expect(process.cpuUsage(started).user).toBeLessThan(1_000_000)
})
