/**
 * Parses an absolute URL; undefined for any other text. Not `URL.canParse`: on Node 20 its optimized code refuses
 * hosts that are not ASCII.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
