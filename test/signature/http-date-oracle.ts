const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

/** Every spelling of a whole second that RFC 9110, section 5.6.7, allows: the oracle to hold the parser to. */
export function spellings(ms: number): string[] {
  const date = new Date(ms)
  const weekday = WEEKDAYS[date.getUTCDay()] as string
  const month = MONTHS[date.getUTCMonth()] as string
  const time = date.toISOString().slice(-13, -5)
  const year = String(date.getUTCFullYear()).padStart(4, '0')
  const day = String(date.getUTCDate())
  const short = weekday.slice(0, 3)
  return [
    `${short}, ${day.padStart(2, '0')} ${month} ${year} ${time} GMT`,
    ...(year.startsWith('20')
      ? [`${weekday}, ${day.padStart(2, '0')}-${month}-${year.slice(2)} ${time} GMT`]
      : []),
    `${short} ${month} ${day.padStart(2, ' ')} ${time} ${year}`,
    // date3 of the grammar has both, a digit after a space and two digits.
    ...(day.length === 1 ? [`${short} ${month} 0${day} ${time} ${year}`] : []),
  ]
}

/**
 * The slow way to read an HTTP date: guess the instant from whatever numbers there are, and believe the guess only if
 * one of its spellings is the text, to the letter.
 */
export function readHttpDate(text: string): number | undefined {
  const leap = /^.*\d\d:\d\d:60/.test(text)
  const plain = leap ? text.replace(/(\d\d:\d\d):60/, '$1:59') : text
  const numbers = (plain.match(/\d+/g) ?? []).map(Number)
  const month = MONTHS.findIndex((name) => plain.includes(name))
  const guesses = [
    [numbers[1], numbers[0], ...numbers.slice(2)],
    [2000 + (numbers[1] ?? 0), numbers[0], ...numbers.slice(2)],
    [numbers[4], ...numbers.slice(0, 4)],
  ]
  for (const [year = 0, day = 0, hour = 0, minute = 0, second = 0] of guesses) {
    const date = new Date(0)
    date.setUTCFullYear(year, month, day)
    const ms = date.setUTCHours(hour, minute, second)
    if (ms >= Date.parse('0000-01-01') && ms < Date.parse('+010000-01-01') && spellings(ms).includes(plain)) {
      return leap ? ms + 1000 : ms
    }
  }
  return undefined
}
