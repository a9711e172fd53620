/**
 * Remembers the latest results of a pure function of one string, except undefined. It saves `verifyCallback` an HMAC key
 * set-up, a URL parse and a date parse per callback, which together take as long as the hashing. A caller with more URLs or
 * secrets than the limit gains nothing; a receiver keeps what it prepared itself (`SubscriptionPreparer`).
 */
export function memo<Result>(compute: (text: string) => Result, limit = 1024): (text: string) => Result {
  const results = new Map<string, Result>()
  return (text) => {
    const known = results.get(text)
    if (known !== undefined) return known
    const result = compute(text)
    if (result === undefined) return result
    if (results.size >= limit) results.delete(results.keys().next().value as string)
    results.set(text, result)
    return result
  }
}
