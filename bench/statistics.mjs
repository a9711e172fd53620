/** The quantile `q` of some numbers, 0.5 for the median: another program that runs meanwhile spoils few of many rounds. */
export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]
}

export const median = (values) => quantile(values, 0.5)

/** What two series of the same rounds come to when divided round by round: the median, and the middle half of them. */
export function ratio(values, baseline) {
  const ratios = values.map((value, round) => value / baseline[round])
  return { median: median(ratios), from: quantile(ratios, 0.25), to: quantile(ratios, 0.75) }
}
