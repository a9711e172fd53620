/**
 * Remembers the latest results of a pure function of one string, undefined ones excepted. What it saves is an HMAC key
 * set-up, a URL parse and a date parse per callback, together as dear as the hashing; the bound keeps a receiver with many
 * tenants from growing.
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
