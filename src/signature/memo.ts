/**
 * Caches the latest results of a pure function of one string, except undefined. It saves `verifyCallback` a key set-up, a
 * URL parse and a date parse per callback. Together these take as long as the hashing. A caller with more URLs or secrets
 * than the limit has no advantage. A receiver does not depend on this cache: `SubscriptionPreparer` keeps its URLs and
 * keys.
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
