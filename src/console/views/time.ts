/** A time for the template `@time`. Every page shows UTC, as the filters do, so that a time can be copied from a row into a filter. */
export interface TimeView {
  readonly iso: string
  /** To the second. */
  readonly text: string
  /** To the millisecond. */
  readonly exact: string
}

export function timeView(date: Date): TimeView {
  const iso = Number.isNaN(date.getTime()) ? '' : date.toISOString()
  if (iso === '') return { iso, text: 'unknown', exact: 'unknown' }
  const day = iso.slice(0, 10)
  return { iso, text: `${day} ${iso.slice(11, 19)} UTC`, exact: `${day} ${iso.slice(11, 23)} UTC` }
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const

/** A duration with its two largest units, such as `3 h 12 min`. */
export function durationText(ms: number): string {
  const parts: string[] = []
  let rest = Math.max(0, Math.round(ms))
  for (const [unit, length] of UNITS) {
    const count = Math.floor(rest / length)
    // Milliseconds are not shown beside a longer unit.
    if (unit === 'ms' && parts.length > 0) break
    if (count > 0) parts.push(`${count} ${unit}`)
    else if (parts.length > 0) break
    if (parts.length === 2) break
    rest -= count * length
  }
  return parts.length === 0 ? '0 ms' : parts.join(' ')
}

/** A whole number with English thousands separators. */
export function numberText(count: number): string {
  return count.toLocaleString('en')
}
